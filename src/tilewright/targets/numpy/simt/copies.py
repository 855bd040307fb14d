"""TMA: boxes of tensors, and runs of elements, completed in any order and at any time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.nv.tma import (
    BulkLoadOp,
    BulkOp,
    TensorMapOp,
    TmaLoadOp,
    TmaReduceOp,
    TmaStoreBase,
)
from tilewright.layouts.hardware.swizzle import swizzle_address
from tilewright.targets.numpy.simt.buffers import (
    BarrierBuffer,
    GlobalBuffer,
    SharedBuffer,
    TensorMap,
)
from tilewright.targets.numpy.simt.clocks import ClockSnapshot
from tilewright.targets.numpy.simt.machine import BarrierMisuse, Groups, Pending
from tilewright.targets.numpy.simt.program import Act, Compiler, Rule
from tilewright.targets.numpy.simt.state import BlockRun, Frame
from tilewright.targets.numpy.simt.sync import PhaseBarrier, barrier_at, barrier_of_block

_ALIGN_BYTES = 128
"""A tile begins at such a multiple in shared memory."""
_STRIDE_BYTES = 16
_EXPANDED_ROW = 128
"""Elements of 4 bits in a row of a box that is expanded."""
_EXPANDED_PART = 8
"""Of 16 bytes, those with 16 elements of 4 bits."""

_COMBINE: Mapping[str, Any] = {
    "add": np.add,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def _tensor_map(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, TensorMapOp)
    source, target = compiler.slot(op.tensor), compiler.slot(op.result)
    box, swizzle, fill = op.extents, op.swizzle.value.data, op.fill.data
    if op.expands is not None:
        box = (*box[:-1], box[-1] // 2)

    def act(frame: Frame) -> None:
        held = frame.env[source]
        made = TensorMap(
            *(held.name, held.tensor, box, swizzle, fill, held.size, held.lead_bytes),
            expands=op.expands is not None,
        )
        _check_map(frame, made)
        frame.env[target] = made

    return act


def _check_map(frame: Frame, map: TensorMap) -> None:
    """What the driver refuses to encode."""
    inner = map.box[-1] * map.itemsize * (2 if map.expands else 1)
    if map.expands and inner != _EXPANDED_ROW:
        raise frame.problem(
            "shape",
            f"a TMA box of '{map.name}' that is expanded has rows of {inner} elements, expected "
            f"{_EXPANDED_ROW}",
        )
    if inner % _STRIDE_BYTES:
        raise frame.problem(
            "misaligned",
            f"a TMA box of '{map.name}' has rows of {inner} bytes, which is not a multiple of 16",
        )
    if map.swizzle and inner > map.swizzle:
        raise frame.problem(
            "shape",
            f"a TMA box of '{map.name}' has rows of {inner} bytes, wider than its swizzle of "
            f"{map.swizzle} bytes",
        )
    if not map.tensor.size:
        return  # the runtime hands a map of a zero in; NumPy has no strides to look at
    if map.lead_bytes % _STRIDE_BYTES:
        raise frame.problem(
            "misaligned",
            f"'{map.name}' starts at byte {map.lead_bytes} of its memory: TMA requires a multiple "
            "of 16",
        )
    *outer, last = map.tensor.strides
    if last != map.itemsize or any(stride % _STRIDE_BYTES for stride in outer):
        raise frame.problem(
            "misaligned",
            f"strides of '{map.name}' are {map.tensor.strides} bytes: TMA requires multiples of 16 "
            f"bytes, and {map.itemsize} bytes for the last",
        )


class _Tile:
    """A tile in shared memory and in a tensor."""

    def __init__(
        self, frame: Frame, map: TensorMap, buffer: SharedBuffer, index: int, at: Sequence[int]
    ) -> None:
        self.map, self.arena = map, frame.block.arena
        start = int(buffer.address(index))
        if start % _ALIGN_BYTES:
            raise frame.problem(
                "misaligned",
                f"a TMA box starts at {buffer.name}[{index}], byte {start} of shared memory, "
                f"which is not a multiple of {_ALIGN_BYTES}",
            )
        count = int(np.prod(map.box))
        if (
            index < 0
            or start + map.shared_bytes > buffer.base + buffer.size * buffer.dtype.itemsize
        ):
            raise frame.problem(
                "out of bounds",
                f"a TMA box of {count} elements at {buffer.name}[{index}] does not fit: "
                f"'{buffer.name}' has {buffer.size} elements",
            )
        offset = np.arange(count) * map.itemsize
        if map.expands:  # 8 bytes of every 16
            offset += offset // _EXPANDED_PART * _EXPANDED_PART
        plain = start + offset
        self.addresses = swizzle_address(plain, map.swizzle)
        self.window = [
            (max(first, 0), min(first + extent, size))
            for first, extent, size in zip(at, map.box, map.tensor.shape, strict=True)
        ]
        self.at = at
        self._check_start(frame)
        self.is_empty = any(low >= high for low, high in self.window)
        self._check_memory(frame)

    def _check_start(self, frame: Frame) -> None:
        """Any other start ends a kernel with an illegal instruction."""
        offset = self.at[-1] * self.map.itemsize
        unit = _EXPANDED_ROW // 2 if self.map.expands else _STRIDE_BYTES
        if offset % unit:
            raise frame.problem(
                "misaligned",
                f"a TMA box of '{self.map.name}' starts at column {self.at[-1]}, byte "
                f"{offset} of its "
                f"row, which is not a multiple of {unit}",
            )

    def _check_memory(self, frame: Frame) -> None:
        """The extents of a view may reach out of its memory, a copy may not."""
        steps = zip(self.window, self.map.tensor.strides, strict=True)
        last = sum((high - 1) * stride for (_, high), stride in steps) // self.map.itemsize
        if not self.is_empty and last >= self.map.capacity:
            raise frame.problem(
                "out of bounds",
                f"a TMA box of '{self.map.name}' reaches element {last} of its memory, which has "
                f"{self.map.capacity}",
            )

    def check_end(self, frame: Frame) -> None:
        """A store fills the 16 bytes in which a row ends, whatever is there."""
        extent = self.map.tensor.shape[-1]
        is_cut = self.at[-1] < extent < self.at[-1] + self.map.box[-1]
        if is_cut and not self.is_empty and extent * self.map.itemsize % _STRIDE_BYTES:
            raise frame.problem(
                "out of bounds",
                f"a TMA store to '{self.map.name}' passes the end of rows of "
                f"{extent * self.map.itemsize} bytes: TMA writes up to the next multiple of 16",
            )

    def into(self, arena: Any) -> _Tile:
        """The same tile in the memory of another block."""
        other = copy(self)
        other.arena = arena
        return other

    def _outside(self) -> tuple[slice, ...]:
        return tuple(slice(low, high) for low, high in self.window)

    def _inside(self) -> tuple[slice, ...]:
        return tuple(
            slice(low - first, high - first)
            for (low, high), first in zip(self.window, self.at, strict=True)
        )

    def _elements(self) -> tuple[Any, Any]:
        """The arena as elements, and the index of each element of the tile in it."""
        dtype = self.map.tensor.dtype
        return self.arena.view(dtype), self.addresses // dtype.itemsize

    def load(self) -> None:
        box = np.zeros(self.map.box, self.map.tensor.dtype)
        if self.map.fill == "nan":
            box[...] = np.nan
        if not self.is_empty:
            box[self._inside()] = self.map.tensor[self._outside()]
        arena, addresses = self._elements()
        arena[addresses] = box.ravel()

    def store(self, combine: Any) -> None:
        if self.is_empty:
            return
        arena, addresses = self._elements()
        box = arena[addresses].reshape(self.map.box)[self._inside()]
        target = self._outside()
        old = self.map.tensor[target]
        self.map.tensor[target] = box if combine is None else combine(old, box)


def _arrival(
    frame: Frame,
    barrier: PhaseBarrier,
    issuer: ClockSnapshot,
    agent: int,
    time: int,
    size: int,
    receiver: int | None = None,
) -> Any:
    """What happens at the barrier when a copy is done."""
    signal = issuer.copy()
    signal.observed[agent] = time
    if receiver is not None:
        signal = frame.block.clocks.forwarded(signal, frame.block.rank, receiver)

    def arrive() -> None:
        barrier.signal(signal)
        try:
            barrier.complete_tx(size)
        except BarrierMisuse as error:
            raise frame.problem("barrier", str(error)) from error

    return arrive


def target_barrier(frame: Frame, where: int, at: int, leader: int) -> PhaseBarrier:
    index = int(frame.wide(frame.env[at])[leader])
    barrier = barrier_at(frame, frame.env[where], index)
    if not barrier.is_fenced and frame.block.options.checked:
        raise frame.problem(
            "fence",
            f"{barrier.name} was initialised without a fence after it: "
            "the initialisation may not be visible to TMA (async proxy)",
        )
    return barrier


def _tma_load(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, TmaLoadOp)
    map, target, to = compiler.all_slots((op.map, op.dst, op.dst_index))
    coordinates = compiler.all_slots(op.coordinates)
    where, at = compiler.slot(op.barrier), compiler.slot(op.barrier_index)
    receivers = None if op.multicast is None else compiler.slot(op.multicast)

    def act(frame: Frame) -> None:
        leader = frame.leader("nv.tma_load")
        corner = [int(frame.wide(frame.env[each])[leader]) for each in coordinates]
        if frame.env[map].expands:  # coordinates count elements
            corner[-1] //= 2
        index = int(frame.wide(frame.env[to])[leader])
        barrier = target_barrier(frame, where, at, leader)
        tile = _Tile(frame, frame.env[map], frame.env[target], index, corner)
        slot = int(frame.wide(frame.env[at])[leader])
        if receivers is None:
            rank = frame.block.rank
            if op.pair is not None:
                rank -= rank % 2
                barrier = barrier_of_block(frame, frame.env[where], slot, rank)
            addresses, size = tile.addresses, tile.map.itemsize
            start_load(frame, op, barrier, leader, addresses, size, tile.load, rank)
            return
        mask = int(frame.wide(frame.env[receivers])[leader])
        _send(frame, op, tile, leader, mask, (frame.env[where], slot))

    return act


def _send(
    frame: Frame,
    op: Operation,
    tile: _Tile,
    leader: int,
    mask: int,
    barrier: tuple[BarrierBuffer, int],
) -> None:
    """Multicast of one tile: each CTA receives it at the same offset, on its own barrier."""
    size = tile.map.itemsize
    for rank, block in enumerate(frame.block.cluster):
        if mask >> rank & 1:
            load = tile.into(block.arena).load
            _send_to(frame, op, block, (tile.addresses, size), load, leader, barrier)


def send_elements(
    frame: Frame,
    op: Operation,
    addresses: Any,
    elements: Any,
    leader: int,
    barrier: tuple[BarrierBuffer, int],
) -> None:
    """Multicast of some elements to all CTAs of the cluster."""
    for block in frame.block.cluster:

        def load(arena: Any = block.arena) -> None:
            arena.view(elements.dtype)[addresses // elements.itemsize] = elements

        _send_to(frame, op, block, (addresses, elements.itemsize), load, leader, barrier)


def _send_to(
    frame: Frame,
    op: Operation,
    block: BlockRun,
    written: tuple[Any, int],
    load: Callable[[], None],
    leader: int,
    barrier: tuple[BarrierBuffer, int],
) -> None:
    """One of the CTAs that receive a multicast."""
    addresses, size = written
    there = barrier_of_block(frame, barrier[0], barrier[1], block.rank)
    if block is frame.block:
        start_load(frame, op, there, leader, addresses, size, load)
        return
    agent = block.clocks.load_agent()
    time = int(block.clocks.tick(agent))
    # Clocks are forwarded between CTAs where tensor memory is used: else only the arrival is
    # ordered, and the write cannot be checked.
    clocks, rank = frame.block.clocks, frame.block.rank
    issuer = clocks.forwarded(frame.signal_of(leader), rank, block.rank)
    granules = block.shadow.spread(addresses, size)
    if clocks.blocks > 1 and block.options.checked:
        block.shadow.write_by_engine(op, granules, agent, time, issuer)
    else:
        block.shadow.mark_by_engine(op, granules, agent, time)
    arrive = _arrival(frame, there, issuer, agent, time, len(addresses) * size)

    def finish() -> None:
        load()
        arrive()

    block.machine.issue("copies", Pending("a load", finish, op, frame.name))


def start_load(
    frame: Frame,
    op: Operation,
    barrier: PhaseBarrier,
    leader: int,
    addresses: Any,
    itemsize: int,
    load: Any,
    receiver: int | None = None,
) -> None:
    """Start a load; `receiver` is the rank of the barrier's block, if it is another one."""
    block = frame.block
    issuer = frame.signal_of(leader)
    agent = block.clocks.load_agent()
    time = int(block.clocks.tick(agent))
    if block.options.checked:
        granules = block.shadow.spread(addresses, itemsize)
        block.shadow.write_by_engine(op, granules, agent, time, issuer)
    size = len(addresses) * itemsize
    arrive = _arrival(frame, barrier, issuer, agent, time, size, receiver)

    def finish() -> None:
        load()
        arrive()

    block.machine.issue("copies", Pending("a load", finish, op, frame.name))


