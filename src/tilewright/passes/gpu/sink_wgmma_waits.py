"""`sink-wgmma-waits`: MMAs stay in flight while the next iteration of the loop begins.

    for k { wait full[s]                         for k { wait full[s]
            wgmma ...; commit                            wgmma ...; commit
            wgmma.wait 0                  ->             wgmma.wait 1
            arrive empty[s] }                            if k > 0 { arrive empty[s of k - 1] } }
                                                 wgmma.wait 0; arrive empty[last s]

The operands of an MMA may be overwritten once it is complete, so their release is delayed with the
wait, by one iteration (docs/design/scheduling.md#wgmma-in-flight). This is done where a loop ends
with the wait and nothing until the next wait reads the accumulator, and where slots are left to
fetch into meanwhile: four, or three that hold 64 KB. Threads of the loop may write an operand if
its versions rotate (`tile.rotating`): copies of the threads may follow the wait, and are started
while the MMAs run. In a loop with several MMAs, as in attention,
the first wait of the next iteration covers the last MMA of this one, too: the tensor core goes from
one to the other without a pause.

With two slots, or little in three, a slot is released as soon as its MMAs are complete, and before
threads wait for the copies into the next one:

    for k { unpack packed[s] -> O[k mod 2]       for k { unpack packed[s] -> O[k mod 2]
            wait full[s]                                 wgmma.wait 0
            wgmma O, A[s]; commit         ->             if k > 0 { arrive empty[s of k - 1] }
            wgmma.wait 0                                 wait full[s]
            arrive empty[s] }                            wgmma O, A[s]; commit }

Otherwise the producer would get a slot back after the copies into the other one have arrived, and
one copy would be in flight at a time. What threads do before that wait overlaps with the MMAs;
where they do nothing, the loop stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.arith import CmpiOp
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
from tilewright.dialects.scf import ForOp, IfOp, YieldOp
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.in_flight import (
    copies_ahead,
    is_pure,
    looks_at,
    moves_along,
    operand_fences_after,
    operands_of,
    overwrites_operands,
    registers_of,
    rotates,
)
from tilewright.passes.tile.index_builder import IndexBuilder

_MIN_SLOTS, _SLOTS = 2, 4
"""Slots with which none is left while MMAs hold one, and with which enough is fetched ahead in any
case."""
_BETWEEN = (WgmmaFenceOp, MatrixOp)
"""What may be between the wait for copies and the MMAs that read them."""
_BYTES_AHEAD = 64 << 10
"""What has to be on its way so that memory, about a microsecond away, keeps up with the tensor
cores of a multiprocessor: an H200 reads 36 KB for each in that time, and from the L2 cache more."""


@dataclass(frozen=True)
class SinkWgmmaWaits(Pass):
    """Let the MMAs of a loop overlap with its next iteration."""

    name = "sink-wgmma-waits"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, ForOp) and not op.results:
                tail = _tail(op)
                if tail is not None:
                    _sink(op, tail)


@dataclass(frozen=True)
class _Tail:
    """The end of a loop, as far as it moves to the next iteration."""

    first: WgmmaWaitOp
    last: WgmmaWaitOp
    """The first and the last wait for MMAs."""
    arrivals: list[MBarrierArriveOp]
    """Releases of the operands."""
    before: Operation | None = None
    """What the next iteration does these things before; None for the first wait in it."""


def _tail(loop: ForOp) -> _Tail | None:
    """What of the end of a loop may be moved."""
    block = loop.body.block
    ops = list(block.ops)[:-1]
    waits = [op for op in walk(loop) if isinstance(op, WgmmaWaitOp)]
    if not waits or any(op.parent is not block or op.count for op in waits):
        return None
    if sum(isinstance(op, WgmmaCommitOp) for op in walk(loop)) != len(waits):
        return None
    first, last = waits[0], waits[-1]
    following = ops[ops.index(last) + 1 :]
    if any(not moves_along(op) and not copies_ahead(op) for op in following):
        return None
    start = 0 if first is last else ops.index(waits[-2]) + 1
    mmas = [op for op in ops[start : ops.index(last)] if isinstance(op, WgmmaOp)]
    until_first = ops[: ops.index(first)]
    if first is last:
        until_first = [*until_first, *following]
    held = registers_of(mmas)
    if any(looks_at(op, held) for op in until_first) or overwrites_operands(loop, mmas):
        return None
    arrivals = [op for op in following if isinstance(op, MBarrierArriveOp)]
    slots = min((num_elements(op.barrier.type) for op in arrivals), default=_SLOTS)
    if slots == 1:
        return None  # the producer needs it back for the very next iteration
    if any(op.cta is not None and _is_inside(op.cta, loop) for op in arrivals):
        return None  # an iteration later it would be another block that is signalled
    is_scarce = slots == _MIN_SLOTS or _bytes_ahead(mmas, slots) < _BYTES_AHEAD
    if first is last and slots < _SLOTS and is_scarce:
        wait = _wait_for_copies(ops[: ops.index(mmas[0])]) if mmas else None
        return None if wait is None else _Tail(first, last, arrivals, wait)
    return _Tail(first, last, arrivals)


def _wait_for_copies(ops: list[Operation]) -> MBarrierWaitOp | None:
    """The first wait for copies after what the threads do before their MMAs; None if they do
    nothing before it, or if the wait is before what they do."""
    found: MBarrierWaitOp | None = None
    for op in reversed(ops):
        if isinstance(op, MBarrierWaitOp):
            found = op
        elif not is_pure(op) and not isinstance(op, _BETWEEN):
            return found
    return None


def _bytes_ahead(mmas: list[WgmmaOp], slots: int) -> int:
    """Bytes of operands that can be fetched while one slot is held for an iteration longer."""
    operands = [each for each in operands_of(mmas) if not rotates(each)]
    whole = sum(num_elements(each.type) * bit_width(each.type) // 8 for each in operands)
    return whole // slots * (slots - 1)


def _is_inside(value: SSAValue, loop: ForOp) -> bool:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    return block is not None and loop.is_ancestor(block)


def _sink(loop: ForOp, tail: _Tail) -> None:
    """Wait for the MMAs of the iteration before, and release their operands."""
    code, last, arrivals = IndexBuilder(loop), tail.last, tail.arrivals
    start = [code.index(0) for _ in arrivals]
    block = Block(arg_types=[IndexType()] * (1 + len(arrivals)))
    new = ForOp(loop.lower_bound, loop.upper_bound, loop.step, start, Region(block))
    new.attributes.update(loop.attributes)
    old = loop.body.block
    block.args[0].name_hint = old.args[0].name_hint
    old.args[0].replace_all_uses_with(block.args[0])
    end = old.last_op
    assert end is not None
    for op in list(old.ops):
        if op is not end:
            op.detach()
            block.add_op(op)
    block.add_op(YieldOp([op.index for op in arrivals]))
    fences = operand_fences_after(last)
    for op in fences:
        op.detach()
    _release(tail, fences, block, loop)
    code.add(new)
    code.add(WgmmaWaitOp(0))
    for op in fences:
        code.add(WgmmaFenceOperandOp(op.acc, late=True))
    if arrivals:
        ran = code.add(CmpiOp("slt", loop.lower_bound, loop.upper_bound)).results[0]
        inside = Block([YieldOp()])
        code.add(IfOp(ran, [], Region(inside)))
        after = code.inside(inside)
        for op, result in zip(arrivals, new.results, strict=True):
            after.add(MBarrierArriveOp(op.barrier, result, op.cta))
    for op in arrivals:
        op.detach()
        op.erase()
    code.rewriter.erase(loop)


def _release(tail: _Tail, fences: list[WgmmaFenceOperandOp], block: Block, loop: ForOp) -> None:
    """After the first wait of an iteration: MMAs of the iteration before are complete."""
    anchor = tail.before or tail.first.next_op
    assert anchor is not None
    inside = IndexBuilder(anchor)
    if tail.before is not None:
        inside.add(WgmmaWaitOp(0))
    elif tail.first is tail.last:
        inside.add(WgmmaWaitOp(1))
    else:
        for op in fences:
            inside.add(WgmmaFenceOperandOp(op.acc, late=True))
    if tail.arrivals:
        is_later = inside.add(CmpiOp("ne", block.args[0], loop.lower_bound)).results[0]
        then = Block([YieldOp()])
        inside.add(IfOp(is_later, [], Region(then)))
        handing = inside.inside(then)
        for op, before in zip(tail.arrivals, block.args[1:], strict=True):
            handing.add(MBarrierArriveOp(op.barrier, before, op.cta))
    tail.last.detach()
    tail.last.erase()
