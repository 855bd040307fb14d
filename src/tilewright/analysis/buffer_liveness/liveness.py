"""Live ranges of the buffers of a function, their causes, and why two of them cannot overlap.

A buffer is *held* at a point where it is accessed, where it may hold a value that some path from
there on still reads, and where an asynchronous operation on it may be in flight. This leaves holes:
between the last read of a value and the next write the bytes are free, however long the allocation
stays in scope. Two buffers that are never held at one point may overlap.

``ttg.warp_specialize`` is the exception, as its regions are unordered: a buffer accessed in two of
them is held throughout, and buffers of different regions never overlap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.buffer_liveness.flow import Flow, Partition
from tilewright.analysis.buffer_liveness.op_effects import (
    AllocationOp,
    Engine,
    InvalBarrierOp,
    barriers_of,
    operand_effects,
)
from tilewright.analysis.buffer_liveness.pending import PendingWork
from tilewright.analysis.buffer_liveness.roots import BufferRoots, Slot, shows_all, slot_of
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.ttg.memory import LocalDeallocOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.warps import WarpSpecializeOp
from tilewright.dialects.ttng import InitBarrierOp
from tilewright.ir.interfaces import CallLike
from tilewright.ir.traversal import walk

Spans = tuple[tuple[int, int], ...]
"""Half-open ranges of points, in ascending order."""


@dataclass(frozen=True)
class Held:
    """Why a buffer is live at a point: a text with ``{}`` for each of the ops it names."""

    text: str
    ops: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """Why two buffers cannot overlap: a point, and why each of them is live there."""

    first: AllocationOp
    second: AllocationOp
    at: Operation
    reasons: tuple[Held, Held]


@dataclass(frozen=True)
class LiveBuffer:
    """One allocation. `partition` is set where all accesses inside a ``warp_specialize`` are in it.

    `is_barrier` allocations hold mbarriers: hardware accesses them between ops.
    """

    op: AllocationOp
    spans: Spans
    partition: Partition | None = None
    is_barrier: bool = False
    escapes: bool = False


class FunctionLiveness:
    """The buffers of one function over its points."""

    def __init__(self, function: Operation, roots: BufferRoots) -> None:
        self.flow = Flow(function)
        self._roots = roots
        self.allocations = [op for op in self.flow.enter if isinstance(op, AllocationOp)]
        self._bit = {op: 1 << index for index, op in enumerate(self.allocations)}
        size = len(self.flow)
        self._reads = [0] * size
        self._writes = [0] * size
        self._fills = [0] * size
        self._ends = [0] * size
        self._escaped = 0
        self._barriers = 0
        self._invalidated: dict[AllocationOp, set[int]] = {}
        for index, point in enumerate(self.flow.points):
            if not point.is_exit:
                self._note(index, point.op)
        self.pending = PendingWork(self.flow, roots)
        self._readable = self._backward()
        self._written = self._forward()
        self._held = [self._held_at(index) for index in range(size)]
        for op in self.allocations:
            if self._bit[op] & self._barriers and not self._is_invalidated(op):
                self._held = [held | self._bit[op] for held in self._held]
        self._partitions = {op: self._accessed_in(op) for op in self.allocations}
        self._hold_across_partitions()

    @cached_property
    def buffers(self) -> tuple[LiveBuffer, ...]:
        """Every allocation with its spans, in textual order."""
        return tuple(
            LiveBuffer(
                op,
                tuple(self._spans(self._bit[op])),
                self._only_partition(op),
                bool(self._barriers & self._bit[op]),
                bool(self._escaped & self._bit[op]),
            )
            for op in self.allocations
        )

    # -- what ops do -----------------------------------------------------------------------------

    def _mask(self, roots: frozenset[AllocationOp | None]) -> int:
        mask = 0
        for root in roots:
            if root is not None:
                mask |= self._bit.get(root, 0)
        return mask

    def _note(self, index: int, op: Operation) -> None:
        for effect in operand_effects(op):
            mask = self._mask(self._roots.of(effect.value))
            if effect.reads:
                self._reads[index] |= mask
            if effect.writes:
                self._writes[index] |= mask
            is_certain = self._roots.single(effect.value) is not None
            if effect.fills and not effect.reads and is_certain and shows_all(effect.value):
                self._fills[index] |= mask
            if effect.engine is Engine.UNKNOWN:
                self._escaped |= mask
        for barrier in barriers_of(op):
            self._note_barrier(index, op, barrier)
        if isinstance(op, LocalDeallocOp) and self._roots.single(op.src) is not None:
            self._ends[index] |= self._mask(self._roots.of(op.src))
        if op.get_trait(CallLike) is not None or op.name == "tt.return":
            for operand in op.operands:
                if isinstance(operand.type, MemDescType):
                    self._escaped |= self._mask(self._roots.of(operand))

    def _note_barrier(self, index: int, op: Operation, barrier: SSAValue) -> None:
        """A barrier is written by its initialisation and read by all other uses."""
        mask = self._mask(self._roots.of(barrier))
        self._barriers |= mask
        is_made = isinstance(op, InitBarrierOp)
        self._writes[index] |= mask
        self._reads[index] |= 0 if is_made else mask
        slot = slot_of(barrier, self._roots)
        if slot is None:
            self._escaped |= mask
        elif slot.count == 1:
            self._fills[index] |= mask if is_made else 0
        if isinstance(op, InvalBarrierOp) and slot is not None and isinstance(slot.index, int):
            self._invalidated.setdefault(slot.root, set()).add(slot.index)
            self._ends[index] |= mask if slot.count == 1 else 0

    def _is_invalidated(self, op: AllocationOp) -> bool:
        """Whether all barriers of an array are invalidated by visible ops."""
        return len(self._invalidated.get(op, ())) == Slot(op, None).count

    # -- values ----------------------------------------------------------------------------------

    def _backward(self) -> list[int]:
        """Buffers whose value before a point may still be read."""
        flow = self.flow
        before = [0] * len(flow)
        changed = True
        while changed:
            changed = False
            for index in range(len(flow) - 1, -1, -1):
                after = 0
                for target in flow.successors[index]:
                    after |= before[target]
                gone = self._fills[index] | self._ends[index]
                value = (after & ~gone) | self._reads[index]
                if value != before[index]:
                    before[index] = value
                    changed = True
        return before

    def _forward(self) -> list[int]:
        """Buffers that may hold a value before a point."""
        flow = self.flow
        before = [0] * len(flow)
        changed = True
        while changed:
            changed = False
            for index in range(len(flow)):
                value = 0
                for source in flow.predecessors[index]:
                    value |= (before[source] | self._writes[source]) & ~self._ends[source]
                if value != before[index]:
                    before[index] = value
                    changed = True
        return before

    def _held_at(self, index: int) -> int:
        mask = self._reads[index] | self._writes[index]
        mask |= self._readable[index] & self._written[index]
        for root, _ in self.pending.before[index]:
            mask |= self._bit.get(root, 0)
        return mask

    # -- partitions ------------------------------------------------------------------------------

    def _accessed_in(self, op: AllocationOp) -> dict[WarpSpecializeOp, set[int]]:
        found: dict[WarpSpecializeOp, set[int]] = {}
        bit = self._bit[op]
        for index, point in enumerate(self.flow.points):
            if (self._reads[index] | self._writes[index]) & bit:
                partition = self.flow.partition_of(point.op)
                if partition is not None:
                    found.setdefault(partition.op, set()).add(partition.index)
        return found

    def _hold_across_partitions(self) -> None:
        for op, accessed in self._partitions.items():
            for specialized, indices in accessed.items():
                if len(indices) > 1 or len(accessed) > 1:
                    for index in self.flow.inside(specialized):
                        self._held[index] |= self._bit[op]

    def _only_partition(self, op: AllocationOp) -> Partition | None:
        accessed = self._partitions[op]
        if len(accessed) != 1:
            return None
        specialized, indices = next(iter(accessed.items()))
        return Partition(specialized, min(indices)) if len(indices) == 1 else None

    # -- queries ---------------------------------------------------------------------------------

    def _spans(self, bit: int) -> Iterator[tuple[int, int]]:
        start: int | None = None
        for index, held in enumerate(self._held):
            if held & bit and start is None:
                start = index
            elif not held & bit and start is not None:
                yield start, index
                start = None
        if start is not None:
            yield start, len(self._held)

    def conflict(self, first: AllocationOp, second: AllocationOp) -> Conflict | None:
        """Why the two cannot overlap; None where they can."""
        both = self._bit[first] | self._bit[second]
        for index, held in enumerate(self._held):
            if held & both == both:
                reasons = self._why(first, index), self._why(second, index)
                return Conflict(first, second, self.flow.points[index].op, reasons)
        one, two = self._only_partition(first), self._only_partition(second)
        if one is not None and two is not None and one.op is two.op and one != two:
            reasons = (
                Held(f"used in {one} of {{}}", (one.op,)),
                Held(f"used in {two} of {{}}, which runs concurrently", (two.op,)),
            )
            return Conflict(first, second, one.op, reasons)
        return None

    def _why(self, op: AllocationOp, index: int) -> Held:
        bit = self._bit[op]
        point = self.flow.points[index].op
        if (self._reads[index] | self._writes[index]) & bit:
            return Held("used by {}", (point,))
        for specialized, indices in self._partitions[op].items():
            is_whole = len(indices) > 1 or len(self._partitions[op]) > 1
            if is_whole and index in self.flow.inside(specialized):
                return Held(f"used in {len(indices)} regions of {{}}", (specialized,))
        if self._readable[index] & self._written[index] & bit:
            return self._why_value(bit, index)
        source = next(source for root, source in self.pending.before[index] if root is op)
        return Held("accessed by {}, which may still be in flight", (source,))

    def _why_value(self, bit: int, index: int) -> Held:
        writes = [n for n in range(len(self._held)) if self._writes[n] & bit]
        reads = [n for n in range(len(self._held)) if self._reads[n] & bit]
        write = max((n for n in writes if n <= index), default=writes[0])
        ahead = [n for n in reads if n >= index]
        read, around = (ahead[0], "") if ahead else (reads[0], ", next time around the loop")
        points = self.flow.points
        return Held(f"written by {{}}, read by {{}}{around}", (points[write].op, points[read].op))


class BufferLiveness:
    """The liveness of every function of a module."""

    def __init__(self, module: ModuleOp) -> None:
        roots = BufferRoots(module)
        self.roots = roots
        self.functions = {
            op: FunctionLiveness(op, roots)
            for op in walk(module)
            if isinstance(op, FuncOp) and not op.is_declaration
        }