def _start_store(frame: Frame, op: Operation, leader: int, granules: Any, store: Any) -> None:
    block, thread = frame.block, int(frame.tids[leader])
    warp = thread // frame.warp_size
    agent = block.clocks.store_agent(warp)
    time = int(block.clocks.tick(agent))
    if block.options.checked:
        issuer = frame.signal_of(leader)
        block.shadow.read_by_engine(op, granules, agent, time, issuer, thread)
    operation = Pending(
        "a bulk store",
        store,
        op,
        frame.name,
        landed=lambda: block.clocks.observe(np.array([warp]), agent, time),
    )
    block.machine.issue("stores", operation)
    frame.stores.setdefault(thread, Groups()).issue(operation)
    block.stores.append(frame.stores[thread])


def _tma_store(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, TmaStoreBase)
    map, source, at = compiler.all_slots((op.map, op.src, op.src_index))
    coordinates = compiler.all_slots(op.coordinates)
    combine = _COMBINE[op.kind.data] if isinstance(op, TmaReduceOp) else None

    def act(frame: Frame) -> None:
        leader = frame.leader("nv.tma_store")
        corner = [int(frame.wide(frame.env[each])[leader]) for each in coordinates]
        index = int(frame.wide(frame.env[at])[leader])
        tile = _Tile(frame, frame.env[map], frame.env[source], index, corner)
        if min(corner) < 0:
            # Loads may start before a tensor; a store or reduction is an illegal instruction then.
            raise frame.problem(
                "out of bounds",
                f"a TMA store to '{tile.map.name}' starts at {corner}: only loads may have "
                "negative "
                "coordinates",
            )
        tile.check_end(frame)
        granules = frame.block.shadow.spread(tile.addresses, tile.map.itemsize)
        _start_store(frame, op, leader, granules, lambda: tile.store(combine))

    return act


