"""Accesses of threads to shared memory, and the registers that hold counters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, IntegerType, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Groups
from tilewright.analysis.thread_sync.arena import BufferSpan, bits_of_elements, is_shared
from tilewright.analysis.thread_sync.faults import NotAnalysedError
from tilewright.analysis.thread_sync.origins import origins_of
from tilewright.analysis.thread_sync.program import Act, Compiler, Rule
from tilewright.analysis.thread_sync.shadow import Landing
from tilewright.analysis.thread_sync.state import Frame, distinct
from tilewright.analysis.thread_sync.values import Partly, Value
from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.dialects.nv.async_moves import AsyncMoveOp
from tilewright.dialects.nv.launch_control import RESPONSE_ELEMENTS, ClcQueryOp
from tilewright.dialects.nv.matrix import LdMatrixOp, MatrixMoveOp
from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.types import Space, space_of
from tilewright.dialects.type_utils import shape_of

_ROW_BYTES = 16
_SAME_BEGINNING = ("tile.view", "memref.collapse_shape", "memref.cast")


# -- where -------------------------------------------------------------------------------------


def span_of(compiler: Compiler, buffer: SSAValue) -> tuple[int, BufferSpan]:
    """The shadow region of a buffer, and its bytes in shared memory."""
    root = root_of(buffer)
    return compiler.arena.region_of[root], compiler.arena.span_of[root]


def root_of(buffer: SSAValue) -> SSAValue:
    """The allocation of a view that begins where it does."""
    while isinstance(owner := buffer.owner, Operation) and owner.name in _SAME_BEGINNING:
        buffer = owner.operands[0]
    if not isinstance(owner, AllocOp):
        raise NotAnalysedError(
            owner if isinstance(owner, Operation) else None,
            "accesses to part of a buffer are not supported",
        )
    return buffer


def address_of(
    compiler: Compiler, buffer: SSAValue, indices: Sequence[SSAValue]
) -> Callable[[Frame], Value]:
    """A function that computes the address of an element in shared memory."""
    slots, bits = compiler.all_slots(indices), bits_of_elements(buffer)
    base = span_of(compiler, buffer)[1].first
    shape = shape_of(buffer.type)
    if DYNAMIC_INDEX in shape:
        return lambda frame: None
    strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]

    def address(frame: Frame) -> Value:
        offset: Value = 0
        for slot, stride in zip(slots, strides, strict=True):
            index = frame.env[slot]
            if index is None:
                return None
            offset = offset + index * stride
        return base + offset * bits // 8

    return address


# -- accesses ----------------------------------------------------------------------------------


def _access(
    compiler: Compiler,
    op: Operation,
    kind: str,
    buffer: SSAValue,
    indices: Sequence[SSAValue],
    elements: int,
    *,
    matrices: int = 0,
    is_atomic: bool = False,
) -> Act:
    region, span = span_of(compiler, buffer)
    address = address_of(compiler, buffer, indices)
    size = _ROW_BYTES if matrices else max(1, elements * bits_of_elements(buffer) // 8)
    origins = origins_of(indices)
    compiler.followed |= origins

    def act(frame: Frame) -> None:
        if origins & frame.block.budget.too_great:
            return
        frame.access(
            op,
            kind,
            region,
            span,
            address(frame),
            size,
            matrices=matrices,
            is_atomic=is_atomic,
        )

    return act


def _load(compiler: Compiler, op: Operation) -> Act:
    buffer, *indices = op.operands
    if is_shared(buffer):
        return _load_shared(compiler, op, buffer, indices)
    if space_of(buffer.type) is Space.GLOBAL:
        return _load_integer(compiler, op)
    return _load_counter(compiler, op)


def _load_shared(
    compiler: Compiler, op: Operation, buffer: SSAValue, indices: Sequence[SSAValue]
) -> Act:
    """The value is unknown, unless it is the address of tensor memory."""
    access, target = (
        _access(compiler, op, "reads", buffer, indices, 1),
        compiler.slot(op.results[0]),
    )
    root = root_of(buffer)

    def act(frame: Frame) -> None:
        access(frame)
        held = frame.block.tensor_memory
        frame.env[target] = None if held is None else held.slots.get(root)

    return act


def _store(compiler: Compiler, op: Operation) -> Act:
    _, buffer, *indices = op.operands
    if is_shared(buffer):
        return _access(compiler, op, "writes", buffer, indices, 1)
    return _store_counter(compiler, op)


def _move(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, LaneOp)
    if is_shared(op.src):
        return _access(compiler, op, "reads", op.src, op.src_indices, op.width)
    kind = "copies" if isinstance(op, AsyncMoveOp) else "writes"
    return _access(compiler, op, kind, op.dst, op.dst_indices, op.width)


def _load_lds(compiler: Compiler, op: Operation) -> Act:
    """A copy of each wave: lanes write consecutive vectors from the wave's address on."""
    assert isinstance(op, LoadLdsOp)
    region, span = span_of(compiler, op.dst)
    address = address_of(compiler, op.dst, op.dst_indices)
    size = op.bytes
    origins = origins_of(op.dst_indices)
    compiler.followed |= origins

    def act(frame: Frame) -> None:
        if origins & frame.block.budget.too_great:
            return
        base = address(frame)
        start = None if base is None else base + frame.tids % frame.warp_size * size
        frame.flush()
        before, frame.copies.open = frame.copies.open, []
        frame.access(op, "copies", region, span, start, size)
        frame.flush()
        started, frame.copies.open = frame.copies.open, before
        for each in started:
            assert isinstance(each, Landing)
            for wave in distinct(each.rows.warps):
                groups = frame.lds_copies.setdefault(int(wave), Groups[Any]())
                groups.open.append(Landing(each.region, each.rows.of_warp(wave), each.time))
                groups.commit()

    return act


