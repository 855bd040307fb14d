"""`join-wgmma-groups`: GEMMs that follow each other are waited for once.

    wgmma ... -> S; commit; wait 0           wgmma ... -> S
    wait full[1]                      ->     wait full[1]
    wgmma ... -> S; commit; wait 0           wgmma ... -> S; commit; wait 0

Each GEMM is lowered with a wait of its own. Between two of them the tensor core has nothing to do
until the second is issued, for which there is no reason if no thread accesses the results of the
first before: MMAs into the same registers are executed in order, others do not depend on each other
(PTX, wgmma.fence). Only address arithmetic, descriptors and waits for data may be in between, and
the release of the first one's operands, which then follows the second, too:

    wgmma ... -> dV; commit; wait 0          wgmma ... -> dV
    arrive empty[dO]                  ->     wgmma ... -> dK; commit; wait 0
    wgmma ... -> dK; commit; wait 0          arrive empty[dO]

The producer gets that slot back a GEMM later, so there have to be three, of which it still fills
one, and nothing that the second one waits for may depend on it. Any other barrier keeps the wait
before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.nv import (
    MatrixOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.in_flight import is_pure, operand_fences_after

_MIN_SLOTS = 3
"""Of a ring: one is held for longer, one is read next, and one is being filled."""


@dataclass(frozen=True)
class JoinWgmmaGroups(Pass):
    """Wait once for GEMMs that follow each other."""

    name = "join-wgmma-groups"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, WgmmaWaitOp):
                joined = _Joined.of(op)
                if joined is not None:
                    joined.run()


@dataclass(frozen=True)
class _Joined:
    """A wait that is not needed, because the next one covers it."""

    commit: WgmmaCommitOp
    wait: WgmmaWaitOp
    fences: list[WgmmaFenceOperandOp]
    """State that results are complete: after the next wait only."""
    next_wait: WgmmaWaitOp
    releases: list[MBarrierArriveOp]
    """Of the first one's operands."""

    @staticmethod
    def of(wait: WgmmaWaitOp) -> _Joined | None:
        commit = wait.prev_op
        if wait.count or not isinstance(commit, WgmmaCommitOp):
            return None
        first = _mmas_before(commit)
        fences = operand_fences_after(wait)
        following = fences[-1].next_op if fences else wait.next_op
        releases: list[MBarrierArriveOp] = []
        while following is not None and (_is_passed(following) or _is_release(following)):
            if releases and isinstance(following, MBarrierWaitOp):
                return None  # for what the producer may copy after the release only
            releases += [following] if isinstance(following, MBarrierArriveOp) else []
            following = following.next_op
        second: list[WgmmaOp] = []
        while isinstance(following, WgmmaOp) or (following is not None and _is_passed(following)):
            if releases and isinstance(following, MBarrierWaitOp):
                return None
            second += [following] if isinstance(following, WgmmaOp) else []
            following = following.next_op
        if not first or not second or not isinstance(following, WgmmaCommitOp):
            return None
        next_wait = following.next_op
        if not isinstance(next_wait, WgmmaWaitOp) or next_wait.count or _depend(first, second):
            return None
        return _Joined(commit, wait, fences, next_wait, releases)

    def run(self) -> None:
        rewriter = Rewriter()
        stated = {fence.acc for fence in operand_fences_after(self.next_wait)}
        for fence in reversed(self.fences):
            if fence.acc not in stated:
                fence.detach()
                rewriter.insert_after(self.next_wait, fence)
            else:
                rewriter.erase(fence)
        complete = [self.next_wait, *operand_fences_after(self.next_wait)][-1]
        for release in reversed(self.releases):
            release.detach()
            rewriter.insert_after(complete, release)
        rewriter.erase(self.wait)
        rewriter.erase(self.commit)


def _mmas_before(commit: WgmmaCommitOp) -> list[WgmmaOp]:
    """The MMAs of a group, if nothing else is among them."""
    found: list[WgmmaOp] = []
    before = commit.prev_op
    while isinstance(before, WgmmaOp) or (before is not None and _is_passed(before)):
        found += [before] if isinstance(before, WgmmaOp) else []
        before = before.prev_op
    return found


def _is_passed(op: Operation) -> bool:
    """Whether an op may run while MMAs are in flight: it accesses no results, and lets no other
    thread overwrite operands."""
    return is_pure(op) or isinstance(op, MatrixOp | MBarrierWaitOp | WgmmaFenceOp)


def _is_release(op: Operation) -> bool:
    """Whether an op gives a slot back, and there are enough others."""
    return isinstance(op, MBarrierArriveOp) and num_elements(op.barrier.type) >= _MIN_SLOTS


def _depend(first: list[WgmmaOp], second: list[WgmmaOp]) -> bool:
    """Whether the second MMAs need the results of the first in registers, other than to add to."""
    shapes = {op.acc: op.mnk for op in first}
    return any(
        (op.a_index is not None and op.a in shapes) or shapes.get(op.acc, op.mnk) != op.mnk
        for op in second
    )