def _bulk(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, BulkOp)
    source, target = compiler.slot(op.src), compiler.slot(op.dst)
    at, to = compiler.slot(op.src_index), compiler.slot(op.dst_index)
    count = op.elements.value.data
    barrier_slots = None
    if isinstance(op, BulkLoadOp):
        barrier_slots = compiler.slot(op.barrier), compiler.slot(op.barrier_index)

    def act(frame: Frame) -> None:
        leader = frame.leader("a bulk copy")
        src, dst = frame.env[source], frame.env[target]
        first, destination = (int(frame.wide(frame.env[each])[leader]) for each in (at, to))
        _check_run(frame, src, first, count)
        _check_run(frame, dst, destination, count)
        shared, start = (src, first) if isinstance(src, SharedBuffer) else (dst, destination)
        size = shared.dtype.itemsize
        addresses = shared.address(start) + np.arange(count) * size

        def transfer() -> None:
            dst.data[destination : destination + count] = src.data[first : first + count]

        if barrier_slots is None:
            granules = frame.block.shadow.spread(addresses, size)
            _start_store(frame, op, leader, granules, transfer)
            return
        barrier = target_barrier(frame, barrier_slots[0], barrier_slots[1], leader)
        start_load(frame, op, barrier, leader, addresses, size, transfer)

    return act


def _check_run(frame: Frame, held: Any, first: int, count: int) -> None:
    if first < 0 or first + count > held.size:
        raise frame.problem(
            "out of bounds",
            f"bulk copy out of bounds: {held.name}[{first}] to [{first + count - 1}], "
            f"but '{held.name}' has {held.size} elements",
        )
    base = held.lead_bytes if isinstance(held, GlobalBuffer) else held.base
    size = held.data.dtype.itemsize
    if (base + first * size) % _STRIDE_BYTES or count * size % _STRIDE_BYTES:
        raise frame.problem(
            "misaligned", f"the bulk copy at {held.name}[{first}] is not a multiple of 16 bytes"
        )


def _prefetch_map(compiler: Compiler, op: Operation) -> Act:
    """Timing only: no effect on values."""
    return lambda frame: None


RULES: Mapping[str, Rule] = {
    "nv.tensormap": _tensor_map,
    "nv.prefetch_map": _prefetch_map,
    "nv.tma_load": _tma_load,
    "nv.tma_store": _tma_store,
    "nv.tma_reduce": _tma_store,
    "nv.bulk_load": _bulk,
    "nv.bulk_store": _bulk,
}
