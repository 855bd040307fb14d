"""`stagger-wgmma-waits`: each of several GEMMs is waited for where its result is accessed.

    wgmma ... -> S                           wgmma ... -> S; commit
    wgmma ... -> dP; commit; wait 0          wgmma ... -> dP; commit; wait 1
    P = exp(S)                        ->     P = exp(S)
    dS = P * dP                              wait 0; dS = P * dP
    wgmma P ... -> dV; commit; wait 0        wgmma P ... -> dV; commit
    arrive empty[dO]                         store dS
    store dS                                 wgmma dS ... -> dQ; commit; wait 0
    wgmma dS ... -> dQ; commit; wait 0       arrive empty[dO]

A GEMM is lowered with a wait of its own, or shares one with the next; the threads then do nothing
while the tensor core works. Groups of MMAs complete in the order in which they were committed, so
a wait may move down to the first op that accesses registers or overwrites operands of its group,
and then leaves the groups after it in flight. Arrivals after a wait release its operands and move
with it, if their barrier has more than one slot; nothing moves past a barrier of threads, past code
that waits itself, or out of a block.

Loops that `overlap-wgmma` or `sink-wgmma-waits` have arranged are left as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.nv import (
    BarOp,
    BulkLoadOp,
    MatrixOp,
    MBarrierArriveOp,
    MBarrierWaitOp,
    TmaLoadOp,
    WgmmaCommitOp,
    WgmmaFenceOp,
    WgmmaFenceOperandOp,
    WgmmaOp,
    WgmmaWaitOp,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.type_utils import num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.in_flight import is_pure, registers_of
from tilewright.passes.gpu.shared_accesses import accesses_of

_ORDERED = (BarOp, BulkLoadOp, MBarrierArriveOp, MBarrierWaitOp, TmaLoadOp, WgmmaOp)
"""Ops that let others write, or wait for them to have written."""
_KNOWN = ("arith.", "math.", "memref.", "nv.", "scf.", "simt.", "tile.assume", "tile.atomic")
"""Ops that access their operands only; anything else may access all of it."""


@dataclass(frozen=True)
class StaggerWgmmaWaits(Pass):
    """Wait for each GEMM where its result is accessed."""

    name = "stagger-wgmma-waits"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        blocks = dict.fromkeys(
            op.parent for op in walk(module) if isinstance(op, WgmmaWaitOp) and op.parent
        )
        for block in blocks:
            if _is_plain(block):
                _Walk(block).run()


def _is_plain(block: Block) -> bool:
    """Whether each group of MMAs has a wait for all of them right after it, and they are several
    results."""
    waits = [op for op in block.ops if isinstance(op, WgmmaWaitOp)]
    commits = [op for op in block.ops if isinstance(op, WgmmaCommitOp)]
    results = {op.acc for op in block.ops if isinstance(op, WgmmaOp)}
    inside = [op for top in block.ops if top.regions for op in walk(top)]
    return (
        len(results) > 1
        and len(waits) == len(commits)
        and all(op.count == 0 and isinstance(op.prev_op, WgmmaCommitOp) for op in waits)
        and not any(isinstance(op, WgmmaWaitOp | WgmmaCommitOp) for op in inside)
    )


@dataclass
class _Group:
    """MMAs that were committed together and are in flight."""

    mmas: list[WgmmaOp]
    after: list[Operation] = field(default_factory=list[Operation])
    """What follows its completion: operand fences and releases."""
    has_moved: bool = False

    @property
    def held(self) -> set[SSAValue]:
        return registers_of(self.mmas)

    @property
    def operands(self) -> set[SSAValue]:
        """Buffers in shared memory that are read."""
        matrices = [each.owner for op in self.mmas for each in (op.a, op.b)]
        return {base_of(each.buffer) for each in matrices if isinstance(each, MatrixOp)}


class _Walk:
    """Goes through a block, and puts waits where they are needed."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.rewriter = Rewriter()
        self.started: list[WgmmaOp] = []
        self.in_flight: list[_Group] = []

    def run(self) -> None:
        for op in list(self.block.ops):
            match op:
                case WgmmaOp():
                    self._start(op)
                case WgmmaCommitOp():
                    self._commit()
                case WgmmaWaitOp():
                    self.rewriter.erase(op)
                case WgmmaFenceOperandOp() if self._delay_fence(op):
                    pass
                case MBarrierArriveOp() if self._delay_arrival(op):
                    pass
                case _:
                    self._pass(op)

    def _start(self, op: WgmmaOp) -> None:
        """MMAs into other registers are another group; some need results of groups in flight."""
        if self.started and self.started[-1].acc is not op.acc:
            commit = WgmmaCommitOp()
            commit.location = self.started[-1].location
            self.rewriter.insert_after(self.started[-1], commit)
            self._commit()
        for index, group in reversed(list(enumerate(self.in_flight))):
            results = {each.acc for each in group.mmas}
            if op.acc in group.held or (op.a_index is not None and op.a in results):
                self._complete(index + 1, op)
                break
        self.started.append(op)

    def _commit(self) -> None:
        if self.started:
            self.in_flight.append(_Group(self.started))
        self.started = []

    def _delay_fence(self, op: WgmmaFenceOperandOp) -> bool:
        for group in self.in_flight:
            if any(each.acc is op.acc for each in group.mmas):
                group.after.append(op)
                return True
        return False

    def _delay_arrival(self, op: MBarrierArriveOp) -> bool:
        if not self.in_flight or num_elements(op.barrier.type) == 1:
            return False
        self.in_flight[-1].after.append(op)
        return True

    def _pass(self, op: Operation) -> None:
        """Let an op run once the groups whose registers or operands it needs are complete."""
        needed = 0
        if _needs_all(op):
            needed = len(self.in_flight)
        for index, group in enumerate(self.in_flight):
            writes = (each for inner in walk(op) for each in accesses_of(inner) if each.is_write)
            overwrites = any(each.buffer in group.operands for each in writes)
            if overwrites or _accesses(op, group.held):
                needed = max(needed, index + 1)
        self._complete(needed, op)
        if not is_pure(op):
            for group in self.in_flight:
                group.has_moved = True

    def _complete(self, count: int, before: Operation) -> None:
        """Wait for the first groups in flight before an op."""
        if not count:
            return
        done, self.in_flight = self.in_flight[:count], self.in_flight[count:]
        wait = WgmmaWaitOp(len(self.in_flight))
        wait.location = done[-1].mmas[-1].location
        self.rewriter.insert_before(before, wait)
        releases: list[Operation] = []
        for group in done:
            for op in group.after:
                op.detach()
                if isinstance(op, WgmmaFenceOperandOp):
                    fence = WgmmaFenceOperandOp(op.acc, late=group.has_moved)
                    fence.location = op.location
                    self.rewriter.insert_before(before, fence)
                else:
                    releases.append(op)
        for op in releases:
            self.rewriter.insert_before(before, op)


def _needs_all(op: Operation) -> bool:
    """Whether an op has to run after all waits that were before it."""
    if op.next_op is None:
        return True  # the end of the block
    if is_pure(op) or isinstance(op, MatrixOp | MBarrierWaitOp | WgmmaFenceOp):
        return False
    return any(
        isinstance(inner, _ORDERED) or not inner.name.startswith(_KNOWN) for inner in walk(op)
    )


def _accesses(op: Operation, registers: set[SSAValue]) -> bool:
    """Whether threads access registers."""
    return any(operand in registers for inner in walk(op) for operand in inner.operands)
