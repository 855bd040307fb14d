"""`expand-copies`: copies and fills that threads do become parallel loops over their elements.

    tile.copy %C_local -> %region                tile.parallel (%i, %j) in (128, 128) {
                                         ->        %v = memref.load %C_local[%i, %j]
                                                   %h = arith.truncf %v : f32 to f16
                                                   memref.store %h, %C[%r + %i, %c + %j] }

So layouts are inferred for one kind of loop only, and a copy is as good as the loop an author
would write. Copies of an engine stay: those that go through TMA, and asynchronous ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, CopyOp, FillOp, ParallelOp, RegionOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.movement import TransposeOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.gpu.conversions import converted
from tilewright.passes.tile.code import Code


@dataclass(frozen=True)
class Part:
    """Elements of a buffer: for each of its dimensions where they begin, and how many."""

    buffer: SSAValue
    offsets: tuple[Mixed, ...]
    extents: tuple[Mixed, ...]

    @property
    def axes(self) -> list[int]:
        """The dimensions along which there is more than one element."""
        return [axis for axis, extent in enumerate(self.extents) if extent != 1]

    def element(
        self, code: Code, position: Sequence[SSAValue], axes: Sequence[int]
    ) -> list[SSAValue]:
        """The indices of the element at `position` along `axes`."""
        indices: list[SSAValue] = []
        places = dict(zip(axes, position, strict=True))
        for axis, offset in enumerate(self.offsets):
            if axis not in places:
                indices.append(code.index(offset))
            elif offset == 0:
                indices.append(places[axis])
            else:
                indices.append(code.add(AddiOp(code.index(offset), places[axis])).results[0])
        return indices


def part_of(value: SSAValue) -> Part:
    """A buffer or a region as a part."""
    owner = value.owner
    if isinstance(owner, RegionOp):
        return Part(owner.base, owner.offsets, owner.extents)
    shape = shape_of(value.type)
    assert DYNAMIC_INDEX not in shape, "whole buffers of tile ops have known sizes"
    return Part(value, (0,) * len(shape), shape)


@dataclass(frozen=True)
class ExpandCopies(Pass):
    """Turn copies, fills and transposes that threads do into parallel loops."""

    name = "expand-copies"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(module.walk()):
            if isinstance(op, CopyOp) and not stays_whole(op):
                _expand_copy(op)
            elif isinstance(op, FillOp):
                _expand_fill(op)
            elif isinstance(op, TransposeOp):
                _expand_transpose(op)
            elif isinstance(op, AtomicOp) and not op.is_element:
                _expand_atomic(op)


BY_ENGINE = "nv.engine"
"""Attribute of a copy that is not for threads: which engine does it."""


def stays_whole(op: CopyOp) -> bool:
    """Whether an engine does the copy."""
    return BY_ENGINE in op.attributes


def _loop(code: Code, extents: Sequence[Mixed], origin: Operation) -> tuple[ParallelOp, Code]:
    attributes = {
        name: value for name, value in origin.properties.items() if name == "coalesced_width"
    }
    loop = ParallelOp(list(extents) or [1])
    loop.properties.update(attributes)
    code.add(loop)
    return loop, code.inside(loop.body.block)


def _expand_copy(op: CopyOp) -> None:
    source, target = part_of(op.src), part_of(op.dst)
    code = Code(op)
    axes = target.axes or [0]
    loop, body = _loop(code, [target.extents[axis] for axis in axes], op)
    position = list(loop.body.block.args)
    from_axes = source.axes or [0]
    loaded = body.add(LoadOp(source.buffer, source.element(body, position, from_axes))).results[0]
    value = converted(body, loaded, element_type_of(target.buffer.type))
    body.add(StoreOp(value, target.buffer, target.element(body, position, axes)))
    code.rewriter.erase(op)


def _expand_fill(op: FillOp) -> None:
    target = part_of(op.dst)
    code = Code(op)
    axes = target.axes or [0]
    value = converted(code, op.value, element_type_of(target.buffer.type))
    loop, body = _loop(code, [target.extents[axis] for axis in axes], op)
    indices = target.element(body, list(loop.body.block.args), axes)
    body.add(StoreOp(value, target.buffer, indices))
    code.rewriter.erase(op)


def _expand_transpose(op: TransposeOp) -> None:
    source, target = part_of(op.src), part_of(op.dst)
    code = Code(op)
    axes = list(range(len(target.extents)))
    loop, body = _loop(code, target.extents, op)
    position = list(loop.body.block.args)
    indices = source.element(body, position[::-1], axes)
    loaded = body.add(LoadOp(source.buffer, indices)).results[0]
    value = converted(body, loaded, element_type_of(target.buffer.type))
    body.add(StoreOp(value, target.buffer, target.element(body, position, axes)))
    code.rewriter.erase(op)


def _expand_atomic(op: AtomicOp) -> None:
    assert op.value is not None
    source, target = part_of(op.value), part_of(op.dst)
    code = Code(op)
    axes = target.axes or [0]
    loop, body = _loop(code, [target.extents[axis] for axis in axes], op)
    position = list(loop.body.block.args)
    from_axes = source.axes or [0]
    loaded = body.add(LoadOp(source.buffer, source.element(body, position, from_axes))).results[0]
    value = converted(body, loaded, element_type_of(target.buffer.type))
    indices = target.element(body, position, axes)
    order = op.memory_order.data if op.memory_order is not None else None
    body.add(AtomicOp(op.kind.data, target.buffer, indices, value, memory_order=order))
    code.rewriter.erase(op)
