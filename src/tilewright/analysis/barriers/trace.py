"""The events of each concurrent role, for given trip counts.

Index arithmetic is evaluated to integers. Private cells of a role are tracked; integers loaded from
tensors are assumed, the same for every role that loads the same element, so that roles take the
same branches. Ops without barriers in them, whole loops included, are one access each.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.barriers.concurrent_roles import ConcurrentRoles, Member, TripCounts
from tilewright.analysis.barriers.constant_eval import MaybeInt
from tilewright.analysis.barriers.events import (
    TENSOR_CORE,
    AccessEvent,
    Arrive,
    BarrierId,
    Box,
    BoxAccess,
    Commit,
    Event,
    NamedBarrierEvent,
    TensorCommit,
    WaitEvent,
    WaitGroup,
)
from tilewright.analysis.barriers.op_properties import BarrierUser, Computation, OpProperties
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.nv import (
    BarOp,
    CpAsyncCommitOp,
    CpAsyncWaitOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
    TmaStoreCommitOp,
    TmaStoreWaitOp,
    WgmmaWaitOp,
)
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    KernelOp,
    PersistentOp,
    PipelineOp,
    Space,
    SyncOp,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    space_of,
)
from tilewright.dialects.tile.access import AccessedRegion, Bound, base_of
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.interfaces import is_async, writes
from tilewright.dialects.tile.mbarrier import BarrierOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import constant_value

COPIES, STORES, MMAS = "copies", "stores", "mmas"
MAX_EVENTS = 20_000
MAX_LAUNCH_STEPS = 6_000
"""Events and blocks of code of a role, in a launch, which waits: at most about a second."""
ENTRIES = 3
"""Tiles of a persistent loop, where its bounds are not overridden."""
_MISSING = object()
_TOO_LONG = "the trace is too long"


@dataclass
class NotAnalysed(Exception):
    """Something that cannot be evaluated."""

    op: Operation
    reason: str


@dataclass(frozen=True)
class Trace:
    """The events of one member."""

    name: str
    threads: int
    events: tuple[Event, ...]
    is_assumed: bool = False
    """Whether the events depend on the value assumed for run-time arguments."""


def traces(
    roles: ConcurrentRoles, candidates: Iterable[TripCounts]
) -> Iterator[tuple[TripCounts, list[Trace]]]:
    """The events of every member, for each of the trip counts. Raises `NotAnalysed`."""
    properties = OpProperties(roles)
    done: list[tuple[TripCounts, set[str]]] = []
    for trip_counts in candidates:
        if any(_agree(trip_counts, before, used) for before, used in done):
            continue  # they differ in nothing that the events depend on
        if roles.is_custom and _is_empty(roles, trip_counts, properties):
            continue  # no block runs
        writers = [Writer(member, trip_counts, properties) for member in roles.members]
        yield trip_counts, [each.trace() for each in writers]
        done.append((trip_counts, {name for each in writers for name in each.used}))


def _agree(one: TripCounts, other: TripCounts, names: set[str]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _is_empty(roles: ConcurrentRoles, trip_counts: TripCounts, properties: OpProperties) -> bool:
    """Whether the grid has no blocks, for the arguments that are assumed."""
    host = Writer(roles.members[0], trip_counts, properties)
    extents = [host.integer(each) for each in roles.kernel.grid]
    return any(each is not None and each <= 0 for each in extents)


def _is_constant(value: Mixed) -> bool:
    return isinstance(value, int) or isinstance(constant_value(value), IntegerAttr)


@dataclass
class Writer:
    member: Member
    trip_counts: TripCounts
    properties: OpProperties
    env: dict[SSAValue, MaybeInt] = field(default_factory=dict[SSAValue, MaybeInt])
    cells: dict[tuple[SSAValue, tuple[MaybeInt, ...]], MaybeInt] = field(
        default_factory=dict[tuple[SSAValue, tuple[MaybeInt, ...]], MaybeInt]
    )
    events: list[Event] = field(default_factory=list[Event])
    active: tuple[int, ...] = ()
    """The active threads of the member."""
    used: set[str] = field(default_factory=set[str])
    """The fields of `trip_counts` that the events depend on."""
    entered: int = 0
    """How many blocks of code were traced."""

    def trace(self) -> Trace:
        events = self.write()
        is_assumed = "argument" in self.used
        return Trace(self.member.name, len(self.member.threads), events, is_assumed)

    def write(self) -> tuple[Event, ...]:
        roles = self.properties.roles
        self.active = self.member.threads
        if roles.kernel.body_block not in self.member.blocks:
            for op in roles.kernel.body_block.ops:
                if not op.regions:
                    self._compute(op)
        for block in self.member.blocks:
            self._block(block)
        return tuple(self.events)

    def _add(self, event: Event) -> None:
        if len(self.events) >= MAX_EVENTS:
            raise NotAnalysed(event.op, _TOO_LONG)
        self.events.append(event)

    # -- integers ----------------------------------------------------------------------------

    def integer(self, value: Mixed | None) -> MaybeInt:
        """The value as an integer, if it is known."""
        if value is None or isinstance(value, int):
            return value
        found = self.env.get(value, _MISSING)
        if found is _MISSING:
            found = self.env[value] = self._given(value)
        return cast("MaybeInt", found)

    def _given(self, value: SSAValue) -> MaybeInt:
        """A value from outside: a constant, an index of a block, an argument, or computed there."""
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        if isinstance(value, BlockArgument):
            is_block = isinstance(value.block.parent_op(), KernelOp)
            launched = self.trip_counts.launched
            if launched is not None:
                self.used.add("launched")
                return (launched.block if is_block else launched.arguments)[value.index]
            return 0 if is_block else self._argument(value)
        if isinstance(value.owner, Operation) and not value.owner.regions:
            self._compute(value.owner)
        return self.env.get(value)

    def _argument(self, value: BlockArgument) -> MaybeInt:
        """An integer argument: later ones are larger, for loops from one to another."""
        integers = [
            each for each in value.block.args if isinstance(each.type, IndexType | IntegerType)
        ]
        if value not in integers:
            return None
        self.used.add("argument")
        return (integers.index(value) + 1) * self.trip_counts.argument

    def needed(self, value: Mixed, op: Operation) -> int:
        found = self.integer(value)
        if found is None:
            raise NotAnalysed(op, "an integer depends on unknown values")
        return found

    def _compute(self, op: Operation) -> None:
        results = self.properties.integers(op)
        if results:
            integer = self._result(op, [self.integer(each) for each in op.operands])
            self.env.update(dict.fromkeys(results, integer))

    def _result(self, op: Operation, operands: Sequence[MaybeInt]) -> MaybeInt:
        if op.name == LoadOp.name:
            return self._loaded(op)
        if op.name == DimOp.name:
            return self._extent(op)
        if op.name == "gpu.thread_id":
            return self.member.threads[0]
        return self.properties.rule(op)(operands)

    def _extent(self, op: Operation) -> MaybeInt:
        axis = self.integer(op.operands[1])
        static = None if axis is None else shape_of(op.operands[0].type)[axis]
        if static is not None and static >= 0:
            return static
        self.used.add("argument")
        return self.trip_counts.argument

    def _loaded(self, op: Operation) -> MaybeInt:
        assert isinstance(op, LoadOp)
        base, space, indices = self.properties.element(op)
        where = tuple(self.integer(index) for index in indices)
        if space is Space.VAR or space is Space.LOCAL:
            return self.cells.get((base, where))
        if space is not Space.GLOBAL or None in where:
            return None
        # Assumed, and the same for every role.
        text = f"{base.name_hint}{where}".encode()
        return zlib.crc32(text) % 4

    def _store(self, op: StoreOp) -> None:
        base, space, indices = self.properties.element(op)
        if space is Space.VAR or space is Space.LOCAL:
            where = tuple(self.integer(index) for index in indices)
            is_integer = isinstance(op.value.type, IndexType | IntegerType)
            self.cells[base, where] = self.integer(op.value) if is_integer else None

    # -- control -----------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        self.entered += 1
        is_launched = self.trip_counts.launched is not None
        if is_launched and self.entered + len(self.events) > MAX_LAUNCH_STEPS:
            assert block.last_op is not None
            raise NotAnalysed(block.last_op, _TOO_LONG)
        integer, env = self.integer, self.env
        for item in self.properties.steps(block):
            if isinstance(item, Computation):
                value = item.rule([integer(each) for each in item.operands])
                for result in item.results:
                    env[result] = value
            else:
                self._op(item)

    def _op(self, op: Operation) -> None:
        if not op.regions:
            self._leaf(op)
        elif not self._is_followed(op):
            self._whole(op)
        elif isinstance(op, ForOp):
            lower, step = self.needed(op.lower_bound, op), self.needed(op.step, op)
            self._loop(op, range(lower, self._end(op, lower, op.upper_bound, step), step))
        elif isinstance(op, PipelineOp):
            lower = self.needed(op.lower, op)
            self._loop(op, range(lower, self._end(op, lower, op.upper, 1)))
        elif isinstance(op, PersistentOp):
            self._persistent(op)
        elif isinstance(op, IfOp):
            self._branch(op)
        else:
            raise NotAnalysed(op, f"barriers in {op.name} are not analysed")

    def _is_followed(self, op: Operation) -> bool:
        """Whether the ops inside of an op are traced one at a time."""
        return self.properties.is_essential(op)

    def _end(self, op: Operation, lower: int, upper: Mixed, step: int) -> int:
        """The end of a loop. Constant bounds are respected, and so are those of loops that were
        pipelined: the peeled prologue and epilogue rely on them.
        """
        if _is_constant(upper) or not self.properties.has_barriers(op):
            return self.needed(upper, op)
        trip_count = self._trip_count(op)
        return self.needed(upper, op) if trip_count is None else lower + trip_count * step

    def _trip_count(self, op: Operation) -> int | None:
        name = "inner" if self.properties.is_innermost(op) else "outer"
        self.used.add(name)
        return getattr(self.trip_counts, name)

    def _loop(self, op: Operation, iterations: range) -> None:
        block = op.regions[0].block
        counter, *carried = block.args
        values = [self.integer(each) for each in op.init_args] if isinstance(op, ForOp) else []
        end = block.last_op
        for iteration in iterations:
            self.env[counter] = iteration
            self.env.update(zip(carried, values, strict=True))
            self._block(block)
            if carried:
                assert end is not None
                values = [self.integer(each) for each in end.operands]
        self.env.update(zip(op.results, values, strict=True))

    def _persistent(self, op: PersistentOp) -> None:
        count = self._trip_count(op)
        if count is None:
            count = ENTRIES  # the tiles per block depend on the launch grid
        block = op.regions[0].blocks[0]
        for iteration in range(count):
            for argument in block.args:
                self.env[argument] = iteration
            self._block(block)

    def _branch(self, op: IfOp) -> None:
        before = self.active
        taking = self._taking(op.operands[0], op)
        sides = taking, _without(before, taking)
        for region, threads in zip(op.regions, sides, strict=False):
            if threads and region.blocks:
                self.active = threads
                self._block(region.blocks[0])
                end = region.blocks[0].last_op
                if op.results and end is not None:
                    is_whole = len(threads) == len(before)
                    values = [self.integer(each) if is_whole else None for each in end.operands]
                    self.env.update(zip(op.results, values, strict=True))
        self.active = before

    def _taking(self, condition: SSAValue, op: Operation) -> tuple[int, ...]:
        """The threads for which a condition holds."""
        if _is_elected(condition):
            return self.active[:1]
        if not _depends_on_thread(condition):
            return self.active if self.needed(condition, op) else ()
        return tuple(thread for thread in self.active if self._for_thread(condition, thread, op))

    def _for_thread(self, value: SSAValue, thread: int, op: Operation) -> int:
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "gpu.thread_id":
            return thread
        if not _depends_on_thread(value):
            return self.needed(value, op)
        assert isinstance(owner, Operation)  # a thread index is computed by ops
        operands = [self._for_thread(each, thread, op) for each in owner.operands]
        found = self._result(owner, operands)
        if found is None:
            raise NotAnalysed(op, "the threads that reach this op are unknown")
        return int(found)

    # -- events ------------------------------------------------------------------------------

    def _leaf(self, op: Operation) -> None:
        handler = self._HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif isinstance(op, BarrierOp):
            raise NotAnalysed(op, f"{op.name} is not analysed")
        else:
            self._plain(op)

    def _blocked(self, op: Operation) -> int:
        """How many threads wait at an op where all of a role have to."""
        if len(self.active) < len(self.member.threads):
            raise NotAnalysed(op, "only some threads of a role wait here")
        return len(self.active)

    def _wait(self, op: MBarrierWaitOp) -> None:
        self._blocked(op)
        parity = self.needed(op.parity, op) & 1
        self._add(WaitEvent(op, self._barrier_id(op), parity))

    def _expect(self, op: MBarrierArriveExpectTxOp | MBarrierExpectTxOp) -> None:
        arriving = 1 if isinstance(op, MBarrierArriveExpectTxOp) else 0
        size = self.needed(op.bytes, op)
        self._add(Arrive(op, self._barrier_id(op), arriving, size))

    def _arrive(self, op: MBarrierArriveOp) -> None:
        if op.cta is not None:
            raise NotAnalysed(op, "barriers of other CTAs are not analysed")
        self._add(Arrive(op, self._barrier_id(op), len(self.active)))

    def _commit(self, op: CpAsyncCommitOp | TmaStoreCommitOp) -> None:
        self._add(Commit(op, COPIES if isinstance(op, CpAsyncCommitOp) else STORES))

    def _wait_group(self, op: CpAsyncWaitOp | TmaStoreWaitOp | WgmmaWaitOp) -> None:
        kinds = {"nv.cp_async.wait": COPIES, "nv.tma_store.wait": STORES}
        self._add(WaitGroup(op, kinds.get(op.name, MMAS), op.count))

    def _named_barrier(self, op: BarOp) -> None:
        integer, count = op.id.value.data, op.count.value.data
        self._add(NamedBarrierEvent(op, integer, self._blocked(op), count, op.mode.data == "sync"))

    def _sync(self, op: SyncOp) -> None:
        threads = self._blocked(op)
        integer = integer_of(op.barrier_id)
        if integer is None:
            return  # of the member's own threads, which are convergent here anyway
        count = integer_of(op.arrive_count)
        self._add(NamedBarrierEvent(op, integer, threads, threads if count is None else count))

    def _barrier_id(self, op: BarrierUser) -> BarrierId:
        row, index = self.properties.barrier(op)
        return row, self.needed(index, op)

    def _copy(self, op: AsyncCopyOp) -> None:
        accesses = tuple(self._accesses(op))
        if op.barrier is None or op.barrier_index is None:
            is_store = space_of(base_of(op.dst).type) is Space.GLOBAL
            self._add(AccessEvent(op, accesses, STORES if is_store else COPIES))
            return
        barrier_id = base_of(op.barrier), self.needed(op.barrier_index, op)
        size = self._bytes(op)
        self._add(
            AccessEvent(
                op, accesses, "", barrier_id, size, barrier_id[0] not in self.properties.explicit
            )
        )

    def _tensor_core(self, op: Tcgen05GemmOp | Tcgen05CopyScalesOp) -> None:
        if op.two_cta is not None:
            raise NotAnalysed(op, "memory of pairs of CTAs is not analysed")
        self._add(AccessEvent(op, tuple(self._accesses(op)), TENSOR_CORE))
        if isinstance(op, Tcgen05GemmOp) and op.barrier is not None:
            barrier_id = base_of(op.barrier), self.needed(op.barrier_index, op)  # pyright: ignore[reportArgumentType]
            self._add(TensorCommit(op, barrier_id))

    def _tensor_commit(self, op: Tcgen05CommitOp) -> None:
        if op.two_cta is not None:
            raise NotAnalysed(op, "barriers of other CTAs are not analysed")
        self._add(TensorCommit(op, (base_of(op.barrier), self.needed(op.index, op))))

    def _bytes(self, op: AsyncCopyOp) -> int:
        size = op.size_bytes
        if size is None:
            raise NotAnalysed(op, "the byte count of the copy is unknown")
        return size

    def _plain(self, op: Operation) -> None:
        accesses = tuple(self._accesses(op))
        if accesses:
            asynchronous = is_async(op)
            self._add(AccessEvent(op, accesses, MMAS if asynchronous else ""))
            if asynchronous:
                self._add(Commit(op, MMAS))
        if isinstance(op, StoreOp):
            self._store(op)
        self._compute(op)

    def _whole(self, op: Operation) -> None:
        """An op that is one access as a whole."""
        accesses = tuple(self._accesses(op))
        if accesses:
            self._add(AccessEvent(op, accesses))
        for region in writes(op):
            if region.space in (Space.VAR, Space.LOCAL):
                for key in [key for key in self.cells if key[0] is region.base]:
                    self.cells[key] = None
        for result in op.results:
            self.env[result] = None

    def _accesses(self, op: Operation) -> Iterator[BoxAccess]:
        for region, is_write in self.properties.regions(op):
            yield BoxAccess(region.base, self._box(region), is_write)

    def _box(self, region: AccessedRegion) -> Box | None:
        if not region.offsets:
            return None
        spans: list[tuple[int, int]] = []
        shape = shape_of(region.base.type)
        for offset, extent, size in zip(region.offsets, region.extents, shape, strict=True):
            start, length = self._bound(offset), self._bound(extent)
            if start is None or length is None:
                return None
            spans.append((start, start + length if size < 0 else min(start + length, size)))
        return tuple(spans)

    def _bound(self, value: Bound) -> MaybeInt:
        return self.integer(value)

    _HANDLERS: ClassVar[dict[type[Operation], Callable[[Writer, Any], None]]] = {
        MBarrierWaitOp: _wait,
        MBarrierArriveExpectTxOp: _expect,
        MBarrierExpectTxOp: _expect,
        MBarrierArriveOp: _arrive,
        CpAsyncCommitOp: _commit,
        TmaStoreCommitOp: _commit,
        CpAsyncWaitOp: _wait_group,
        TmaStoreWaitOp: _wait_group,
        WgmmaWaitOp: _wait_group,
        BarOp: _named_barrier,
        SyncOp: _sync,
        AsyncCopyOp: _copy,
        Tcgen05GemmOp: _tensor_core,
        Tcgen05CopyScalesOp: _tensor_core,
        Tcgen05CommitOp: _tensor_commit,
    }


def _without(threads: tuple[int, ...], taking: tuple[int, ...]) -> tuple[int, ...]:
    if len(threads) == len(taking):
        return ()
    gone = frozenset(taking)
    return tuple(thread for thread in threads if thread not in gone)


def _is_elected(value: SSAValue) -> bool:
    return isinstance(value.owner, Operation) and value.owner.name == "nv.elect"


def _depends_on_thread(value: SSAValue) -> bool:
    pending, seen = [value], set[SSAValue]()
    while pending:
        each = pending.pop()
        owner = each.owner
        if each in seen or not isinstance(owner, Operation) or isinstance(owner, AllocOp):
            continue
        seen.add(each)
        if owner.name == "gpu.thread_id":
            return True
        pending.extend(owner.operands)
    return False