def _matrices(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MatrixMoveOp)
    count = op.count.value.data
    if isinstance(op, LdMatrixOp):
        return _access(compiler, op, "reads", op.src, [op.src_index], 1, matrices=count)
    return _access(compiler, op, "writes", op.dst, [op.dst_index], 1, matrices=count)


def _response(compiler: Compiler, op: Operation) -> Act:
    """The response of cluster launch control is unknown; a proxy fence follows the read of it."""
    assert isinstance(op, ClcQueryOp)
    read = _access(compiler, op, "reads", op.result_buffer, [op.result_index], RESPONSE_ELEMENTS)
    results = compiler.all_slots(op.results)

    def act(frame: Frame) -> None:
        read(frame)
        for slot in results:
            frame.env[slot] = None
        frame.flush()
        frame.clocks.fence(frame.active_warps)

    return act


def _atomic(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, AtomicOp)
    return _access(compiler, op, "writes", op.dst, op.indices, 1, is_atomic=True)


def _indices_of(op: Operation) -> Sequence[SSAValue]:
    """Indices of the buffer that is in shared memory."""
    if isinstance(op, LaneOp):
        return op.src_indices if is_shared(op.src) else op.dst_indices
    if isinstance(op, MatrixMoveOp):
        return [op.src_index if is_shared(op.src) else op.dst_index]
    if isinstance(op, AtomicOp):
        return op.indices
    return op.operands[1:] if op.name == "memref.load" else op.operands[2:]


def _is_access(op: Operation) -> bool:
    return any(is_shared(operand) for operand in op.operands)


def access_bytes(op: Operation) -> Sequence[tuple[SSAValue, int]]:
    """Buffers in shared memory that threads access with an op, and how many bytes at a time."""
    if op.name not in RULES:
        return ()
    lanes = op.width if isinstance(op, LaneOp) else 1
    if isinstance(op, ClcQueryOp):
        lanes = RESPONSE_ELEMENTS
    return [
        (each, _ROW_BYTES if isinstance(op, MatrixMoveOp) else _bytes(each, lanes))
        for each in op.operands
        if is_shared(each)
    ]


