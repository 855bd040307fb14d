"""Copies that an engine does, and asynchronous ones by threads."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import MemRefType, NoneAttr, i16
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.copies.copy_instructions import EXPANDED_BYTES
from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.analysis.tensors.outside_values import other_than_zero, stays_inside
from tilewright.analysis.tensors.tensor_geometry import (
    declared_strides,
    extent_is_multiple,
    row_strides,
    uneven_start,
)
from tilewright.dialects.arith import CmpiOp, ConstantOp, MinsiOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp, TensorMapOp, TmaLoadOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AsyncCopyOp, names
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.codes.shared import SYNCHRONOUS_FILL
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import inherit_location
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.loops import counted, opened
from tilewright.passes.gpu.lower.tma_boxes import TmaBoxes
from tilewright.passes.gpu.narrow_accesses import is_shifted, remark_narrow, unaligned
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, extent_of
from tilewright.passes.tile.tile_regions import TileRegion, part_of

_MOVE_BITS = 128
_MIN_BITS = 32
"""What one asynchronous copy of a thread moves at least."""
TMA_FILLS_ZERO = "TW3017"
_AT_ONCE = 8
"""Scalar copies that a thread has in flight; more make the code long, not fast."""


def lower_async_copy(op: AsyncCopyOp, storage: BufferStorage, engine: DiagnosticEngine) -> None:
    """Replace an asynchronous copy by what threads start."""
    outside = other_than_zero(op)
    if outside is not None and stays_inside(op, storage.ranges()):
        outside = None
    if op.is_bulk:
        if outside is not None:
            _report_zeros(op, outside, engine)
        _tma_load(op, storage)
    elif outside is not None:
        engine.remark(op, f"cp.async not used: {outside}", SYNCHRONOUS_FILL)
        _units(IndexBuilder(op), op, storage, 1, is_async=False)
        IndexBuilder(op).rewriter.erase(op)
    else:
        _cp_async(op, storage, engine)


def _report_zeros(op: AsyncCopyOp, outside: str, engine: DiagnosticEngine) -> None:
    """TMA that a user requests fills with zeros, whatever the safe value of the tensor is."""
    diagnostic = engine.error(op, f"TMA load not possible: {outside}", TMA_FILLS_ZERO)
    diagnostic.note(
        None,
        "help: use T.copy, which uses TMA only where it is legal; or keep the box inside of the "
        "tensor, with T.assume where it is not proved",
    )


def leader(code: IndexBuilder, storage: BufferStorage, op: Operation) -> SSAValue:
    """Whether the running thread speaks for its role."""
    tid = code.index(storage.thread_at(code, op))
    return code.add(CmpiOp("eq", tid, code.index(0))).results[0]


def _tma_load(op: AsyncCopyOp, storage: BufferStorage) -> None:
    assert op.barrier is not None and op.barrier_index is not None
    source, target = part_of(op.src), part_of(op.dst)
    code = opened(IndexBuilder(op), leader(IndexBuilder(op), storage, op))
    part = storage.shared_part(code, target.buffer)
    box = [_known(extent) for extent in source.extents]
    # The rows of a flattened copy are the outer dimensions of its box.
    outer = [] if op.flatten is None else box[:-1]
    tile = [prod(outer), box[-1]] if outer else box
    expands = op.expands is not None
    if expands:
        tile = [*tile[:-1], 2 * tile[-1]]
        _check_expanding(tile, part.map.swizzle)
    boxes = TmaBoxes.of(tile, bit_width(element_type_of(op.src.type)), part.map.swizzle)
    shape = (*outer, boxes.box[-1]) if outer else boxes.box
    is_pair = nv_names.PAIR in op.attributes
    map = tensor_map(op, source.buffer, shape, part.map.swizzle, expands=expands)
    first = source.offsets
    if expands:  # which count elements
        first = (*first[:-1], combined(code, "*", first[-1], 2))
    for start in boxes.starts:
        inside = (*(0 for _ in outer), start[-1]) if outer else start
        coordinates = moved(code, first, inside)
        offset = part.offset(code, boxes.indices(code, target, start))
        code.add(
            TmaLoadOp(
                map,
                coordinates,
                (part.buffer, code.index(offset)),
                (op.barrier, op.barrier_index),
                multicast=_receivers(code, op),
                eviction_policy=op.eviction_policy.data if op.eviction_policy else None,
                pair=is_pair,
            )
        )
    IndexBuilder(op).rewriter.erase(op)


def _receivers(code: IndexBuilder, op: AsyncCopyOp) -> SSAValue | None:
    """The blocks of the cluster that get the tile, if they are several."""
    mask = integer_of(op.cluster_mask)
    return None if mask is None else code.add(ConstantOp.of(mask, i16)).results[0]


def _known(extent: Mixed) -> int:
    assert isinstance(extent, int), "TMA copies have compile-time extents"
    return extent


def moved(code: IndexBuilder, offsets: Sequence[Mixed], start: Sequence[int]) -> list[SSAValue]:
    """The coordinates of a box in the tensor."""
    pairs = zip(offsets, start, strict=True)
    return [code.index(combined(code, "+", offset, by)) for offset, by in pairs]


def _check_expanding(tile: Sequence[int], swizzle: int) -> None:
    """TMA expands rows of 128 elements."""
    if tile[-1] % EXPANDED_BYTES or swizzle != EXPANDED_BYTES:
        raise NotALayout(
            f"TMA expands elements of 4 bits in rows of {EXPANDED_BYTES}, swizzled over as many "
            f"bytes: the tile has rows of {tile[-1]} elements and a swizzle of {swizzle} bytes"
        )


def tensor_map(
    op: Operation,
    tensor: SSAValue,
    box: Sequence[int],
    swizzle: int,
    *,
    expands: bool = False,
) -> SSAValue:
    """The map, made by the host before the kernel; one for each kind of tile."""
    from tilewright.dialects.tile import KernelOp

    kernel = op.parent_op()
    while not isinstance(kernel, KernelOp):
        assert kernel is not None
        kernel = kernel.parent_op()
    block = kernel.parent
    assert block is not None
    for other in block.ops:
        if (
            isinstance(other, TensorMapOp)
            and other.tensor is tensor
            and other.extents == tuple(box)
            and other.swizzle.value.data == swizzle
            and (other.expands is not None) == expands
        ):
            return other.result
    made = TensorMapOp(tensor, box, swizzle, expands=expands)
    inherit_location(made, op.location)
    block.insert_op_before(made, kernel)
    made.result.name_hint = f"{tensor.name_hint or 'tensor'}_map"
    return made.result


def _cp_async(op: AsyncCopyOp, storage: BufferStorage, engine: DiagnosticEngine) -> None:
    """Every thread starts the copies of its units: 16 bytes each where that is known to be aligned.

    Run-time values are tested there: rows of a tensor whose width is a multiple of a unit are
    copied so, others in smaller units, or element by element.
    """
    source, target = part_of(op.src), part_of(op.dst)
    code = IndexBuilder(op)
    widest = _contiguous_lanes(op, target, storage)
    known = _known_lanes(op, source, widest, storage)
    if known < widest and _may_be_wide(op, source, widest, storage):
        wide, narrow = _either(code, _is_multiple(code, source, widest))
        _units(wide, op, storage, widest)
        _units(narrow, op, storage, known)
    else:
        problem = _problem(op, source, widest, storage)
        if known == 1 < widest and is_shifted(source.buffer, widest):
            # The loads are made wide where lanes are (`vectorize-loops`), and reported there.
            _units(code, op, storage, widest, is_async=False)
        else:
            if problem is not None:
                remark_narrow(op, "copied", source.buffer, known, widest, problem, engine)
            _units(code, op, storage, known)
    code.rewriter.erase(op)


def _contiguous_lanes(op: AsyncCopyOp, target: TileRegion, storage: BufferStorage) -> int:
    """How many contiguous elements of shared memory one access may cover."""
    lanes = _MOVE_BITS // bit_width(element_type_of(op.src.type))
    extents = [_known(target.extents[axis]) for axis in _axes(target)]
    run = storage.shared_part(IndexBuilder(op), target.buffer).map.run
    while lanes > 1 and (extents[-1] % lanes or run % lanes):
        lanes //= 2
    return lanes


def _axes(part: TileRegion) -> list[int]:
    """The dimensions that are walked along; the last one for a single element."""
    return part.axes or [len(part.extents) - 1]


def _known_lanes(op: AsyncCopyOp, source: TileRegion, lanes: int, storage: BufferStorage) -> int:
    """The widest unit that is aligned in every row, for all run-time values."""
    while lanes > 1 and _problem(op, source, lanes, storage) is not None:
        lanes //= 2
    # Too few bytes for an asynchronous move go element by element.
    return lanes if lanes * bit_width(element_type_of(op.src.type)) >= _MIN_BITS else 1


def _problem(op: AsyncCopyOp, source: TileRegion, lanes: int, storage: BufferStorage) -> str | None:
    """Why units of so many elements are not aligned in every row; None if they are."""
    if lanes == 1:
        return None
    if row_strides(source.buffer)[-1] != 1:
        return "elements along its last dimension are not contiguous"
    uneven = unaligned(source.buffer, lanes, op, storage.ranges)
    if uneven is not None:
        return uneven
    extent, last = shape_of(source.buffer.type)[-1], len(shape_of(source.buffer.type)) - 1
    is_whole = extent_is_multiple(source.buffer, last, lanes, op, storage.ranges)
    if not is_whole and not _ends_in_part(source):
        if extent < 0:
            return "the extent of its last dimension is a run-time value"
        return f"the extent of its last dimension is {extent}, not a multiple of {lanes}"
    if not _begins_at_multiple(op, source, lanes, storage):
        return f"the index of the first element is not known to be a multiple of {lanes}"
    return None


def _ends_in_part(source: TileRegion) -> bool:
    """Whether units at the end of a row are copied in part: rows begin at units of their own.

    Rows without a stride of their own end where the next one begins: either all units are whole or
    no row is aligned, which is tested.
    """
    return declared_strides(source.buffer) is not None


def _begins_at_multiple(
    op: AsyncCopyOp, source: TileRegion, lanes: int, storage: BufferStorage
) -> bool:
    ranges = storage.ranges()
    return ranges.context(op).is_multiple(ranges.poly(source.offsets[-1]), lanes)


def _may_be_wide(op: AsyncCopyOp, source: TileRegion, lanes: int, storage: BufferStorage) -> bool:
    """Whether only the width of the tensor, a run-time value, is missing."""
    type = source.buffer.type
    assert isinstance(type, MemRefType)
    return (
        shape_of(type)[-1] < 0
        and isinstance(type.layout, NoneAttr)
        and uneven_start(source.buffer, lanes * _element_bytes(op), op, storage.ranges) is None
        and _begins_at_multiple(op, source, lanes, storage)
    )


def _element_bytes(op: AsyncCopyOp) -> int:
    return max(8, bit_width(element_type_of(op.src.type))) // 8


def _is_multiple(code: IndexBuilder, source: TileRegion, lanes: int) -> SSAValue:
    width = extent_of(code, source.buffer, len(source.offsets) - 1)
    rest = code.index(combined(code, "mod", width, lanes))
    return code.add(CmpiOp("eq", rest, code.index(0))).results[0]


def _either(code: IndexBuilder, condition: SSAValue) -> tuple[IndexBuilder, IndexBuilder]:
    """Code for both cases of a condition."""
    then, otherwise = Block([YieldOp()]), Block([YieldOp()])
    code.add(IfOp(condition, [], Region(then), Region(otherwise)))
    return code.inside(then), code.inside(otherwise)


def _units(
    code: IndexBuilder,
    op: AsyncCopyOp,
    storage: BufferStorage,
    lanes: int,
    *,
    is_async: bool | None = None,
) -> None:
    """The units of the running thread."""
    source, target = part_of(op.src), part_of(op.dst)
    extents = [_known(target.extents[axis]) for axis in _axes(target)]
    threads = threads_of(op)
    tid = storage.thread(code, threads)
    units = [*extents[:-1], extents[-1] // lanes]
    total = prod(units)
    if is_async is None:
        is_async = lanes * bit_width(element_type_of(op.src.type)) >= _MIN_BITS
    # Iterations access different elements.
    marks = (names.UNROLL, simt_names.SHARE)
    at_once = None if is_async else _AT_ONCE
    body, iteration = counted(code, -(-total // threads.count), *marks, at_once=at_once)
    if total % threads.count:
        unit = combined(body, "+", combined(body, "*", iteration, threads.count), tid)
        inside = body.add(CmpiOp("ult", body.index(unit), body.index(total))).results[0]
        body = opened(body, inside)
    inner, (first, by) = _position(body, units, (tid, iteration, threads.count))
    scale = lanes if len(units) == 1 else 1
    outermost = combined(body, "+", first, combined(body, "*", iteration, by))
    part = storage.shared_part(body, target.buffer)
    # Where iterations are the same distance apart for all threads, they share an address.
    stride = part.map.stride(_axes(target)[0] + part.lost, by * scale)
    begin, distance = (outermost, 0) if stride is None else (first, stride)
    element = target.element(body, _scaled(body, [begin, *inner], lanes), _axes(target))
    offset = part.offset(body, element)
    offset = body.index(combined(body, "+", offset, combined(body, "*", iteration, distance)))
    position = _scaled(body, [outermost, *inner], lanes)
    indices = source.element(body, position, _axes(source))
    if is_async:
        valid = _valid(body, op, source, indices, lanes, storage)
        body.add(AsyncMoveOp(source.buffer, indices, part.buffer, [offset], lanes, valid))
        return
    if lanes == 1:
        loaded = body.add(LoadOp(source.buffer, indices)).results[0]
        body.add(StoreOp(loaded, part.buffer, [offset]))
        return
    inside, lane = counted(body, lanes, names.VECTORIZE)
    last = inside.index(combined(inside, "+", indices[-1], lane))
    loaded = inside.add(LoadOp(source.buffer, [*indices[:-1], last])).results[0]
    inside.add(StoreOp(loaded, part.buffer, [inside.index(combined(inside, "+", offset, lane))]))


def _valid(
    code: IndexBuilder,
    op: AsyncCopyOp,
    source: TileRegion,
    indices: Sequence[SSAValue],
    lanes: int,
    storage: BufferStorage,
) -> SSAValue | None:
    """The elements of a unit that its row has; None if all units are whole, or outside."""
    tensor, last = source.buffer, len(shape_of(source.buffer.type)) - 1
    if not _ends_in_part(source):
        return None
    if extent_is_multiple(tensor, last, lanes, op, storage.ranges):
        return None
    left = combined(code, "-", extent_of(code, tensor, last), indices[-1])
    return code.add(MinsiOp(code.index(left), code.index(lanes))).results[0]


def _position(
    code: IndexBuilder, units: Sequence[int], linear: tuple[Mixed, SSAValue, int]
) -> tuple[list[Mixed], tuple[Mixed, int]]:
    """The coordinates of the unit with linear index ``thread + iteration * by``: the inner ones,
    and the outermost as ``first + iteration * by``. A coordinate that is the same in every
    iteration does not depend on the iteration.
    """
    rest, iteration, by = linear
    inner: list[Mixed] = []
    for extent in reversed(units[1:]):
        if by % extent:
            rest, by = combined(code, "+", rest, combined(code, "*", iteration, by)), 0
        inner.append(combined(code, "mod", rest, extent))
        rest, by = combined(code, "floordiv", rest, extent), by // extent
    return inner[::-1], (rest, by)


def _scaled(code: IndexBuilder, position: Sequence[Mixed], lanes: int) -> list[SSAValue]:
    """The first element of a unit."""
    *outer, last = position
    return [code.index(each) for each in (*outer, combined(code, "*", last, lanes))]
