"""Allocation of tensor memory, and moves between it and registers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.tensor_memory import Cells
from tilewright.dialects.nv.tensor_memory import (
    Tcgen05AllocOp,
    Tcgen05DeallocOp,
    Tcgen05LdOp,
    Tcgen05MoveOp,
    Tcgen05StOp,
)
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.layouts.hardware.tcgen05 import (
    ADDRESS_LANE_SHIFT,
    LANES,
    QUARTER,
    move_lanes,
    move_location,
)
from tilewright.targets.numpy.simt.machine import Pending, Wait
from tilewright.targets.numpy.simt.problems import Note
from tilewright.targets.numpy.simt.program import Act, Blocking, Compiler, Rule, Steps
from tilewright.targets.numpy.simt.state import Frame
from tilewright.targets.numpy.simt.tensor_memory import TensorMemory

_COLUMN_MASK = 0xFFFF
_LOW_HALF = np.uint32(0xFFFF)


def memory_of(frame: Frame) -> TensorMemory:
    found = frame.block.tensor_memory
    if found is None:
        raise frame.problem("tensor memory", "the kernel has not allocated tensor memory")
    return found


def _one_warp(frame: Frame, what: str) -> int:
    warps = frame.whole_warps(what)
    if len(warps) != 1:
        raise frame.problem(
            "divergent", f"{what} must be executed by one warp, but {len(warps)} warps reach it"
        )
    return int(warps[0])


# -- allocation --------------------------------------------------------------------------------


def _alloc(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, Tcgen05AllocOp)
    where, at = compiler.slot(op.slot), compiler.slot(op.index)
    columns = op.columns.value.data

    def process(frame: Frame) -> Steps:
        _one_warp(frame, "nv.tcgen05.alloc")
        held = memory_of(frame)
        if held.relinquished is not None:
            raise frame.problem(
                "tensor memory",
                "nv.tcgen05.alloc after the block has relinquished its right to allocate",
                [Note("relinquished here", held.relinquished)],
            )
        yield Wait(
            f"{columns} free columns of tensor memory",
            lambda: held.free_column(columns) is not None,
            lambda: f"allocated: {_allocated(held)}",
            held,
            op,
        )
        frame.op = op
        first = held.free_column(columns)
        assert first is not None
        held.allocate(first, columns, op)
        address = np.full((frame.count, 1), first, np.int32)
        frame.env[where].write(frame, frame.env[at], address)

    return Blocking(process)


def _allocated(held: TensorMemory) -> str:
    spans = [f"{first} to {first + n - 1}" for first, (n, _) in sorted(held.allocations.items())]
    return ", ".join(spans) or "nothing"


def _dealloc(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05DeallocOp)
    where, columns = compiler.slot(op.address), op.columns.value.data

    def act(frame: Frame) -> None:
        warp = _one_warp(frame, "nv.tcgen05.dealloc")
        held = memory_of(frame)
        first = frame.uniform(frame.env[where], "the address")
        found = held.allocations.get(first)
        if found is None or found[0] != columns:
            raise frame.problem(
                "tensor memory",
                f"nv.tcgen05.dealloc of {columns} columns from column {first & _COLUMN_MASK} on: "
                f"no allocation is there; allocated: {_allocated(held)}",
            )
        if frame.block.options.checked:
            cells = Cells.of_lanes(np.arange(LANES), first, columns)
            held.check_dealloc(held.accessor(op, warp), cells)
        held.free(first)

    return act


def _relinquish(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        _one_warp(frame, "nv.tcgen05.relinquish")
        memory_of(frame).relinquished = op

    return act


# -- moves -------------------------------------------------------------------------------------


class _Move:
    """One `nv.tcgen05.ld` or `nv.tcgen05.st` in the code."""

    def __init__(self, compiler: Compiler, op: Tcgen05MoveOp) -> None:
        self.op = op
        self.address = compiler.slot(op.address)
        self.buffer = compiler.slot(op.registers_buffer)
        self.index = compiler.slot(op.registers_index)
        self.elements = op.elements
        shape = op.shape.data
        self.lanes = move_lanes(shape)
        halves = op.pack16 if isinstance(op, Tcgen05LdOp) else None
        if isinstance(op, Tcgen05StOp):
            halves = op.unpack16
        self.halves = halves is not None
        lane, register = np.indices((NVIDIA_WARP, op.registers))
        self.lane, self.column = move_location(shape, lane, register)
        if self.halves:  # a register covers two columns
            self.column = 2 * self.column
        self.columns = int(self.column.max()) + (2 if self.halves else 1)

    def by_warp(self, frame: Frame) -> list[tuple[int, int, int]]:
        """Each warp, the first lane and the first column of its move."""
        found: list[tuple[int, int, int]] = []
        name = self.op.name
        addresses = frame.wide(frame.env[self.address])
        for warp in frame.whole_warps(name):
            own = addresses[frame.tids // NVIDIA_WARP == warp]
            if (own != own[0]).any():
                raise frame.problem(
                    "divergent", f"threads of warp {warp} have different addresses of {name}"
                )
            lane, column = int(own[0]) >> ADDRESS_LANE_SHIFT, int(own[0]) & _COLUMN_MASK
            quarter = int(warp) % 4 * QUARTER
            allowed = range(quarter, quarter + QUARTER, self.lanes)
            if lane not in allowed:
                raise frame.problem(
                    "tensor memory",
                    f"{name} of warp {warp} starts at lane {lane} of tensor memory, but the warp "
                    f"has access to lanes {quarter} to {quarter + QUARTER - 1} only: its address "
                    f"must name lane {' or '.join(map(str, allowed))}",
                )
            found.append((int(warp), lane, column))
        return found

    def cells(self, lane: int, column: int) -> Cells:
        return Cells.of_lanes(np.arange(lane, lane + self.lanes), column, self.columns)

    def rows(self, warp: int) -> slice:
        return slice(warp * NVIDIA_WARP, (warp + 1) * NVIDIA_WARP)

    def start(self, frame: Frame, held: Any) -> int:
        index = frame.uniform(frame.env[self.index], "the register index")
        if not 0 <= index <= held.size - self.elements:
            raise frame.problem(
                "out of bounds",
                f"{self.op.name} out of bounds: {held.name}[{index}] to "
                f"[{index + self.elements - 1}], but '{held.name}' has {held.size} registers",
            )
        return index

    def from_memory(self, values32: Any, lane: int, column: int) -> Any:
        """What the registers get: [lanes, registers]."""
        at = self.lane + lane, self.column + column
        if not self.halves:
            return values32[at]
        return (values32[at] & _LOW_HALF) | (values32[at[0], at[1] + 1] << np.uint32(16))

    def to_memory(self, values32: Any, lane: int, column: int, values: Any) -> None:
        at = self.lane + lane, self.column + column
        if not self.halves:
            values32[at] = values
            return
        values32[at] = values & _LOW_HALF
        values32[at[0], at[1] + 1] = values >> np.uint32(16)


def _ld(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05LdOp)
    move = _Move(compiler, op)

    def act(frame: Frame) -> None:
        memory, held = memory_of(frame), frame.env[move.buffer]
        start = move.start(frame, held)
        held.fragment(frame, np.int64(start), move.elements, writes=True)
        for warp, lane, column in move.by_warp(frame):
            cells = move.cells(lane, column)
            memory.check_allocated(op, cells, "tcgen05.ld reads")
            if frame.block.options.checked:
                memory.load(memory.accessor(op, warp), cells)
            _start_load(frame, move, memory, (warp, lane, column), held, start)

    return act


def _start_load(
    frame: Frame,
    move: _Move,
    memory: TensorMemory,
    location: tuple[int, int, int],
    held: Any,
    start: int,
) -> None:
    warp, lane, column = location
    rows, columns = move.rows(warp), slice(start, start + move.elements)
    held.loading[rows, columns] = True

    def finish() -> None:
        values = np.ascontiguousarray(move.from_memory(memory.contents, lane, column))
        held.data[rows, columns] = values.view(held.data.dtype)

    def landed() -> None:
        held.loading[rows, columns] = False

    _issue(frame, memory, "load", warp, Pending("tcgen05.ld", finish, move.op, landed=landed))


def _st(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, Tcgen05StOp)
    move = _Move(compiler, op)

    def act(frame: Frame) -> None:
        memory, held = memory_of(frame), frame.env[move.buffer]
        start = move.start(frame, held)
        held.fragment(frame, np.int64(start), move.elements)
        for warp, lane, column in move.by_warp(frame):
            cells = move.cells(lane, column)
            memory.check_allocated(op, cells, "tcgen05.st writes")
            if frame.block.options.checked:
                memory.store(memory.accessor(op, warp), cells)
            values = held.data[move.rows(warp), start : start + move.elements]
            values32 = np.ascontiguousarray(values).view(np.uint32)

            def finish(values32: Any = values32, lane: int = lane, column: int = column) -> None:
                move.to_memory(memory.contents, lane, column, values32)

            _issue(frame, memory, "store", warp, Pending("tcgen05.st", finish, op))

    return act


def _issue(frame: Frame, memory: TensorMemory, kind: str, warp: int, operation: Pending) -> None:
    operation.task = frame.name
    frame.block.machine.issue(f"tensor memory {kind}s", operation)
    memory.pending.setdefault((kind, warp), []).append(operation)


def _wait(kind: str) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Blocking:
        def process(frame: Frame) -> Steps:
            memory = memory_of(frame)
            warps = [int(each) for each in frame.whole_warps(op.name)]
            waiting = [each for warp in warps for each in memory.pending.pop((kind, warp), [])]
            yield Wait(
                f"{kind}s of tensor memory",
                lambda: all(each.is_done for each in waiting),
                lambda: "",
                memory,
                op,
            )
            frame.op = op
            for each in waiting:
                if each.landed is not None:
                    each.landed()
            for warp in warps:
                memory.waited(kind, warp)

        return Blocking(process)

    return rule


RULES: Mapping[str, Rule] = {
    "nv.tcgen05.alloc": _alloc,
    "nv.tcgen05.dealloc": _dealloc,
    "nv.tcgen05.relinquish": _relinquish,
    "nv.tcgen05.ld": _ld,
    "nv.tcgen05.st": _st,
    "nv.tcgen05.wait_ld": _wait("load"),
    "nv.tcgen05.wait_st": _wait("store"),
}
