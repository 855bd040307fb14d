"""`narrow-guarded-loops`: a parallel loop ends where its guard ends, if a fragment does too.

    tile.parallel (%i, %j) in (32, 64) {            tile.parallel (%i, %j) in (16, 64) {
      scf.if %i < 16 {                        ->      %S[%i, %j] = %f[%i + 16, %j] }
        %S[%i, %j] = %f[%i + 16, %j] } }

Iterations that the guard leaves out would access elements past the end of the fragment, so the loop
has no layout that agrees with the fragment's: elements 32 to 47 have no owner. Over the remaining
iterations it has one. Loops whose guard leaves out elements that exist stay as they are: the owners
of all elements run them, some of them for nothing, and extents remain powers of two.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.dialects.arith import AddiOp, CmpiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import ParallelOp, Space, space_of
from tilewright.dialects.tile.mixed import integers_attr, known
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_LESS = frozenset((2, 6))
"""Predicates of ``arith.cmpi``: slt, ult."""


@dataclass(frozen=True)
class NarrowGuardedLoops(Pass):
    """Leave out iterations that a guard leaves out and that would access no element."""

    name = "narrow-guarded-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in [op for op in walk(module) if isinstance(op, ParallelOp)]:
            guard = _guard(loop)
            if guard is not None:
                _narrow(loop, guard)


def _guard(loop: ParallelOp) -> IfOp | None:
    """The condition around all that a loop does."""
    if loop.layout is not None:
        return None
    block = loop.body_block
    effects = [
        op
        for op in block.ops
        if op is not block.last_op and (op.regions or not is_side_effect_free(op))
    ]
    guard = effects[0] if len(effects) == 1 else None
    if not isinstance(guard, IfOp) or guard.results or guard.has_else:
        return None
    return guard


def _narrow(loop: ParallelOp, guard: IfOp) -> None:
    limit = _limit(loop, guard.condition)
    if limit is None:
        return
    axis, stop = limit
    extents = list(loop.extents)
    extent = extents[axis]
    if not isinstance(extent, int) or not 0 < stop < extent:
        return
    if not any(_leaves_fragment(op, loop, axis, extent) for op in walk(guard)):
        return
    static = [each if isinstance(each, int) else -1 for each in extents]
    if -1 in static:
        return
    static[axis] = stop
    loop.properties["static_extents"] = integers_attr(static)
    rewriter = Rewriter()
    inner = guard.then_region.block
    for op in list(inner.ops):
        if op is not inner.last_op:
            op.detach()
            rewriter.insert_before(guard, op)
    rewriter.erase(guard)


def _limit(loop: ParallelOp, condition: SSAValue) -> tuple[int, int] | None:
    """The dimension that a condition limits, and where: ``i < stop``."""
    owner = condition.owner
    if not isinstance(owner, CmpiOp) or owner.predicate.value.data not in _LESS:
        return None
    index, bound = owner.operands
    stop = constant_value(bound)
    if _argument_of(loop, index) is None or not isinstance(stop, IntegerAttr):
        return None
    return _argument_of(loop, index) or 0, stop.value.data


_CASTS = frozenset(("arith.index_cast", "arith.index_castui"))


def _argument_of(loop: ParallelOp, value: SSAValue) -> int | None:
    """Which index of the loop a value is."""
    owner = value.owner
    while isinstance(owner, Operation) and owner.name in _CASTS:
        value = owner.operands[0]
        owner = value.owner
    is_own = isinstance(value, BlockArgument) and owner is loop.body_block
    return value.index if is_own and isinstance(value, BlockArgument) else None


def _leaves_fragment(op: object, loop: ParallelOp, axis: int, extent: int) -> bool:
    """Whether the last iteration without the guard is past the end of a fragment."""
    if not isinstance(op, LoadOp | StoreOp) or space_of(op.memref.type) is not Space.FRAGMENT:
        return False
    for size, index in zip(shape_of(op.memref.type), op.indices, strict=True):
        owner = index.owner
        shift, argument = 0, index
        if isinstance(owner, AddiOp):
            constants = [known(each) for each in owner.operands]
            if isinstance(constants[1], int):
                argument, shift = owner.operands[0], constants[1]
            elif isinstance(constants[0], int):
                argument, shift = owner.operands[1], constants[0]
        if _argument_of(loop, argument) == axis and extent + shift > size:
            return True
    return False
