"""`overlap-wgmma`: the last MMA of an iteration runs while the next iteration computes.

    for k { S = Q @ K[k]; wait               if first { S = Q @ K[lo]; wait; P = softmax(S) }
            P = softmax(S)                   for k > lo { S = Q @ K[k]
            O += P @ V[k]; wait }     ->                  O += P @ V[k - 1]
                                                          wait for S; softmax(S)
                                                          wait for O; P = what softmax gave }
                                             O += P @ V[last]; wait

In the loop on the left the tensor core has nothing to do while a warp group is at its softmax. On
the right the last MMA of an iteration is started after the first one of the next, and is waited for
only where its registers are accessed again. No MMA crosses the end of an iteration, so assemblers
see which registers are busy. The release of the operands of the moved MMA moves with it.

It is done where one warp group of a block computes. With two or more, one group's MMAs run during
another's softmax, and registers that are held longer cost more than is gained: attention with heads
of 128 and two groups is 5 to 6 % faster without it on an H200 (1 % with a causal mask), and with
heads of 64 and three groups 3 %. It also needs registers for both MMAs and what comes between: the
fragments that a loop uses take no more than three quarters of what a thread has. Elsewhere
`sink-wgmma-waits` does what it can.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, IntegerType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.arith import AddiOp, CmpiOp, ConstantOp
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
from tilewright.dialects.tile import KernelOp, WsOp, space_of
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.wgmma import THREADS as WARP_GROUP_THREADS
from tilewright.passes.gpu.in_flight import (
    is_pure,
    looks_at,
    moves_along,
    overwrites_operands,
    registers_of,
)
from tilewright.passes.gpu.set_warp_registers import registers_of_roles
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder

_SHARE = 0.75
_MAX_REGISTERS, _REGISTERS, _REGISTER_BITS = 255, 65536, 32


@dataclass(frozen=True)
class OverlapWgmma(Pass):
    """Let the last MMA of an iteration run concurrently with the next iteration."""

    name = "overlap-wgmma"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if not isinstance(op, ForOp) or op.results:
                continue
            if _computing_groups(op) <= 1 and _fits_registers(op):
                parts = _parts(op)
                if parts is not None:
                    _Rotation(op, parts).run()


@dataclass(frozen=True)
class _Parts:
    """The ops of an iteration, in the groups that stay together."""

    head: list[Operation]
    """Up to the first MMA, which is started, and not yet waited for."""
    wait: WgmmaWaitOp
    middle: list[Operation]
    """What is computed from the first MMA, and does not depend on the moved one."""
    rest: list[Operation]
    """From the first access to registers of the moved MMA on."""
    moved: list[Operation]
    """The MMA that moves to the next iteration, with the waits for its operands."""
    after: list[MBarrierArriveOp | WgmmaFenceOperandOp]
    """What follows its completion: the operand fences and the release of its operands."""
    carried: list[SSAValue]
    """Values of this iteration that the moved ops need in the next."""


def _parts(loop: ForOp) -> _Parts | None:
    """How a loop is taken apart, if it may be."""
    block = loop.body.block
    ops = list(block.ops)[:-1]
    waits = [op for op in walk(loop) if isinstance(op, WgmmaWaitOp)]
    if len(waits) < 2 or any(op.parent is not block or op.count for op in waits):
        return None
    if sum(isinstance(op, WgmmaCommitOp) for op in walk(loop)) != len(waits):
        return None
    first, last = ops.index(waits[0]), ops.index(waits[-1])
    start = last
    while _moves(ops[start - 1]):
        start -= 1
    moved, following = ops[start:last], ops[last + 1 :]
    if start <= first or any(not moves_along(op) for op in following):
        return None
    after = [op for op in following if isinstance(op, MBarrierArriveOp | WgmmaFenceOperandOp)]
    if any(isinstance(op, MBarrierArriveOp) and num_elements(op.barrier.type) == 1 for op in after):
        return None  # one slot: the producer needs it back for the very next iteration
    mmas = [op for op in moved if isinstance(op, WgmmaOp)]
    held = registers_of(mmas)
    head = ops[:first]
    if _accesses_registers(head, held) or overwrites_operands(loop, mmas):
        return None
    pure = [op for op in moved if is_pure(op)]  # which the ops that stay may need as well
    between = [*ops[first + 1 : start], *pure, *(op for op in following if op not in after)]
    look = next((n for n, op in enumerate(between) if looks_at(op, held)), len(between))
    carried = _carried(loop, [*moved, *after])
    if carried is None:
        return None
    return _Parts(head, waits[0], between[:look], between[look:], moved, after, carried)


def _computing_groups(loop: ForOp) -> int:
    """Warp groups of a block that run a loop: those of its role, or of the block without roles."""
    inner, parent = loop.parent_region(), loop.parent_op()
    while parent is not None:
        if isinstance(parent, WsOp):
            index = next(n for n, body in enumerate(parent.bodies) if body is inner)
            return parent.roles[index].num_threads // WARP_GROUP_THREADS
        if isinstance(parent, KernelOp):
            return (parent.num_threads or 0) // WARP_GROUP_THREADS
        inner, parent = parent.parent_region(), parent.parent_op()
    return 1


def _fits_registers(loop: ForOp) -> bool:
    """Whether a thread has registers to spare beside the fragments of a loop."""
    used: dict[SSAValue, int] = {}
    for operand in (operand for op in walk(loop) for operand in op.operands):
        space = space_of(operand.type)
        if space is not None and space.is_per_thread and isinstance(operand.type, MemRefType):
            bits = num_elements(operand.type) * bit_width(operand.type.element_type)
            used[operand] = -(-bits // _REGISTER_BITS)
    return sum(used.values()) <= _SHARE * _registers_of_a_thread(loop)


def _registers_of_a_thread(op: Operation) -> int:
    """What a thread has where `op` runs."""
    threads, share = None, None
    parent = op.parent_op()
    while parent is not None:
        if isinstance(parent, WsOp):
            share = parent
        if isinstance(parent, KernelOp):
            threads = parent.num_threads
        parent = parent.parent_op()
    if threads is None or share is None:
        return _MAX_REGISTERS
    roles = [(role, role.name.startswith("producer"), False) for role in share.roles]
    found = registers_of_roles(roles, threads)
    if found is None:
        return min(_MAX_REGISTERS, _REGISTERS // threads)
    return max(found)


def _moves(op: Operation) -> bool:
    """Whether an op before a wait belongs to the MMA that is waited for."""
    kinds = MatrixOp | MBarrierWaitOp | WgmmaFenceOp | WgmmaOp | WgmmaCommitOp
    return is_pure(op) or isinstance(op, kinds)


def _accesses_registers(ops: list[Operation], held: set[SSAValue]) -> bool:
    """Whether threads, or MMAs started meanwhile, access registers of in-flight MMAs."""
    started = [inner for op in ops for inner in walk(op) if isinstance(inner, WgmmaOp)]
    return bool(registers_of(started) & held) or any(looks_at(op, held) for op in ops)


def _carried(loop: ForOp, ops: list[Operation]) -> list[SSAValue] | None:
    """Values of the loop that ops need and do not make; None if one of them is not a number."""
    made = {result for op in ops for result in op.results}
    found: list[SSAValue] = []
    for operand in (operand for op in ops for operand in op.operands):
        owner = operand.owner
        is_inside = owner is loop.body.block or (
            isinstance(owner, Operation) and owner.parent is loop.body.block
        )
        if is_inside and operand not in made and operand not in found:
            if not isinstance(operand.type, IndexType | IntegerType):
                return None
            found.append(operand)
    return found


class _Rotation:
    """Rewrites one loop."""

    def __init__(self, loop: ForOp, parts: _Parts) -> None:
        self.loop = loop
        self.parts = parts

    def run(self) -> None:
        code = IndexBuilder(self.loop)
        loop = self.loop
        runs = code.add(CmpiOp("slt", loop.lower_bound, loop.upper_bound)).results[0]
        start = self._first_iteration(code, runs)
        second = code.add(AddiOp(loop.lower_bound, loop.step)).results[0]
        results = self._later_iterations(code, second, start)
        last = Block([YieldOp()])
        code.add(IfOp(runs, [], Region(last)))
        values = dict(zip(self.parts.carried, results, strict=True))
        inside = code.inside(last)
        self._add(inside, self.parts.moved, values)
        self._finish(inside, values)
        Rewriter().erase(loop)

    def _first_iteration(self, code: IndexBuilder, runs: SSAValue) -> list[SSAValue]:
        """An iteration without the moved MMA; what it leaves for the next."""
        parts = self.parts
        types = [each.type for each in parts.carried]
        then, otherwise = Block([YieldOp()]), Block([YieldOp()])
        guard = IfOp(runs, types, Region(then), Region(otherwise))
        code.add(guard)
        inside, outside = code.inside(then), code.inside(otherwise)
        values: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: self.loop.lower_bound}
        self._add(inside, [*parts.head, parts.wait, *parts.middle, *parts.rest], values)
        _end(then, [values[each] for each in parts.carried])
        _end(otherwise, [outside.add(_nothing(each)).results[0] for each in types])
        return list(guard.results)

    def _later_iterations(
        self, code: IndexBuilder, lower: SSAValue, start: list[SSAValue]
    ) -> list[SSAValue]:
        parts, loop = self.parts, self.loop
        block = Block([YieldOp()], arg_types=[IndexType(), *(each.type for each in start)])
        new = ForOp(lower, loop.upper_bound, loop.step, start, Region(block))
        new.attributes.update(loop.attributes)
        code.add(new)
        own = loop.body.block.args[0]
        block.args[0].name_hint = own.name_hint
        inside = code.inside(block)
        values: dict[SSAValue, SSAValue] = {own: block.args[0]}
        before: dict[SSAValue, SSAValue] = dict(zip(parts.carried, block.args[1:], strict=True))
        self._add(inside, parts.head, values)
        self._add(inside, parts.moved, before)
        inside.add(_at(WgmmaWaitOp(1), parts.wait))
        self._add(inside, parts.middle, values)
        for accumulator in _accumulators(parts.head):
            # Assemblers would wait as early as they can, which is before all that is computed here.
            inside.add(_at(WgmmaFenceOperandOp(accumulator, late=True), parts.wait))
        self._finish(inside, before)
        self._add(inside, parts.rest, values)
        _end(block, [values[each] for each in parts.carried])
        return list(new.results)

    def _finish(self, code: IndexBuilder, values: dict[SSAValue, SSAValue]) -> None:
        """Wait for the moved MMA, and release its operands."""
        code.add(_at(WgmmaWaitOp(0), self.parts.moved[-1]))
        for op in self.parts.after:
            if isinstance(op, WgmmaFenceOperandOp):
                code.add(_at(WgmmaFenceOperandOp(op.acc, late=True), op))
            else:
                code.add(copy_op(op, values))

    def _add(
        self, code: IndexBuilder, ops: list[Operation], values: dict[SSAValue, SSAValue]
    ) -> None:
        for op in ops:
            code.add(copy_op(op, values))


def _accumulators(ops: list[Operation]) -> list[SSAValue]:
    """Registers that MMAs write."""
    return list(dict.fromkeys(op.acc for op in ops if isinstance(op, WgmmaOp)))


def _at(op: Operation, origin: Operation) -> Operation:
    op.location = origin.location
    return op


def _nothing(type: Attribute) -> Operation:
    assert isinstance(type, IndexType | IntegerType)  # nothing else is carried
    return ConstantOp.of(0, type)


def _end(block: Block, values: list[SSAValue]) -> None:
    """End a block with these results."""
    end = block.last_op
    assert end is not None
    block.insert_op_after(YieldOp(values), end)
    end.detach()
    end.erase()
