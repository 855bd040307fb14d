"""Copies that an engine does, and asynchronous ones by threads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import threads_of
from tilewright.dialects.arith import AddiOp, CmpiOp
from tilewright.dialects.nv import AsyncMoveOp, TensorMapOp, TmaLoadOp
from tilewright.dialects.tile import AsyncCopyOp, names
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.rewrite import inherit_location
from tilewright.passes.gpu.expand_copies import Part, part_of
from tilewright.passes.gpu.lower.expressions import combined
from tilewright.passes.gpu.lower.parallel import counted, opened
from tilewright.passes.gpu.lower.places import Places
from tilewright.passes.tile.code import Code

_MAX_BOX = 256
_MOVE_BITS = 128


def lower_async_copy(op: AsyncCopyOp, places: Places) -> None:
    """Replace an asynchronous copy by what threads start."""
    if op.is_bulk:
        _tma_load(op, places)
    else:
        _cp_async(op, places)


def leader(code: Code, places: Places, op: Operation) -> SSAValue:
    """Whether the running thread speaks for its role."""
    tid = code.index(places.thread_at(code, op))
    return code.add(CmpiOp("eq", tid, code.index(0))).results[0]


def _tma_load(op: AsyncCopyOp, places: Places) -> None:
    assert op.barrier is not None and op.barrier_index is not None
    source, target = part_of(op.src), part_of(op.dst)
    code = opened(Code(op), leader(Code(op), places, op))
    part = places.shared_part(code, target.buffer)
    rows_to_columns = part.map.swizzle
    box = [_known(extent) for extent in source.extents]
    bits = bit_width(element_type_of(op.src.type))
    piece = rows_to_columns * 8 // bits if rows_to_columns else min(box[-1], _MAX_BOX)
    map = tensor_map(op, source.buffer, (*box[:-1], piece), rows_to_columns)
    rows = 1
    for extent in box[:-1]:
        rows *= extent
    start = part.place(code, _starts(target))
    for number in range(box[-1] // piece):
        coordinates = moved(code, source.offsets, number * piece)
        place = combined(code, "+", start, number * rows * piece)
        code.add(
            TmaLoadOp(
                map,
                coordinates,
                (part.buffer, code.index(place)),
                (op.barrier, op.barrier_index),
                eviction_policy=op.eviction_policy.data if op.eviction_policy else None,
            )
        )
    Code(op).rewriter.erase(op)


def _starts(part: Part) -> list[Mixed]:
    return list(part.offsets)


def _known(extent: Mixed) -> int:
    assert isinstance(extent, int), "what TMA copies has known extents"
    return extent


def moved(code: Code, offsets: Sequence[Mixed], columns: int) -> list[SSAValue]:
    """Where a piece begins that lies some columns further on."""
    *outer, last = offsets
    if columns:
        last = (
            last + columns
            if isinstance(last, int)
            else code.add(AddiOp(last, code.index(columns))).results[0]
        )
    return [code.index(each) for each in (*outer, last)]


def tensor_map(op: Operation, tensor: SSAValue, box: Sequence[int], swizzle: int) -> SSAValue:
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
        ):
            return other.result
    made = TensorMapOp(tensor, box, swizzle)
    inherit_location(made, op.location)
    block.insert_op_before(made, kernel)
    made.result.name_hint = f"{tensor.name_hint or 'tensor'}_map"
    return made.result


def _cp_async(op: AsyncCopyOp, places: Places) -> None:
    """Every thread starts the copies of its 16-byte units."""
    source, target = part_of(op.src), part_of(op.dst)
    bits = bit_width(element_type_of(op.src.type))
    lanes = _MOVE_BITS // bits
    extents = [_known(target.extents[axis]) for axis in target.axes]
    threads = threads_of(op)
    code = Code(op)
    tid = places.thread(code, threads)
    while lanes > 1 and extents[-1] % lanes:
        lanes //= 2
    units = [*extents[:-1], extents[-1] // lanes]
    total = 1
    for extent in units:
        total *= extent
    turns = -(-total // threads.count)
    body, turn = counted(code, turns, names.UNROLL)
    number = combined(body, "+", combined(body, "*", turn, threads.count), tid)
    if total % threads.count:
        inside = body.add(CmpiOp("ult", body.index(number), body.index(total))).results[0]
        body = opened(body, inside)
    position: list[SSAValue] = []
    rest = number
    for extent in reversed(units[1:]):
        position.append(body.index(combined(body, "mod", rest, extent)))
        rest = combined(body, "floordiv", rest, extent)
    position.append(body.index(rest))
    position.reverse()
    position[-1] = body.index(combined(body, "*", position[-1], lanes))
    part = places.shared_part(body, target.buffer)
    place = part.place(body, target.element(body, position, target.axes))
    indices = source.element(body, position, source.axes)
    body.add(AsyncMoveOp(source.buffer, indices, part.buffer, [body.index(place)], lanes))
    code.rewriter.erase(op)
