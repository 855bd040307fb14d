"""`flatten-memrefs`: one linear index addresses an element of a tensor.

    memref.load %A[%i, %j] : memref<?x64xf16>    ->    memref.load %A1[%i * 64 + %j]

Strides that a tensor declares are used as declared; the launch checks verify them. Extents that
are run-time values become arguments of the kernel when it is outlined
(docs/design/passes.md#linear-addresses).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, get_args

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    NoneAttr,
    i64,
)
from xdsl.dialects.memref import CollapseShapeOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.tensors.tensor_geometry import declared_strides, row_strides
from tilewright.dialects.amd.moves import BufferLoadOp, BufferStoreOp, LoadLdsOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp, RedAddOp
from tilewright.dialects.simt import MoveOp, StrideOp
from tilewright.dialects.tile import AllocOp, AtomicOp, Space, space_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk_for
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined

_Move: TypeAlias = MoveOp | AsyncMoveOp | RedAddOp | BufferLoadOp | BufferStoreOp | LoadLdsOp


@dataclass(frozen=True)
class FlattenMemrefs(Pass):
    """Address elements by one linear index."""

    name = "flatten-memrefs"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        flat: dict[SSAValue, SSAValue] = {}
        for op in list(walk_for(module, LoadOp, StoreOp, AtomicOp, *get_args(_Move), PtrOfOp)):
            if isinstance(op, LoadOp) and _is_deep(op.memref):
                linear = _linear_index(IndexBuilder(op), op.memref, op.indices)
                new: Operation = LoadOp(_flat(op.memref, flat, op), [linear])
            elif isinstance(op, StoreOp) and _is_deep(op.memref):
                linear = _linear_index(IndexBuilder(op), op.memref, op.indices)
                new = StoreOp(op.value, _flat(op.memref, flat, op), [linear])
            elif isinstance(op, AtomicOp) and _is_deep(op.dst):
                linear = _linear_index(IndexBuilder(op), op.dst, op.indices)
                new = op.of_element(_flat(op.dst, flat, op), [linear])
            elif isinstance(op, _Move):
                new = _move(op, flat)
            elif isinstance(op, PtrOfOp) and _is_deep(op.base):
                linear = _linear_index(IndexBuilder(op), op.base, op.indices)
                base = _flat(op.base, flat, op)
                new = PtrOfOp(base, [linear], mode=op.mode.data, extent=op.extent)
            else:
                continue
            code = IndexBuilder(op)
            code.add(new)
            code.rewriter.replace_op(op, [], list(new.results))


def _is_deep(buffer: SSAValue) -> bool:
    return len(shape_of(buffer.type)) != 1 or space_of(buffer.type) is Space.GLOBAL


def _move(op: _Move, flat: dict[SSAValue, SSAValue]) -> Operation:
    code = IndexBuilder(op)
    sides: list[tuple[SSAValue, list[SSAValue]]] = []
    for buffer, indices in ((op.src, op.src_indices), (op.dst, op.dst_indices)):
        if _is_deep(buffer):
            sides.append((_flat(buffer, flat, op), [_linear_index(code, buffer, indices)]))
        else:
            sides.append((buffer, list(indices)))
    (src, at), (dst, to) = sides
    if isinstance(op, AsyncMoveOp):
        return AsyncMoveOp(src, at, dst, to, op.width, op.valid)
    if isinstance(op, RedAddOp):
        return RedAddOp(src, at, dst, to, op.width)
    if not isinstance(op, MoveOp):
        is_once = op.nontemporal is not None
        new = type(op)(src, at, dst, to, op.width, op.elements, op.predicate, nontemporal=is_once)
        new.attributes.update(op.attributes)
        return new
    new = MoveOp(src, at, dst, to, op.width)
    new.attributes.update(op.attributes)
    return new


def _flat(buffer: SSAValue, flat: dict[SSAValue, SSAValue], op: Operation) -> SSAValue:
    """The same memory as a run of elements."""
    if buffer in flat:
        return flat[buffer]
    type = buffer.type
    assert isinstance(type, MemRefType)
    shape = shape_of(type)
    size = _span(buffer)
    if len(shape) == 1 and isinstance(type.layout, NoneAttr):
        flat[buffer] = buffer
        return buffer
    if isinstance(buffer.owner, AllocOp) and buffer.owner.space.is_per_thread:
        alloc = buffer.owner
        new_type = MemRefType(element_type_of(type), (size,), NoneAttr(), type.memory_space)
        made = IndexBuilder(alloc).add(AllocOp(new_type, name=alloc.buffer_name)).results[0]
        flat[buffer] = made
        return made
    new_type = MemRefType(element_type_of(type), (size,), NoneAttr(), type.memory_space)
    cast = CollapseShapeOp(
        operands=[buffer],
        result_types=[new_type],
        properties={"reassociation": ArrayAttr([_all_axes(len(shape))])},
    )
    _after(buffer, cast)
    cast.result.name_hint = buffer.name_hint
    flat[buffer] = cast.result
    return cast.result


def _span(buffer: SSAValue) -> int:
    """Elements from the first to the last, those between them included."""
    shape, strides = shape_of(buffer.type), row_strides(buffer)
    if DYNAMIC_INDEX in shape or None in strides:
        return DYNAMIC_INDEX
    steps = zip(shape, strides, strict=True)
    return 0 if 0 in shape else 1 + sum((extent - 1) * (stride or 0) for extent, stride in steps)


def _all_axes(rank: int) -> ArrayAttr[IntegerAttr]:
    return ArrayAttr([IntegerAttr(axis, i64) for axis in range(rank)])


def _after(buffer: SSAValue, op: Operation) -> None:
    owner = buffer.owner
    if isinstance(owner, Operation):
        block = owner.parent
        assert block is not None
        block.insert_op_after(op, owner)
    else:
        first = owner.first_op
        assert first is not None
        owner.insert_op_before(op, first)


def _linear_index(code: IndexBuilder, buffer: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The number of an element."""
    linear: Mixed = 0
    strides = _strides(code, buffer)
    for index, stride in zip(indices, strides, strict=True):
        linear = combined(code, "+", linear, combined(code, "*", index, stride))
    return code.index(linear)


