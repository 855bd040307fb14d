"""The buffers of a function as a problem for the planner.

Every ``ttg.local_alloc`` and ``ttng.tmem_alloc`` becomes a block: bytes of shared memory or columns
of tensor memory, the strictest alignment of everything the buffer is seen as, and the spans in
which it is held. What may not be moved, or cannot be seen through a view, is a block as well, held
always and with the reason noted, so that totals are totals.

Barriers are never merged: hardware looks at them between ops, and an mbarrier whose bytes were
overwritten is not one any more. They stay allocations of their own, of 8 bytes each, beside all
data; the bytes of one that was invalidated may become another barrier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import BlockArgument, Operation, Region
from xdsl.traits import IsolatedFromAbove

from tilewright.analysis.buffer_liveness import (
    AllocationOp,
    BufferLiveness,
    Conflict,
    FunctionLiveness,
    LiveBuffer,
)
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.shared import PaddedSharedEncoding, PartitionedSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.ir.traversal import walk
from tilewright.memory import Memory, Target, UnitError
from tilewright.memory.planner import (
    ALWAYS,
    Apart,
    AsyncRegion,
    Block,
    Effort,
    Plan,
    Problem,
    Space,
    plan_problem,
)
from tilewright.memory.targets import TMEM_ALLOCATION_GRANULE, TMEM_COLUMN_BITS
from tilewright.passes.tlx.storage_alias.buffers import demand_of, memory_of, span_bits, unit_of
from tilewright.passes.tlx.storage_alias.carriers import reachable, views_of
from tilewright.passes.tlx.storage_alias.collect import Names, source_of

_BYTE = 8
BARRIER_ALIGNMENT = 8
"""PTX, "mbarrier": an object of 64 bits, aligned to 8 bytes."""


@dataclass(frozen=True)
class Candidate:
    """One candidate allocation of the planner. `fixed_because` is why it is not moved."""

    buffer: LiveBuffer
    name: str
    source: str
    memory: Memory
    size: int
    align: int
    fixed_because: str = ""
    region: AsyncRegion | None = None

    @property
    def op(self) -> AllocationOp:
        return self.buffer.op

    @property
    def block(self) -> Block:
        """The block of the planner's problem."""
        is_fixed = bool(self.fixed_because) and not self.buffer.is_barrier
        live = ALWAYS if is_fixed else self.buffer.spans
        return Block(self.name, self.size, self.align, self.memory.value, live, self.region)


