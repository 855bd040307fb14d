"""`raise-copy-loops`: element loops of a pipelined loop that copy a tile are copies.

    tile.parallel (%i, %k) in (128, 32) {           %r = tile.region %A[%y, %x] [128, 32]
      %v = memref.load %A[%y + %i, %x + %k]   ->    tile.copy %r -> %S
      memref.store %v, %S[%i, %k] }

A copy can be asynchronous and by TMA; what a loop does element by element goes through registers,
and the loop waits for it. The indices on both sides are sums of one loop index each, in the same
order, and of values that are the same for all iterations. Loops with other ops, conditions or
layouts stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import CopyOp, ParallelOp, PipelineOp, RegionOp, Space, space_of
from tilewright.dialects.tile.mixed import Mixed, known
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined


@dataclass(frozen=True)
class RaiseCopyLoops(Pass):
    """Make copies of element loops that copy a tile to shared memory."""

    name = "raise-copy-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for pipeline in [op for op in walk(module) if isinstance(op, PipelineOp)]:
            for loop in [op for op in walk(pipeline) if isinstance(op, ParallelOp)]:
                found = _copy_of(loop)
                if found is not None:
                    _replace(loop, *found)


@dataclass(frozen=True)
class _Side:
    """The tile that a loop reads, or writes."""

    buffer: SSAValue
    axes: tuple[int | None, ...]
    """For each dimension the loop index that is added to it."""
    parts: tuple[tuple[SSAValue, ...], ...]
    """For each dimension the other summands."""


def _copy_of(loop: ParallelOp) -> tuple[_Side, _Side] | None:
    """What a loop copies from where to where, if that is all it does."""
    if loop.layout is not None or loop.coalesced_width is not None:
        return None
    if not all(isinstance(extent, int) for extent in loop.extents):
        return None
    block = loop.body_block
    effects = [
        op
        for op in block.ops
        if op is not block.last_op and (op.regions or not is_side_effect_free(op))
    ]
    if len(effects) != 2:
        return None
    load, store = effects
    if not isinstance(load, LoadOp) or not isinstance(store, StoreOp):
        return None
    if store.value is not load.results[0]:
        return None
    target = space_of(store.memref.type)
    if space_of(load.memref.type) is not Space.GLOBAL or target is None or not target.is_shared:
        return None
    if element_type_of(load.memref.type) != element_type_of(store.memref.type):
        return None
    source, written = _side(loop, load), _side(loop, store)
    if source is None or written is None or not _covers(loop, source, written):
        return None
    return source, written


def _covers(loop: ParallelOp, source: _Side, target: _Side) -> bool:
    """Whether both sides have all loop indices once, in the same order, and the target begins."""
    order = tuple(range(len(loop.extents)))
    for side in (source, target):
        if tuple(axis for axis in side.axes if axis is not None) != order:
            return False
    shape = shape_of(target.buffer.type)
    return all(
        axis is not None and not parts and loop.extents[axis] == extent
        for axis, parts, extent in zip(target.axes, target.parts, shape, strict=True)
    )


def _side(loop: ParallelOp, op: LoadOp | StoreOp) -> _Side | None:
    axes: list[int | None] = []
    parts: list[tuple[SSAValue, ...]] = []
    for index in op.indices:
        summands = _summands(index, loop)
        own = [each for each in summands if _is_index(each, loop)]
        others = tuple(each for each in summands if not _is_index(each, loop))
        if len(own) > 1 or any(_depends(each, loop) for each in others):
            return None
        argument = own[0] if own else None
        axes.append(argument.index if isinstance(argument, BlockArgument) else None)
        parts.append(others)
    return _Side(op.memref, tuple(axes), tuple(parts))


def _summands(value: SSAValue, loop: ParallelOp) -> list[SSAValue]:
    owner = value.owner
    if isinstance(owner, AddiOp) and owner.parent is loop.body_block:
        return [each for operand in owner.operands for each in _summands(operand, loop)]
    return [value]


def _is_index(value: SSAValue, loop: ParallelOp) -> bool:
    return isinstance(value, BlockArgument) and value.owner is loop.body_block


def _depends(value: SSAValue, loop: ParallelOp) -> bool:
    """Whether a value of the body differs between iterations."""
    if _is_index(value, loop):
        return True
    owner = value.owner
    if not isinstance(owner, Operation) or owner.parent is not loop.body_block:
        return False
    if owner.regions or not is_side_effect_free(owner):
        return True
    return any(_depends(each, loop) for each in owner.operands)


def _replace(loop: ParallelOp, source: _Side, target: _Side) -> None:
    code = IndexBuilder(loop)
    values: dict[SSAValue, SSAValue] = {}
    rewriter = Rewriter()
    offsets: list[Mixed] = []
    extents: list[int] = []
    for axis, parts in zip(source.axes, source.parts, strict=True):
        offset: Mixed = 0
        for part in parts:
            moved = _before(part, loop, values, rewriter)
            constant = known(moved)
            offset = combined(code, "+", offset, constant if isinstance(constant, int) else moved)
        offsets.append(offset)
        extent = 1 if axis is None else loop.extents[axis]
        assert isinstance(extent, int)
        extents.append(extent)
    region = code.add(RegionOp(source.buffer, offsets, extents)).results[0]
    code.add(CopyOp(region, target.buffer))
    rewriter.erase(loop)


def _before(
    value: SSAValue, loop: ParallelOp, values: dict[SSAValue, SSAValue], rewriter: Rewriter
) -> SSAValue:
    """`value`, computed before the loop."""
    owner = value.owner
    if not isinstance(owner, Operation) or owner.parent is not loop.body_block:
        return value
    if value not in values:
        for operand in owner.operands:
            _before(operand, loop, values, rewriter)
        rewriter.insert_before(loop, copy_op(owner, values))
    return values[value]
