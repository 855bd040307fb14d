"""Ops of the tile language that access global memory, and what names its buffers.

A tensor is a ``Descriptor``: base, shape, strides. A region of it is looked up where it is used; a
copy of it is one access whose lanes are the elements of the region, and an element that a
``tile.parallel`` loads or stores is one whose lanes are the iterations. The language guards both:
an element outside of its tensor reads as the safe value and is not written, so "the element exists"
is part of every mask (``Site.inside``). Other buffers hold unknown data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Formula, conjunction
from tilewright.analysis.pid_address.report import AccessKind
from tilewright.analysis.pid_address.scope import Scope, Site
from tilewright.analysis.pid_address.transfer.arith import Rule
from tilewright.analysis.pid_address.transfer.integers import moved, scaled, times
from tilewright.analysis.pid_address.transfer.memory import integer_to_pointer, loaded, none
from tilewright.analysis.pid_address.types import element_bytes
from tilewright.analysis.pid_address.values import (
    Base,
    Data,
    Descriptor,
    Integer,
    Pointer,
    Value,
    deps_of,
)
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.tile import AtomicOp, Im2colOp, RegionOp, ViewOp
from tilewright.dialects.tile.access import TileOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.movement import matrix
from tilewright.dialects.tile.regions import PtrOfOp
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import constant_value

MAX_EXTENT = 1 << 20
"""Elements along one dimension of a region whose extent is a run-time value."""


@dataclass(frozen=True)
class _Box:
    """A part of a tensor."""

    buffer: SSAValue
    tensor: Descriptor
    offsets: tuple[Integer, ...]
    extents: tuple[Integer, ...]


def mixed(scope: Scope, value: Mixed) -> Integer:
    """A number of the IR, or a value."""
    if isinstance(value, int):
        known = scope.space.const(value)
        return Integer(known, known)
    return scope.integer(value)


def is_global(value: SSAValue) -> bool:
    return space_of(value.type) is Space.GLOBAL


def _box(scope: Scope, value: SSAValue) -> _Box | None:
    """The tensor of an operand, and the region of it; None if that is not known."""
    op = value.owner
    region = op if isinstance(op, RegionOp) else None
    buffer = value if region is None else region.base
    tensor = scope.get(buffer)
    if not isinstance(tensor, Descriptor):
        return None
    if region is None:
        zero = Integer(scope.space.zero, scope.space.zero)
        return _Box(buffer, tensor, (zero,) * len(tensor.shape), tensor.shape)
    offsets = tuple(mixed(scope, offset) for offset in region.offsets)
    extents = tuple(mixed(scope, extent) for extent in region.extents)
    return _Box(buffer, tensor, offsets, extents)


# Recording.


@dataclass(frozen=True)
class _Element:
    """Elements of a tensor, one for each combination of lanes."""

    kind: AccessKind
    buffer: SSAValue
    tensor: Descriptor
    indices: Sequence[Integer]
    shape: tuple[int, ...]
    mask: Formula
    basis: int = 0


def _record(scope: Scope, op: Operation, element: _Element, part: int) -> tuple[int, int]:
    """Record an access; its dependencies and basis."""
    tensor = element.tensor
    size = element_bytes(element.buffer.type)
    offset, basis = tensor.offset, element.basis
    parts: list[Formula] = []
    for index, stride, extent in zip(element.indices, tensor.strides, tensor.shape, strict=True):
        parts.append(scope.ctx.compare(">=", index.expr, 0))
        parts.append(scope.ctx.compare("<", index.expr, extent.expr))
        offset = moved(scope, offset, scaled(times(scope, index, stride), size))
        basis |= index.basis | extent.basis
    inside = conjunction(scope.space, parts)
    scope.record(
        Site(
            op,
            scope.path,
            element.kind,
            element.buffer,
            tensor.base,
            offset,
            size,
            element.shape,
            element.mask & inside,
            basis,
            scope,
            inside=None if inside.truth is True else inside,
            part=part,
        )
    )
    mask = offset.expr.deps_mask | tensor.base.deps | inside.deps_mask | element.mask.deps_mask
    if tensor.base.name in scope.machine.changing:
        mask |= scope.atoms.any_pid
    return mask, basis


def _record_region(
    scope: Scope, op: Operation, kind: AccessKind, value: SSAValue, part: int
) -> None:
    box = _box(scope, value)
    if box is None:
        scope.not_analysed(op, f"nothing is known about the buffer {scope.machine.name(value)}")
        return
    first = len(scope.lane_shape)
    shape, mask, basis = list(scope.lane_shape), scope.space.true, 0
    indices: list[Integer] = []
    for dim, (offset, extent) in enumerate(zip(box.offsets, box.extents, strict=True)):
        limit = scope.ctx.range(extent.expr).hi
        if limit is None or limit > MAX_EXTENT:
            what = f"the extent of dimension {dim} of {scope.machine.name(value)}"
            scope.not_analysed(op, f"{what} is a run-time value; give the arguments it comes from")
            return
        lane = scope.atoms.lane(first + dim, max(limit, 1))
        shape.append(max(limit, 1))
        mask &= scope.ctx.compare("<", lane, extent.expr)
        basis |= extent.basis
        indices.append(moved(scope, offset, Integer(lane, lane)))
    element = _Element(kind, box.buffer, box.tensor, indices, tuple(shape), mask, basis)
    _record(scope, op, element, part)


def _record_element(
    scope: Scope, op: Operation, kind: AccessKind, buffer: SSAValue, indices: Sequence[SSAValue]
) -> tuple[int, int] | None:
    tensor = scope.get(buffer)
    if not isinstance(tensor, Descriptor):
        scope.not_analysed(op, f"nothing is known about the buffer {scope.machine.name(buffer)}")
        return None
    element = _Element(
        kind,
        buffer,
        tensor,
        [scope.integer(index) for index in indices],
        scope.lane_shape,
        scope.space.true,
    )
    return _record(scope, op, element, 0)


# Rules.


def _lanes(scope: Scope) -> int:
    mask = 0
    for dim, extent in enumerate(scope.lane_shape):
        mask |= scope.atoms.lane(dim, extent).deps_mask
    return mask


def _anything(scope: Scope) -> int:
    return scope.atoms.any_pid | _lanes(scope) | scope.atoms.memory


def _load(scope: Scope, op: Operation) -> None:
    assert isinstance(op, LoadOp)
    if not is_global(op.memref):
        # Contents of other buffers depend on the block, the iteration and the element.
        loaded(scope, op, _anything(scope), 0)
        return
    found = _record_element(scope, op, AccessKind.LOAD, op.memref, op.indices)
    mask, basis = (_anything(scope), 0) if found is None else found
    loaded(scope, op, mask, basis)


def _store(scope: Scope, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    if is_global(op.memref):
        _record_element(scope, op, AccessKind.STORE, op.memref, op.indices)


def _atomic(scope: Scope, op: Operation) -> None:
    assert isinstance(op, AtomicOp)
    if is_global(op.dst):
        if op.is_element:
            _record_element(scope, op, AccessKind.ATOMIC, op.dst, op.indices)
        else:
            _record_region(scope, op, AccessKind.ATOMIC, op.dst, 0)
    if op.value is not None and is_global(op.value):
        _record_region(scope, op, AccessKind.LOAD, op.value, 1)
    loaded(scope, op, _anything(scope), 0)


def _tile_op(scope: Scope, op: Operation) -> None:
    """Reads and writes the buffers that it names."""
    assert isinstance(op, TileOp)
    part = 0
    for kind, names in ((AccessKind.LOAD, op.READS), (AccessKind.STORE, op.WRITES)):
        for name in names:
            value: object = getattr(op, name)
            if isinstance(value, SSAValue) and is_global(value):
                _record_region(scope, op, kind, value, part)
                part += 1
    loaded(scope, op, _anything(scope), 0)


def _im2col(scope: Scope, op: Operation) -> None:
    """Rows are positions of the output, columns elements of the window; padding is guarded."""
    assert isinstance(op, Im2colOp)
    tensor = scope.get(op.src)
    rows, columns = matrix("result", op.dst)
    if not isinstance(tensor, Descriptor) or is_global(op.dst):
        scope.not_analysed(op, f"nothing is known about the buffer {scope.machine.name(op.src)}")
        return
    ctx, first = scope.ctx, len(scope.lane_shape)
    stride, dilation, pad, kernel = (
        parameter.value.data for parameter in (op.stride, op.dilation, op.pad, op.kernel)
    )
    _, height, width, channels = (size.expr for size in tensor.shape)
    reach = dilation * (kernel - 1) + 1
    out_height, out_width = (
        ctx.fdiv(size + (2 * pad - reach), stride) + 1 for size in (height, width)
    )
    row, column = scope.integer(op.nhw_step), scope.integer(op.c_step)
    position = row.expr * rows + scope.atoms.lane(first, rows)
    element = column.expr * columns + scope.atoms.lane(first + 1, columns)
    down, across = ctx.mod(ctx.fdiv(position, out_width), out_height), ctx.mod(position, out_width)
    window = ctx.fdiv(element, channels)
    coordinates = (
        ctx.fdiv(position, out_width * out_height),
        down * stride + ctx.fdiv(window, kernel) * dilation - pad,
        across * stride + ctx.mod(window, kernel) * dilation - pad,
        ctx.mod(element, channels),
    )
    basis = row.basis | column.basis
    _record(
        scope,
        op,
        _Element(
            AccessKind.LOAD,
            op.src,
            tensor,
            [Integer(coordinate, coordinate, basis=basis) for coordinate in coordinates],
            (*scope.lane_shape, rows, columns),
            scope.ctx.compare("<", window, kernel * kernel),
            basis,
        ),
        0,
    )


def _dim(scope: Scope, op: Operation) -> None:
    assert isinstance(op, DimOp)
    tensor, axis = scope.get(op.source), scope.integer(op.index).expr.constant
    if isinstance(tensor, Descriptor) and axis is not None and 0 <= axis < len(tensor.shape):
        scope.set(op.results[0], tensor.shape[axis])
        return
    static = shape_of(op.source.type)
    if axis is not None and 0 <= axis < len(static) and static[axis] >= 0:
        known = scope.space.const(static[axis])
        scope.set(op.results[0], Integer(known, known))
        return
    scope.set_unknown(op, scope.atoms.unsupported)


def _view(scope: Scope, op: Operation) -> None:
    """The same bytes under another shape: rows at declared strides, or contiguous ones."""
    assert isinstance(op, ViewOp)
    source, result = op.source, op.result
    known = scope.get(source)
    if not is_global(source) or not isinstance(result.type, MemRefType):
        scope.set(result, Data(0))
        return
    has_strides = op.stride(0) is not None if shape_of(result.type) else False
    base, offset = _first(known) if has_strides else _start(known)
    if base is None or offset is None:
        scope.set(result, Data(deps_of(known)))
        return
    axes = range(len(shape_of(result.type)))
    sizes = [mixed(scope, op.extent(axis)) for axis in axes]
    strides = _declared(scope, op, axes) if has_strides else _contiguous(scope, sizes)
    scope.set(result, Descriptor(base, offset, tuple(sizes), tuple(strides), ()))


def _declared(scope: Scope, op: ViewOp, axes: range) -> list[Integer]:
    found = [op.stride(axis) for axis in axes]
    return [mixed(scope, stride) for stride in found if stride is not None]


def _contiguous(scope: Scope, sizes: Sequence[Integer]) -> list[Integer]:
    strides: list[Integer] = []
    step = Integer(scope.space.one, scope.space.one)
    for size in reversed(sizes):
        strides.insert(0, step)
        step = times(scope, step, size)
    return strides


def _ptr_of(scope: Scope, op: Operation) -> None:
    """The address of an element of a tensor."""
    assert isinstance(op, PtrOfOp)
    tensor = scope.get(op.base)
    if not is_global(op.base) or not isinstance(tensor, Descriptor):
        scope.set(op.result, Data(0))
        return
    size, offset = element_bytes(op.base.type), tensor.offset
    for index, stride in zip(op.indices, tensor.strides, strict=True):
        step = times(scope, scope.integer(index), stride)
        offset = moved(scope, offset, scaled(step, size))
    scope.set(op.result, Pointer(tensor.base, offset))


def _first(known: Value) -> tuple[Base | None, Integer | None]:
    """Base and first byte of a tensor, or of what a pointer names."""
    if isinstance(known, Pointer | Descriptor):
        return known.base, known.offset
    return None, None


def _start(known: Value) -> tuple[Base | None, Integer | None]:
    """Base and first byte of what is contiguous."""
    if isinstance(known, Pointer):
        return known.base, known.offset
    if not isinstance(known, Descriptor):
        return None, None
    step = known.offset.expr.space.one
    for size, stride in zip(reversed(known.shape), reversed(known.strides), strict=True):
        if stride.expr != step:
            return None, None
        step = step * size.expr
    return known.base, known.offset


def _buffer(scope: Scope, op: Operation) -> None:
    """A shared buffer or fragment, a region, a pointer into one: resolved where it is used."""
    for result in op.results:
        if constant_value(result) is None:
            scope.set(result, Data(0))


TILE_RULES: Mapping[str, Rule] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.dim": _dim,
    "tile.atomic": _atomic,
    "tile.copy": _tile_op,
    "tile.async_copy": _tile_op,
    "tile.fill": _tile_op,
    "tile.transpose": _tile_op,
    "tile.reduce": _tile_op,
    "tile.reduce_by": none,
    "tile.scan": _tile_op,
    "tile.scan_by": none,
    "tile.scaled_gemm": none,
    "tile.gemm": _tile_op,
    "tile.im2col": _im2col,
    "tile.view": _view,
    "tile.ptr_at": integer_to_pointer,
    "tile.ptr_of": _ptr_of,
    "tile.region": _buffer,
    "tile.alloc": _buffer,
    "tile.reducer.alloc": _buffer,
    "tile.sync": none,
    "tile.print": none,
    "tile.assert": none,
    "tile.yield": none,
    "func.return": none,
}