def _bytes(buffer: SSAValue, lanes: int) -> int:
    return max(1, lanes * bits_of_elements(buffer) // 8)


# -- registers that hold integers ----------------------------------------------------------------


def _held(frame: Frame, buffer: SSAValue, offset: int) -> Value:
    found = frame.held.get(buffer, {}).get(offset)
    return found.value(frame.mask) if isinstance(found, Partly) else found


def _load_integer(compiler: Compiler, op: Operation) -> Act:
    """An element of a tensor that all threads load: its value is assumed.

    It is the same for all threads, and grows with the index, as offsets of packed sequences do.
    """
    _, *indices = op.operands
    slots, target = compiler.all_slots(indices), compiler.slot(op.results[0])
    is_integer = isinstance(op.results[0].type, IntegerType | IndexType)

    def act(frame: Frame) -> None:
        offset = [frame.env[each] for each in slots]
        is_known = is_integer and all(isinstance(each, int) for each in offset)
        frame.env[target] = frame.block.budget.element(sum(offset)) if is_known else None

    return act


def _load_counter(compiler: Compiler, op: Operation) -> Act:
    buffer, *indices = op.operands
    slots, target = compiler.all_slots(indices), compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        offset = [frame.env[each] for each in slots]
        is_known = len(offset) == 1 and isinstance(offset[0], int)
        frame.env[target] = _held(frame, buffer, offset[0]) if is_known else None

    return act


def _store_counter(compiler: Compiler, op: Operation) -> Act:
    value, buffer, *indices = op.operands
    what, slots = compiler.slot(value), compiler.all_slots(indices)

    def act(frame: Frame) -> None:
        offset, held = [frame.env[each] for each in slots], frame.held.setdefault(buffer, {})
        if len(offset) != 1 or not isinstance(offset[0], int) or frame.is_unsure:
            held.clear()
            return
        (at,), new = offset, frame.env[what]
        old = held.get(at)
        if frame.mask is None or at not in held:
            held[at] = new
        elif isinstance(old, Partly) and old.mask is frame.mask:
            held[at] = Partly(frame.mask, new, old.rest)
        else:
            held[at] = Partly(frame.mask, new, _held(frame, buffer, at))

    return act


# -- indices -----------------------------------------------------------------------------------

_AXES = {"x": 0, "y": 1, "z": 2}


def _axis(op: Operation) -> int:
    dimension = op.properties["dimension"]
    data = dimension.data if isinstance(dimension, StringAttr) else getattr(dimension, "data", "x")
    return _AXES[str(getattr(data, "value", data))]


def _index_rule(find: Callable[[Frame, int], Value]) -> Rule:
    """A rule for an op that returns a thread or block index."""

    def make(compiler: Compiler, op: Operation) -> Act:
        slot, axis = compiler.slot(op.results[0]), _axis(op) if "dimension" in op.properties else 0

        def act(frame: Frame) -> None:
            frame.env[slot] = find(frame, axis)

        return act

    return Rule(lambda op: (), make, lambda op: False)


_MOVES = Rule(_indices_of, _move, _is_access)
_ROWS = Rule(_indices_of, _matrices, _is_access)

RULES: Mapping[str, Rule] = {
    "memref.load": Rule(_indices_of, _load, _is_access),
    "memref.store": Rule(
        lambda op: op.operands[2:] if is_shared(op.operands[1]) else op.operands, _store, _is_access
    ),
    "simt.move": _MOVES,
    "nv.async_move": _MOVES,
    "nv.red_add": _MOVES,
    "amd.load_lds": Rule(_indices_of, _load_lds, _is_access),
    "nv.ldmatrix": _ROWS,
    "nv.stmatrix": _ROWS,
    "nv.clc.query": Rule(lambda op: op.operands[1:], _response, _is_access),
    "tile.atomic": Rule(_indices_of, _atomic, _is_access),
    "gpu.thread_id": _index_rule(lambda frame, axis: frame.tids if axis == 0 else 0),
    "gpu.block_id": _index_rule(lambda frame, axis: frame.block.index[axis]),
    "gpu.grid_dim": _index_rule(lambda frame, axis: frame.block.grid[axis]),
    "gpu.block_dim": _index_rule(lambda frame, axis: frame.block.threads if axis == 0 else 1),
    "gpu.lane_id": _index_rule(lambda frame, axis: frame.tids % frame.warp_size),
    "gpu.subgroup_id": _index_rule(lambda frame, axis: frame.tids // frame.warp_size),
    "nv.elect": _index_rule(lambda frame, axis: frame.tids % frame.warp_size == 0),
    "nv.cluster.rank": _index_rule(lambda frame, axis: frame.block.rank),
}
