"""Tensor memory, and the tensor core that computes in it (tcgen05).

What orders accesses is in `tensor_memory`; here are the ops. Addresses are followed from `alloc`
on: columns are allocated as in an execution. Lanes, allocations and values are checked by running
a kernel with data. In kernels with tensor memory, clocks are forwarded between the blocks of a
cluster: what the leading CTA's MMAs do in the other one's memory is checked, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.thread_sync.async_units import Operand, cells_of, matrix, of_leader
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.program import Act, Compiler, Rule
from tilewright.analysis.thread_sync.registers import end_loads, start_load
from tilewright.analysis.thread_sync.state import BlockState, Frame
from tilewright.analysis.thread_sync.sync import barrier_at
from tilewright.analysis.thread_sync.tensor_memory import (
    Accessor,
    Cells,
    TensorFaultKind,
    TensorNotes,
    TensorOrder,
)
from tilewright.analysis.thread_sync.thread_accesses import CODE
from tilewright.analysis.thread_sync.threads import address_of, root_of, span_of
from tilewright.analysis.thread_sync.values import Value
from tilewright.dialects.nv.tcgen05 import Tcgen05CommitOp, Tcgen05FenceOp, Tcgen05MmaOp
from tilewright.dialects.nv.tensor_memory import (
    Tcgen05AllocOp,
    Tcgen05CpOp,
    Tcgen05DeallocOp,
    Tcgen05LdOp,
    Tcgen05MoveOp,
    Tcgen05StOp,
)
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.layouts.hardware.swizzle import UNIT_BYTES
from tilewright.layouts.hardware.tcgen05 import (
    ADDRESS_LANE_SHIFT,
    COLUMNS,
    LANES,
    SCALE_ROWS,
    move_lanes,
    move_location,
    operand_lanes,
    result_columns,
    result_location,
)

_COLUMN_MASK = 0xFFFF
_STEP = 32
_REGISTER_BITS = 32
_KINDS: Mapping[TensorFaultKind, FaultKind] = {
    "race": FaultKind.RACE,
    "fence": FaultKind.FENCE,
    "in flight": FaultKind.IN_FLIGHT,
    "uninitialised": FaultKind.OUTSIDE,
}


class TensorState(TensorOrder):
    """The tensor memory of one block."""

    def __init__(self, block: BlockState) -> None:
        super().__init__(block.clocks, checks_values=False)
        self.slots: dict[SSAValue, int] = {}
        """Addresses that were written to shared memory, by its buffer."""
        self.owned = np.zeros(COLUMNS, np.bool_)

    @override
    def fail(
        self, kind: TensorFaultKind, message: str, op: Operation, notes: TensorNotes = ()
    ) -> NoReturn:
        raise FaultError(SyncFault(_KINDS[kind], op, message, tuple(notes)))


def state_of(block: BlockState) -> TensorState:
    found = block.tensor_memory
    if found is None:
        found = block.tensor_memory = TensorState(block)
    return found


def _split(address: int) -> tuple[int, int]:
    return address >> ADDRESS_LANE_SHIFT, address & _COLUMN_MASK


# -- allocation --------------------------------------------------------------------------------


def _alloc(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05AllocOp)
    region, span = span_of(compiler, op.slot)
    address = address_of(compiler, op.slot, [op.index])
    root, columns = root_of(op.slot), op.columns.value.data

    def act(frame: Frame) -> None:
        held = state_of(frame.block)
        free = [
            first
            for first in range(0, COLUMNS - columns + 1, _STEP)
            if not held.owned[first : first + columns].any()
        ]
        if not free:
            raise NotAnalysedError(op, "the kernel allocates tensor memory that it has to wait for")
        held.owned[free[0] : free[0] + columns] = True
        held.slots[root] = free[0]
        mask = frame.mask
        one = np.zeros(frame.count, np.bool_)
        one[0 if mask is None else int(np.argmax(mask))] = True
        frame.mask = one
        frame.access(op, "writes", region, span, address(frame), 4)
        frame.mask = mask

    return act


def _dealloc(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05DeallocOp)
    where, columns = compiler.slot(op.address), op.columns.value.data

    def act(frame: Frame) -> None:
        frame.flush()
        held, first = state_of(frame.block), frame.env[where]
        if first is None or frame.is_unsure:
            raise NotAnalysedError(op, "the address in tensor memory is a run-time value")
        start = frame.uniform(op, first, "the address") & _COLUMN_MASK
        warp = int(frame.active_warps[0])
        held.check_dealloc(
            held.accessor(op, warp), Cells.of_lanes(np.arange(LANES), start, columns)
        )
        held.owned[start : start + columns] = False

    return act


# -- moves -------------------------------------------------------------------------------------


def _move(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05MoveOp)
    where, buffer = compiler.slot(op.address), op.registers_buffer
    shape, lanes = op.shape.data, move_lanes(op.shape.data)
    halves = op.pack16 if isinstance(op, Tcgen05LdOp) else None
    if isinstance(op, Tcgen05StOp):
        halves = op.unpack16
    lane, register = np.indices((NVIDIA_WARP, op.registers))
    _, column = move_location(shape, lane, register)
    columns = (int(column.max()) + 1) * (1 if halves is None else 2)
    is_load = isinstance(op, Tcgen05LdOp)

    def act(frame: Frame) -> None:
        frame.flush()
        address = frame.env[where]
        if address is None or frame.is_unsure:
            raise NotAnalysedError(op, "the address in tensor memory is a run-time value")
        held = state_of(frame.block)
        for warp in frame.active_warps:
            at = int(np.argmax(frame.tids // frame.warp_size == warp))
            first, start = _split(address if isinstance(address, int) else int(address[at]))
            cells = _cells(op, np.arange(first, first + lanes), start, columns)
            by = held.accessor(op, int(warp))
            if is_load:
                held.load(by, cells)
            else:
                held.store(by, cells)
        if is_load:
            start_load(frame, buffer, op)

    return act


def _cells(op: Operation, lanes: Any, first: int, columns: int) -> Cells:
    if not 0 <= first <= COLUMNS - columns or int(lanes.max()) >= LANES:
        text = (
            f"{op.name} accesses columns {first} to {first + columns - 1} of tensor memory, which "
            f"has {COLUMNS} columns"
        )
        raise FaultError(SyncFault(FaultKind.OUTSIDE, op, text))
    return Cells.of_lanes(lanes, first, columns)


def _wait(kind: str) -> Callable[[Compiler, Operation], Act]:
    def make(compiler: Compiler, op: Operation) -> Act:
        def act(frame: Frame) -> None:
            frame.flush()
            for warp in frame.active_warps:
                state_of(frame.block).waited(kind, int(warp))
            if kind == "load":
                end_loads(frame)

        return act

    return make


# -- the tensor core ---------------------------------------------------------------------------


class _Issue:
    """An MMA or a copy while it is issued."""

    def __init__(self, frame: Frame, op: Operation, group: int, leader: int) -> None:
        frame.flush()
        self.frame, self.op, self.leader = frame, op, leader
        block = frame.block
        if block.rank + group > len(block.cluster):
            text = f"{op.name} of a pair is issued by rank {block.rank} of {len(block.cluster)}"
            raise FaultError(SyncFault(FaultKind.OUTSIDE, op, text))
        self.blocks = block.cluster[block.rank : block.rank + group]
        self.states = [state_of(each) for each in self.blocks]
        self.thread = int(frame.codes[leader])
        self.warp = self.thread // CODE
        held = self.states[0]
        held.mark_issue(held.accessor(op, self.warp))
        self.by = held.accessor(op, self.warp)
        self.times = [
            each.clocks.tick(state.agent)
            for each, state in zip(self.blocks, self.states, strict=True)
        ]
        for state, time in zip(self.states, self.times, strict=True):
            state.mark_time(self.thread, time, is_local=state is held)

    def reads_shared(
        self, side: Operand | None, shape: tuple[int, int], bits: int, k: bool
    ) -> None:
        start = None if side is None else of_leader(side.start, self.leader)
        if side is None or start is None or start % UNIT_BYTES:
            raise NotAnalysedError(self.op, "the address of an operand is a run-time value")
        for block, state, time in zip(self.blocks, self.states, self.times, strict=True):
            history = block.regions[side.region]
            cells = cells_of(side, start, shape, bits, k, history)
            access = self.frame.by_engine(self.op, side.region, side.span, cells, block)
            if access is None:
                continue
            clocks, rank = self.frame.clocks, self.frame.block.rank
            issuer = clocks.forwarded(clocks.of_warp(self.warp), rank, block.rank)
            thread = self.thread if block is self.frame.block else None
            history.read_by_engine(access, state.agent, time, issuer, thread)

    def parts(self) -> Iterator[tuple[TensorState, Accessor, int]]:
        """Of each block: its memory, its accessor, and when."""
        clocks, rank = self.frame.clocks, self.frame.block.rank
        for block, state, time in zip(self.blocks, self.states, self.times, strict=True):
            yield state, self.by.forwarded(clocks, rank, block.rank), time


def _leader(frame: Frame, op: Operation) -> int:
    """The position of the issuing thread."""
    if frame.is_unsure:
        raise NotAnalysedError(op, "whether this executes is a run-time value")
    leader = frame.leader()
    if leader is None:
        text = f"{frame.active_count} threads issue {op.name}, expected 1"
        raise FaultError(SyncFault(FaultKind.COUNT, op, text))
    return leader


def _mma(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05MmaOp)
    a, b, d = compiler.all_slots((op.a, op.b, op.d))
    scales = compiler.all_slots(op.scales)
    m, n, k = op.mnk
    group = op.group_size
    rows, columns = m // group, result_columns(m, n, group)
    assert isinstance(op.a_type, FixedBitwidthType) and isinstance(op.b_type, FixedBitwidthType)
    bits = op.a_type.bitwidth, op.b_type.bitwidth
    i, j = np.indices((m, n))
    cta, lane, _ = result_location(m, n, group, i, j)
    d_lanes = [np.unique(lane[cta == each]) for each in range(group)]
    a_lanes = operand_lanes(m, group, np.arange(rows))
    if columns != n:
        a_lanes = np.concatenate([a_lanes, a_lanes + LANES // 2])

    def address(frame: Frame, slot: int, leader: int) -> tuple[int, int]:
        found: Value = of_leader(frame.env[slot], leader)
        if found is None:
            raise NotAnalysedError(op, "the address in tensor memory is a run-time value")
        return _split(found)

    def act(frame: Frame) -> None:
        leader = _leader(frame, op)
        issue = _Issue(frame, op, group, leader)
        if not op.a_in_tensor_memory:
            issue.reads_shared(frame.env[a], (rows, k), bits[0], op.transposed_a is None)
        issue.reads_shared(frame.env[b], (n // group, k), bits[1], op.transposed_b is None)
        d_lane, d_column = address(frame, d, leader)
        for rank, (state, by, time) in enumerate(issue.parts()):
            if op.a_in_tensor_memory:
                a_lane, a_column = address(frame, a, leader)
                cells = _cells(op, a_lanes + a_lane, a_column, k * bits[0] // _REGISTER_BITS)
                state.core_reads(by, cells, time, "")
            for slot, extent in zip(scales, (rows, n), strict=False):
                _, column = address(frame, slot, leader)
                cells = _cells(op, np.arange(LANES), column, -(-extent // SCALE_ROWS))
                state.core_reads(by, cells, time, "")
            cells = _cells(op, d_lanes[rank] + d_lane, d_column, columns)
            state.core_writes(by, cells, time)

    return act


def _cp(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05CpOp)
    source, target = compiler.slot(op.src), compiler.slot(op.address)
    rows, columns = op.extent
    group = op.group.value.data

    def act(frame: Frame) -> None:
        leader = _leader(frame, op)
        address = of_leader(frame.env[target], leader)
        if address is None:
            raise NotAnalysedError(op, "the address in tensor memory is a run-time value")
        issue = _Issue(frame, op, group, leader)
        issue.reads_shared(frame.env[source], (rows, columns), _REGISTER_BITS, True)
        for state, by, time in issue.parts():
            cells = _cells(op, np.arange(LANES), address & _COLUMN_MASK, columns)
            state.core_writes(by, cells, time)

    return act


def _commit(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05CommitOp)
    at, buffer = compiler.slot(op.index), op.barrier
    receivers = None if op.multicast is None else compiler.slot(op.multicast)
    group = op.group.value.data

    def act(frame: Frame) -> None:
        leader = _leader(frame, op)
        index = of_leader(frame.env[at], leader)
        if index is None:
            raise NotAnalysedError(op, "the barrier index is a run-time value")
        frame.flush()
        mask = None if receivers is None else of_leader(frame.env[receivers], leader)
        thread, clocks, own = int(frame.codes[leader]), frame.clocks, frame.block
        signal = clocks.of_warp(thread // CODE)
        for block in own.cluster[own.rank : own.rank + group]:
            agent, time = state_of(block).issued(thread, is_local=block is own)
            agent += 0 if block is own else clocks.foreign(own.rank, block.rank)
            signal.observed[agent] = max(int(signal.observed[agent]), time)
        for block in _receivers(frame, mask):
            barrier = barrier_at(frame, op, buffer, index, block)
            barrier.add_signal(clocks.forwarded(signal, own.rank, block.rank))
            barrier.arrive_by(op, 1)

    return act


def _receivers(frame: Frame, mask: Value) -> Sequence[BlockState]:
    """The blocks at whose barriers a commit arrives."""
    if mask is None:
        return [frame.block]
    return [block for rank, block in enumerate(frame.block.cluster) if mask >> rank & 1]


def _fence(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05FenceOp)
    is_before = op.side.data == "before"

    def act(frame: Frame) -> None:
        frame.flush()
        held = state_of(frame.block)
        if is_before:
            held.fence_before(frame.active_warps)
        else:
            held.fence_after(frame.active_warps)

    return act


def _plain(make: Callable[[Compiler, Operation], Act]) -> Rule:
    return Rule(lambda op: (), make)


def _values(*names: str) -> Callable[[Operation], Sequence[SSAValue]]:
    """The operands of an op that its rule looks at."""

    def uses(op: Operation) -> Sequence[SSAValue]:
        found: list[SSAValue] = []
        for name in names:
            operand = getattr(op, name)
            if isinstance(operand, SSAValue):
                found.append(operand)
            elif operand is not None:
                found.extend(operand)
        return found

    return uses


RULES: Mapping[str, Rule] = {
    "nv.tcgen05.alloc": Rule(_values("index"), _alloc),
    "nv.tcgen05.dealloc": Rule(_values("address"), _dealloc),
    "nv.tcgen05.ld": Rule(_values("address"), _move),
    "nv.tcgen05.st": Rule(_values("address"), _move),
    "nv.tcgen05.wait_ld": _plain(_wait("load")),
    "nv.tcgen05.wait_st": _plain(_wait("store")),
    "nv.tcgen05.matrix": Rule(lambda op: op.operands[1:], matrix, lambda op: False),
    "nv.tcgen05.mma": Rule(_values("a", "b", "d", "scales"), _mma),
    "nv.tcgen05.cp": Rule(_values("src", "address"), _cp),
    "nv.tcgen05.commit": Rule(_values("index", "multicast"), _commit),
    "nv.tcgen05.fence": _plain(_fence),
}
