"""When each buffer of a function is in use, why, and why two of them cannot share bytes.

A buffer is *held* at a point where it is touched, where it may hold a value that some way from
there on still reads, and where an engine may still be at work on it. This leaves holes: between
the last read of a value and the next write the bytes are free, whoever allocated them and however
long the allocation stays in scope. Two buffers that are never held at one point may share.

``ttg.warp_specialize`` is the exception, as its regions have no common order: a buffer touched in
two of them is held throughout, and buffers of different regions never share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.buffer_liveness.facts import (
    AllocationOp,
    Engine,
    InvalBarrierOp,
    barriers_of,
    touches,
)
from tilewright.analysis.buffer_liveness.flow import Flow, Partition
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
"""Half-open stretches of points, in ascending order."""


@dataclass(frozen=True)
class Held:
    """Why a buffer is in use at a point: a text with ``{}`` for each of the ops it names."""

    text: str
    ops: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Conflict:
    """Why two buffers cannot share: where, and what each of them is needed for there."""

    first: AllocationOp
    second: AllocationOp
    at: Operation
    reasons: tuple[Held, Held]


@dataclass(frozen=True)
class LiveBuffer:
    """One allocation. `partition` is set where all touches inside a ``warp_specialize`` are in it.

    `is_barrier` allocations hold mbarriers: hardware keeps looking at them between ops.
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
        self._bit = {op: 1 << number for number, op in enumerate(self.allocations)}
        size = len(self.flow)
        self._reads = [0] * size
        self._writes = [0] * size
        self._fills = [0] * size
        self._ends = [0] * size
        self._escaped = 0
        self._barriers = 0
        self._invalidated: dict[AllocationOp, set[int]] = {}
        for number, point in enumerate(self.flow.points):
            if not point.is_exit:
                self._note(number, point.op)
        self.pending = PendingWork(self.flow, roots)
        self._readable = self._backward()
        self._written = self._forward()
        self._held = [self._held_at(number) for number in range(size)]
        for op in self.allocations:
            if self._bit[op] & self._barriers and not self._is_invalidated(op):
                self._held = [held | self._bit[op] for held in self._held]
        self._partitions = {op: self._touched_in(op) for op in self.allocations}
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

    def _note(self, number: int, op: Operation) -> None:
        for touch in touches(op):
            mask = self._mask(self._roots.of(touch.value))
            if touch.reads:
                self._reads[number] |= mask
            if touch.writes:
                self._writes[number] |= mask
            is_certain = self._roots.single(touch.value) is not None
            if touch.fills and not touch.reads and is_certain and shows_all(touch.value):
                self._fills[number] |= mask
            if touch.engine is Engine.UNKNOWN:
                self._escaped |= mask
        for barrier in barriers_of(op):
            self._note_barrier(number, op, barrier)
        if isinstance(op, LocalDeallocOp) and self._roots.single(op.src) is not None:
            self._ends[number] |= self._mask(self._roots.of(op.src))
        if op.get_trait(CallLike) is not None or op.name == "tt.return":
            for operand in op.operands:
                if isinstance(operand.type, MemDescType):
                    self._escaped |= self._mask(self._roots.of(operand))

    def _note_barrier(self, number: int, op: Operation, barrier: SSAValue) -> None:
        """A barrier is written when it is made and looked at by everything else."""
        mask = self._mask(self._roots.of(barrier))
        self._barriers |= mask
        is_made = isinstance(op, InitBarrierOp)
        self._writes[number] |= mask
        self._reads[number] |= 0 if is_made else mask
        slot = slot_of(barrier, self._roots)
        if slot is None:
            self._escaped |= mask
        elif slot.count == 1:
            self._fills[number] |= mask if is_made else 0
        if isinstance(op, InvalBarrierOp) and slot is not None and isinstance(slot.index, int):
            self._invalidated.setdefault(slot.root, set()).add(slot.index)
            self._ends[number] |= mask if slot.count == 1 else 0

    def _is_invalidated(self, op: AllocationOp) -> bool:
        """Whether all barriers of an array come to an end that the text shows."""
        return len(self._invalidated.get(op, ())) == Slot(op, None).count

    # -- values ----------------------------------------------------------------------------------

    def _backward(self) -> list[int]:
        """Buffers whose value, as it is in front of a point, may still be read."""
        flow = self.flow
        before = [0] * len(flow)
        changed = True
        while changed:
            changed = False
            for number in range(len(flow) - 1, -1, -1):
                after = 0
                for target in flow.successors[number]:
                    after |= before[target]
                gone = self._fills[number] | self._ends[number]
                value = (after & ~gone) | self._reads[number]
                if value != before[number]:
                    before[number] = value
                    changed = True
        return before

    def _forward(self) -> list[int]:
        """Buffers that may hold a value in front of a point."""
        flow = self.flow
        before = [0] * len(flow)
        changed = True
        while changed:
            changed = False
            for number in range(len(flow)):
                value = 0
                for source in flow.predecessors[number]:
                    value |= (before[source] | self._writes[source]) & ~self._ends[source]
                if value != before[number]:
                    before[number] = value
                    changed = True
        return before

    def _held_at(self, number: int) -> int:
        mask = self._reads[number] | self._writes[number]
        mask |= self._readable[number] & self._written[number]
        for root, _ in self.pending.before[number]:
            mask |= self._bit.get(root, 0)
        return mask

    # -- partitions ------------------------------------------------------------------------------

    def _touched_in(self, op: AllocationOp) -> dict[WarpSpecializeOp, set[int]]:
        found: dict[WarpSpecializeOp, set[int]] = {}
        bit = self._bit[op]
        for number, point in enumerate(self.flow.points):
            if (self._reads[number] | self._writes[number]) & bit:
                partition = self.flow.partition_of(point.op)
                if partition is not None:
                    found.setdefault(partition.op, set()).add(partition.number)
        return found

    def _hold_across_partitions(self) -> None:
        for op, touched in self._partitions.items():
            for specialized, numbers in touched.items():
                if len(numbers) > 1 or len(touched) > 1:
                    for number in self.flow.inside(specialized):
                        self._held[number] |= self._bit[op]

    def _only_partition(self, op: AllocationOp) -> Partition | None:
        touched = self._partitions[op]
        if len(touched) != 1:
            return None
        specialized, numbers = next(iter(touched.items()))
        return Partition(specialized, min(numbers)) if len(numbers) == 1 else None

    # -- answers ---------------------------------------------------------------------------------

    def _spans(self, bit: int) -> Iterator[tuple[int, int]]:
        start: int | None = None
        for number, held in enumerate(self._held):
            if held & bit and start is None:
                start = number
            elif not held & bit and start is not None:
                yield start, number
                start = None
        if start is not None:
            yield start, len(self._held)

    def conflict(self, first: AllocationOp, second: AllocationOp) -> Conflict | None:
        """Why the two cannot share; None where they can."""
        both = self._bit[first] | self._bit[second]
        for number, held in enumerate(self._held):
            if held & both == both:
                reasons = self._why(first, number), self._why(second, number)
                return Conflict(first, second, self.flow.points[number].op, reasons)
        one, two = self._only_partition(first), self._only_partition(second)
        if one is not None and two is not None and one.op is two.op and one != two:
            reasons = (
                Held(f"used in {one} of {{}}", (one.op,)),
                Held(f"used in {two} of {{}}, which runs at the same time", (two.op,)),
            )
            return Conflict(first, second, one.op, reasons)
        return None

    def _why(self, op: AllocationOp, number: int) -> Held:
        bit = self._bit[op]
        point = self.flow.points[number].op
        if (self._reads[number] | self._writes[number]) & bit:
            return Held("used by {}", (point,))
        for specialized, numbers in self._partitions[op].items():
            is_whole = len(numbers) > 1 or len(self._partitions[op]) > 1
            if is_whole and number in self.flow.inside(specialized):
                return Held(f"used in {len(numbers)} regions of {{}}", (specialized,))
        if self._readable[number] & self._written[number] & bit:
            return self._why_value(bit, number)
        source = next(source for root, source in self.pending.before[number] if root is op)
        return Held("in the hands of {}, which may not be over", (source,))

    def _why_value(self, bit: int, number: int) -> Held:
        writes = [n for n in range(len(self._held)) if self._writes[n] & bit]
        reads = [n for n in range(len(self._held)) if self._reads[n] & bit]
        write = max((n for n in writes if n <= number), default=writes[0])
        ahead = [n for n in reads if n >= number]
        read, turn = (ahead[0], "") if ahead else (reads[0], ", next time around the loop")
        points = self.flow.points
        return Held(f"written by {{}}, read by {{}}{turn}", (points[write].op, points[read].op))


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
