"""Loads, stores, moves, conversions and atomics of threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.nv.async_moves import AsyncMoveOp
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp
from tilewright.dialects.nv.updates import RedAddOp
from tilewright.dialects.simt.moves import ConvertOp, LaneOp, MoveOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.type_utils import num_elements, shape_of
from tilewright.targets.numpy.simt.buffers import (
    BarrierBuffer,
    GlobalBuffer,
    Registers,
    SharedBuffer,
    aligned,
    checked,
)
from tilewright.targets.numpy.simt.machine import Pending
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule, unsupported
from tilewright.targets.numpy.simt.scalars import type_of
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.simt.sync import set_up_all
from tilewright.targets.numpy.support.floats import int_to_float, narrow, to_single
from tilewright.targets.numpy.support.select import where as select

_POISON = 0xA5


def _alloc(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, AllocOp)
    slot, name, size = compiler.slot(op.result), op.buffer_name, num_elements(op.result.type)
    if op.space.is_barrier:
        base = compiler.offsets[op]
        counts = None if compiler.has_init else op.arrive_counts

        def barriers(frame: Frame) -> None:
            made = frame.block.barriers.get(op)
            if made is None:
                made = frame.block.barriers[op] = BarrierBuffer(name, base, size, op)
                if counts is not None:
                    set_up_all(frame, made, counts)
            frame.env[slot] = made

        return barriers
    dtype = type_of(op.result).dtype
    if op.space.is_per_thread:
        is_tracked = op.result in compiler.tracked

        def registers(frame: Frame) -> None:
            data = np.empty((frame.block.threads, size), dtype)
            data.view(np.uint8)[...] = _POISON
            made = Registers(name, data)
            if is_tracked:
                made.track()
            frame.env[slot] = made

        return registers
    if op.space is Space.GLOBAL:
        shape = shape_of(op.result.type)

        def workspace(frame: Frame) -> None:
            data = np.empty(size, dtype)
            data.view(np.uint8)[...] = _POISON
            frame.env[slot] = GlobalBuffer(name, data, data.reshape(shape))

        return workspace
    base = compiler.offsets[op]

    def shared(frame: Frame) -> None:
        frame.env[slot] = SharedBuffer(name, frame.block, base, size, dtype)

    return shared


def index_of(
    compiler: Compiler, buffer: SSAValue, indices: Sequence[SSAValue]
) -> Callable[[Frame], Any]:
    """A function that finds the number of an element in its buffer."""
    slots = compiler.all_slots(indices)
    if len(slots) == 1:
        return _only(slots[0])
    shape, where = shape_of(buffer.type), compiler.slot(buffer)

    def flat(frame: Frame) -> Any:
        held = frame.env[where]
        extents = shape
        if DYNAMIC_INDEX in shape or isinstance(held, GlobalBuffer):
            extents = held.tensor.shape
            strides = [each // held.data.itemsize for each in held.tensor.strides]
        else:
            strides = [int(np.prod(shape[axis + 1 :])) for axis in range(len(shape))]
        position: Any = np.int64(0)
        for each, extent, stride in zip(slots, extents, strides, strict=True):
            index = frame.env[each]
            active = frame.wide(index)[frame.active]
            if (
                frame.block.options.guarded
                and active.size
                and (active.min() < 0 or active.max() >= extent)
            ):
                wrong = int(active.min() if active.min() < 0 else active.max())
                raise frame.problem(
                    "out of bounds",
                    f"index out of bounds: {wrong}, but this axis of '{held.name}' has "
                    f"extent {extent}",
                )
            position = position + index * np.int64(stride)
        return position

    return flat


def _only(slot: int) -> Callable[[Frame], Any]:
    return lambda frame: frame.env[slot]


def _inside(compiler: Compiler, buffer: SSAValue, indices: Sequence[SSAValue]) -> Any:
    """A function that computes which elements are in bounds; None if all are."""
    slots, where = compiler.all_slots(indices), compiler.slot(buffer)

    def inside(frame: Frame) -> Any:
        held = frame.env[where]
        if frame.block.options.guarded or not isinstance(held, GlobalBuffer):
            return None
        found = frame.active
        shape = held.tensor.shape if len(slots) > 1 else held.data.shape
        for each, extent in zip(slots, shape, strict=True):
            index = frame.wide(frame.env[each])
            found = found & (index >= 0) & (index < extent)
        return None if found.all() else found

    return inside


def _policy(compiler: Compiler, op: Operation) -> Act:
    """What a cache does changes no results."""
    slot = compiler.slot(op.results[0])

    def act(frame: Frame) -> None:
        frame.env[slot] = np.int64(0)

    return act


def _without_policy(op: Operation) -> Sequence[SSAValue]:
    return op.operands[:-1] if isinstance(op, HintedLoadOp | HintedStoreOp) else op.operands


def _load(compiler: Compiler, op: Operation) -> Act:
    buffer, *indices = _without_policy(op)
    where, flat_index = compiler.slot(buffer), index_of(compiler, buffer, indices)
    result, inside = compiler.slot(op.results[0]), _inside(compiler, buffer, indices)

    def act(frame: Frame) -> None:
        held, index = frame.env[where], flat_index(frame)
        if isinstance(held, Registers):
            frame.env[result] = held.load(frame, index)
            return
        mask, in_bounds = frame.mask, inside(frame)
        if in_bounds is None:
            frame.env[result] = held.read(frame, index, 1)[:, 0]
            return
        frame.mask = in_bounds
        found = held.read(frame, index, 1)[:, 0]
        frame.mask = mask
        frame.env[result] = select(in_bounds, found, found.dtype.type(0))

    return act


def _store(compiler: Compiler, op: Operation) -> Act:
    value, buffer, *indices = _without_policy(op)
    what, where = compiler.slot(value), compiler.slot(buffer)
    flat_index, inside = index_of(compiler, buffer, indices), _inside(compiler, buffer, indices)

    def act(frame: Frame) -> None:
        held, index, given = frame.env[where], flat_index(frame), frame.env[what]
        if isinstance(held, Registers):
            held.store(frame, index, given)
            return
        mask, in_bounds = frame.mask, inside(frame)
        frame.mask = mask if in_bounds is None else in_bounds
        held.write(frame, index, frame.wide(given)[:, None])
        frame.mask = mask

    return act


def _move(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, LaneOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    lanes = op.width
    is_unaligned = isinstance(op, MoveOp) and op.is_unaligned

    def act(frame: Frame) -> None:
        held = frame.env[source]
        read = held.read_anywhere if is_unaligned else held.read
        frame.env[target].write(frame, to(frame), read(frame, at(frame), lanes))

    return act


def _convert(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, ConvertOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    lanes, kind = op.width, type_of(op.dst)

    def act(frame: Frame) -> None:
        held, made = frame.env[source], frame.env[target]
        rows, columns = held.fragment(frame, at(frame), lanes)
        values = converted(held.data[rows, columns], kind.dtype)
        rows, columns = made.fragment(frame, to(frame), lanes, writes=True)
        made.data[rows, columns] = values

    return act


def converted(values: Any, dtype: np.dtype[Any]) -> Any:
    """Elements in another type, as `simt.convert` makes them."""
    if dtype.kind in "iub":
        return values.astype(dtype)
    if values.dtype.kind in "iub":
        return int_to_float(values, dtype)
    return to_single(values) if dtype == np.float32 else narrow(values, dtype)


def _async_move(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, AsyncMoveOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    lanes, inside = op.width, _inside(compiler, op.src, op.src_indices)
    valid = None if op.valid is None else compiler.slot(op.valid)

    def act(frame: Frame) -> None:
        src, dst = frame.env[source], frame.env[target]
        count = np.int64(lanes) if valid is None else frame.env[valid]
        if (in_bounds := inside(frame)) is not None:
            count = np.where(in_bounds, frame.wide(count), 0)
        _start_copy(frame, op, (src, at(frame)), (dst, to(frame)), lanes, count)

    return act


def _start_copy(
    frame: Frame, op: Operation, source: Any, target: Any, lanes: int, count: Any
) -> None:
    (src, at), (dst, to) = source, target
    mask = frame.active
    count = np.clip(frame.wide(count)[mask], 0, lanes)
    size = dst.dtype.itemsize
    checked(frame, dst.name, dst.size, to, lanes)
    aligned(frame, dst.name, to, lanes, dst.base, size)
    start = frame.wide(at)[mask]
    some = count > 0
    # Copies of nothing read nothing, wherever they point.
    if some.any():
        low, high = int(start[some].min()), int((start + count)[some].max())
        if low < 0 or high > src.size:
            raise frame.problem(
                "out of bounds",
                f"cp.async out of bounds: {src.name}[{low if low < 0 else high - 1}], "
                f"but '{src.name}' has {src.size} elements",
            )
        if ((src.lead_bytes + start[some] * size) % (lanes * size) != 0).any():
            raise frame.problem(
                "misaligned",
                f"misaligned cp.async: an address in '{src.name}' is not a multiple of "
                f"{lanes * size} bytes",
            )
    destinations = frame.wide(to)[mask]
    columns = np.arange(lanes)
    given = columns < count[:, None]
    reads = np.where(given, start[:, None] + columns, 0)

    def finish() -> None:
        values = np.where(given, src.data[reads], np.zeros(1, src.data.dtype))
        dst.data[destinations[:, None] + columns] = values

    operation = Pending(f"cp.async to {dst.name}", finish, op, frame.name)
    if frame.block.options.checked:
        shadow = frame.block.shadow
        access = shadow.access(dst.address(destinations), lanes * size, frame.active_tids)
        times = shadow.start_copy(op, access)
        operation.landed = lambda: shadow.finish_copy(op, access, times)
    frame.block.machine.issue("cp.async", operation)
    frame.copies.issue(operation)


# -- atomics -----------------------------------------------------------------------------------


def _new(old: Any, new: Any) -> Any:
    return new


def _without_sign(combine: Any) -> Callable[[Any, Any], Any]:
    def update(old: Any, new: Any) -> Any:
        bits = np.dtype(f"u{old.dtype.itemsize}")
        return combine(old.view(bits), new.view(bits)).view(old.dtype)

    return update


_UPDATES: Mapping[str, Any] = {
    "add": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "umax": _without_sign(np.maximum),
    "umin": _without_sign(np.minimum),
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": _new,
    "store": _new,
}


def _atomic(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, AtomicOp)
    if not op.is_element:
        raise unsupported(
            op,
            "an atomic update of a whole region is not supported at the thread level: "
            "lower it first",
        )
    where, flat_index = compiler.slot(op.dst), index_of(compiler, op.dst, op.indices)
    value = None if op.value is None else compiler.slot(op.value)
    compare = None if op.compare is None else compiler.slot(op.compare)
    result = None if op.previous is None else compiler.slot(op.previous)
    kind, dtype = op.kind.data, type_of(op.dst).dtype
    inside = _inside(compiler, op.dst, op.indices)

    def act(frame: Frame) -> None:
        held, index = frame.env[where], frame.wide(flat_index(frame))
        if frame.block.options.guarded:
            checked(frame, held.name, held.size, index, 1)
        given = None if value is None else frame.wide(frame.env[value])
        expected = None if compare is None else frame.wide(frame.env[compare])
        old = np.zeros(frame.count, dtype)
        in_bounds = inside(frame)
        taking = np.flatnonzero(frame.active if in_bounds is None else in_bounds)
        if isinstance(held, GlobalBuffer):
            held.watch_update(op, frame, index[taking], frame.tids[taking])
        for thread in taking:
            at = index[thread]
            old[thread] = held.data[at]
            if given is not None and expected is not None:
                if old[thread].tobytes() == expected[thread].astype(dtype).tobytes():
                    held.data[at] = given[thread]
            elif given is not None:
                held.data[at] = _UPDATES[kind](held.data[at], given[thread])
        if isinstance(held, SharedBuffer):
            _mark_atomic(frame, op, held, index)
        if result is not None:
            frame.env[result] = old

    return act


def _mark_atomic(frame: Frame, op: Operation, held: SharedBuffer, index: Any) -> None:
    """Atomics do not race with each other; for everybody else they are writes."""
    if not frame.block.options.checked:
        return
    shadow = held.block.shadow
    access = shadow.access(
        held.address(index[frame.active]), held.dtype.itemsize, frame.active_tids
    )
    shadow.update_by_threads(op, access)


def _red_add(compiler: Compiler, op: Operation) -> Act:
    """Several elements at once, each updated by itself."""
    assert isinstance(op, RedAddOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at = index_of(compiler, op.src, op.src_indices)
    to = index_of(compiler, op.dst, op.dst_indices)
    lanes, size = op.width, type_of(op.dst).dtype.itemsize

    def act(frame: Frame) -> None:
        values = frame.env[source].read(frame, at(frame), lanes)
        held, start = frame.env[target], frame.wide(to(frame))
        if frame.block.options.guarded:
            checked(frame, held.name, held.size, start, lanes)
        aligned(frame, held.name, start, lanes, held.lead_bytes, size)
        for lane in range(lanes):
            held.watch_update(op, frame, start[frame.active] + lane, frame.active_tids)
        for thread in np.flatnonzero(frame.active):
            for lane in range(lanes):
                at_lane = start[thread] + lane
                held.data[at_lane] = np.add(held.data[at_lane], values[thread, lane])

    return act


RULES: Mapping[str, Rule] = {
    "tile.alloc": _alloc,
    "memref.load": _load,
    "memref.store": _store,
    "nv.l2_policy": _policy,
    "nv.load": _load,
    "nv.store": _store,
    "simt.move": _move,
    "simt.convert": _convert,
    "nv.async_move": _async_move,
    "tile.atomic": _atomic,
    "nv.red_add": _red_add,
}

__all__ = ["RULES", "converted", "index_of"]