def _strides(code: IndexBuilder, buffer: SSAValue) -> list[Mixed]:
    """The stride of each dimension: as declared, or contiguous rows."""
    shape, declared = shape_of(buffer.type), declared_strides(buffer)
    if declared is not None:
        return _opened(buffer, declared)
    found: list[Mixed] = []
    total: Mixed = 1
    for axis in reversed(range(len(shape))):
        found.append(total)
        extent: Mixed = shape[axis]
        if extent == DYNAMIC_INDEX:
            if axis == 0:
                break
            extent = code.add(DimOp(buffer, code.index(axis))).results[0]
        total = combined(code, "*", total, extent)
    return found[::-1]


def _opened(buffer: SSAValue, declared: Sequence[int | None]) -> list[Mixed]:
    """Strides, with host values where they are run-time values."""
    owner = buffer.owner
    if isinstance(owner, ViewOp):
        given = iter(owner.strides)
        return [next(given) if stride is None else stride for stride in declared]
    assert isinstance(owner, Block), "tensors with strides are arguments, or views of them"
    found: list[Mixed] = []
    for axis, stride in enumerate(declared):
        found.append(_stride_query(owner, buffer, axis) if stride is None else stride)
    return found


def _stride_query(block: Block, tensor: SSAValue, axis: int) -> SSAValue:
    """The stride of an argument, queried once, at the beginning of the host function."""
    for op in block.ops:
        if isinstance(op, StrideOp) and op.tensor is tensor and op.axis.value.data == axis:
            return op.result
    first = block.first_op
    assert first is not None
    found = IndexBuilder(first).add(StrideOp(tensor, axis)).results[0]
    found.name_hint = f"{tensor.name_hint or 'tensor'}_stride"
    return found