@dataclass(frozen=True)
class FunctionPlan:
    """One function: its buffers, where they go, and what could not be counted."""

    function: Operation
    liveness: FunctionLiveness
    candidates: tuple[Candidate, ...]
    plan: Plan
    unsized: tuple[tuple[AllocationOp, str], ...] = ()

    @property
    def name(self) -> str:
        symbol = self.function.get_attr_or_prop("sym_name")
        return symbol.data if isinstance(symbol, StringAttr) else self.function.name

    @cached_property
    def by_name(self) -> dict[str, Candidate]:
        return {candidate.name: candidate for candidate in self.candidates}

    def of(self, memory: Memory) -> tuple[Candidate, ...]:
        """The buffers in one memory, in textual order."""
        return tuple(each for each in self.candidates if each.memory is memory)

    def needed(self, memory: Memory) -> int:
        """What the plan takes of a memory."""
        return self.plan.height(memory.value) if self.of(memory) else 0

    def unmerged(self, memory: Memory) -> int:
        """The total size of the buffers placed sequentially, the strictest alignment first."""
        end = 0
        for each in sorted(self.of(memory), key=lambda each: -each.align):
            end = -(-end // each.align) * each.align + each.size
        return end

    def offset(self, candidate: Candidate) -> int:
        return self.plan.offsets[candidate.name]

    def overlap(self, one: Candidate, two: Candidate) -> bool:
        """Whether the plan puts two buffers over common addresses."""
        if one.memory is not two.memory:
            return False
        start, other = self.offset(one), self.offset(two)
        return start < other + two.size and other < start + one.size

    def conflicts(self, memory: Memory) -> Iterator[tuple[Candidate, Candidate, Conflict]]:
        """Every two buffers that could be moved but not share, with the reason."""
        movable = [each for each in self.of(memory) if not each.fixed_because]
        for position, one in enumerate(movable):
            for two in movable[position + 1 :]:
                found = self.liveness.conflict(one.op, two.op)
                if found is not None:
                    yield one, two, found


def plan_module(
    module: ModuleOp, target: Target | None, effort: Effort | str = "default"
) -> tuple[FunctionPlan, ...]:
    """Plan every function of `module` that has buffers."""
    liveness = BufferLiveness(module)
    plans = [
        plan_buffers(op, found, found.buffers, target, effort)
        for op, found in liveness.functions.items()
    ]
    return tuple(plan for plan in plans if plan.candidates or plan.unsized)


def plan_buffers(
    function: Operation,
    liveness: FunctionLiveness,
    buffers: Sequence[LiveBuffer],
    target: Target | None = None,
    effort: Effort | str = "default",
) -> FunctionPlan:
    """Plan `buffers`, which are those of `liveness`, for one function."""
    names, is_cluster = Names(), _reaches_other_ctas(function)
    candidates: list[Candidate] = []
    unsized: list[tuple[AllocationOp, str]] = []
    for buffer in buffers:
        try:
            candidates.append(_candidate(buffer, names, liveness, is_cluster=is_cluster))
        except UnitError as error:
            unsized.append((buffer.op, str(error)))
    spaces = tuple(
        Space(memory.value, None if target is None else target.capacity(memory), None, unit)
        for memory, unit in ((Memory.SMEM, "bytes"), (Memory.TMEM, "columns"))
        if any(each.memory is memory for each in candidates)
    )
    problem = Problem(spaces, tuple(each.block for each in candidates), tuple(_apart(candidates)))
    plan = plan_problem(problem, effort)
    return FunctionPlan(function, liveness, tuple(candidates), plan, tuple(unsized))


def scope_of(op: Operation) -> Region | None:
    """The region around `op` that no value gets into but as an argument."""
    region = op.parent_region()
    while region is not None and region.parent is not None:
        if region.parent.has_trait(IsolatedFromAbove):
            return region
        region = region.parent.parent_region()
    return region


def _apart(candidates: list[Candidate]) -> Iterator[Apart]:
    """Barriers do not overlap with data. A barrier may reuse the bytes of an invalidated one.

    All buffers of one allocation must see it, which isolated partitions do not.
    """
    movable = [each for each in candidates if not each.fixed_because]
    for position, one in enumerate(movable):
        for two in movable[position + 1 :]:
            if one.memory is two.memory and scope_of(one.op) is not scope_of(two.op):
                yield Apart(one.name, two.name)
    for barrier in candidates:
        if barrier.buffer.is_barrier:
            for other in candidates:
                if not other.buffer.is_barrier and other.memory is barrier.memory:
                    yield Apart(barrier.name, other.name)


def _candidate(
    buffer: LiveBuffer, names: Names, liveness: FunctionLiveness, *, is_cluster: bool
) -> Candidate:
    op = buffer.op
    type = memdesc(op.result.type)
    memory = memory_of(type)
    bits = span_bits(type)
    name, source = names.of(op.result, "buffer"), source_of(op)
    if memory is Memory.TMEM:
        size = -(-bits // TMEM_COLUMN_BITS)
        align = max(TMEM_ALLOCATION_GRANULE, unit_of(type) if type.rank == 2 else 1)
    else:
        size = bits // _BYTE
        align = BARRIER_ALIGNMENT if buffer.is_barrier else _alignment(op)
    fixed_because = _reason_to_stay(buffer, type)
    if not fixed_because and is_cluster:
        fixed_because = "other CTAs of the cluster may access it"
    region = None
    if buffer.partition is not None:
        started = liveness.flow.enter[buffer.partition.op]
        region = AsyncRegion(f"warp_specialize at {started}", buffer.partition.index)
    return Candidate(buffer, name, source, memory, size, align, fixed_because, region)


def _alignment(op: AllocationOp) -> int:
    own = op.alignment_bytes if isinstance(op, LocalAllocOp) else 1
    return max(own, *(demand_of(memdesc(value.type)) for value in reachable(op.result, views_of)))


def _reason_to_stay(buffer: LiveBuffer, type: MemDescType) -> str:
    """Why a buffer is not merged with others; empty where it can be."""
    op = buffer.op
    layout = unwrapped(type.encoding)
    if buffer.is_barrier:
        return "mbarriers are never merged with data"
    if buffer.escapes:
        return "used by a call or an op with unknown effects"
    if isinstance(layout, PaddedSharedEncoding | PartitionedSharedEncoding):
        return "padded and partitioned layouts cannot be views"
    if len(op.results) > 1:
        return "a token tracks its contents"
    if not type.mutable and any(isinstance(v, BlockArgument) for v in _all_views(op)):
        return "constant, and passed to other blocks"
    return ""


_ACROSS_CTAS = ("multicast", "multicast_targets", "two_ctas")
_REMOTE = frozenset(
    ("ttng.map_to_remote_buffer", "ttg.remote_shmem_store", "ttg.async_remote_shmem_copy")
)


def _reaches_other_ctas(function: Operation) -> bool:
    """Whether anything in a function works on the memory of several CTAs at once."""
    return any(
        each.name in _REMOTE or any(getattr(each, name, None) is not None for name in _ACROSS_CTAS)
        for each in walk(function)
    )


def _all_views(op: AllocationOp) -> Iterator[object]:
    yield from reachable(op.result, views_of)
