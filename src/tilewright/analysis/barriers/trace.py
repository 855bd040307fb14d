"""What each member of a team does, written down for given numbers of turns.

Index arithmetic is computed with plain numbers. Cells that a role keeps for itself are followed;
integers loaded from tensors are made up, the same for everybody who loads the same element, so that
roles decide alike. Ops without barriers in them, whole loops included, are one access each.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.barriers.concurrent_roles import ConcurrentRoles, Member, TripCounts
from tilewright.analysis.barriers.constant_eval import Number
from tilewright.analysis.barriers.events import (
    AccessEvent,
    Arrive,
    Box,
    BoxAccess,
    Commit,
    Event,
    NamedBarrierEvent,
    Place,
    WaitEvent,
    WaitGroup,
)
from tilewright.analysis.barriers.op_properties import BarrierUser, OpProperties
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
    space_of,
)
from tilewright.dialects.tile.access import AccessedRegion, Bound, base_of
from tilewright.dialects.tile.base import number_of
from tilewright.dialects.tile.interfaces import is_async, writes
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, shape_of
from tilewright.ir.interfaces import constant_value

COPIES, STORES, PRODUCTS = "copies", "stores", "products"
MAX_EVENTS = 20_000
ENTRIES = 3
"""Tiles of a persistent loop, where its bounds are left to themselves."""


@dataclass
class NotAnalysed(Exception):
    """Something that cannot be followed with numbers."""

    op: Operation
    reason: str


@dataclass(frozen=True)
class Trace:
    """The events of one member."""

    name: str
    threads: int
    events: tuple[Event, ...]


def traces(
    team: ConcurrentRoles, questions: Iterable[TripCounts]
) -> Iterator[tuple[TripCounts, list[Trace]]]:
    """What every member does, for each of the numbers of turns. Raises `NotAnalysed`."""
    facts = OpProperties(team)
    settled: list[tuple[TripCounts, set[str]]] = []
    for turns in questions:
        if any(_agree(turns, before, used) for before, used in settled):
            continue  # they differ in nothing that mattered: the events would be the same
        writers = [Writer(member, turns, facts) for member in team.members]
        yield (
            turns,
            [Trace(each.member.name, len(each.member.threads), each.write()) for each in writers],
        )
        settled.append((turns, {name for each in writers for name in each.used}))


def _agree(one: TripCounts, other: TripCounts, names: set[str]) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def _is_constant(value: Mixed) -> bool:
    return isinstance(value, int) or isinstance(constant_value(value), IntegerAttr)


@dataclass
class Writer:
    member: Member
    turns: TripCounts
    facts: OpProperties
    env: dict[SSAValue, Number] = field(default_factory=dict[SSAValue, Number])
    cells: dict[tuple[SSAValue, tuple[Number, ...]], Number] = field(
        default_factory=dict[tuple[SSAValue, tuple[Number, ...]], Number]
    )
    events: list[Event] = field(default_factory=list[Event])
    active: tuple[int, ...] = ()
    """The threads of the member that are here."""
    used: set[str] = field(default_factory=set[str])
    """The fields of `turns` that the events depend on."""

    def write(self) -> tuple[Event, ...]:
        team = self.facts.team
        self.active = self.member.threads
        if team.kernel.body_block not in self.member.blocks:
            for op in team.kernel.body_block.ops:
                if not op.regions:
                    self._compute(op)
        for block in self.member.blocks:
            self._block(block)
        return tuple(self.events)

    def _add(self, event: Event) -> None:
        if len(self.events) >= MAX_EVENTS:
            raise NotAnalysed(event.op, "the loops run too long to be followed")
        self.events.append(event)

    # -- numbers -----------------------------------------------------------------------------

    def number(self, value: Mixed | None) -> Number:
        """The value as a number, if it is known."""
        if value is None or isinstance(value, int):
            return value
        if value not in self.env:
            self.env[value] = self._given(value)
        return self.env[value]

    def _given(self, value: SSAValue) -> Number:
        """A value from outside: a constant, an index of a block, an argument, or computed there."""
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        if isinstance(value, BlockArgument):
            if isinstance(value.block.parent_op(), KernelOp):
                return 0
            return self._argument(value)
        if isinstance(value.owner, Operation) and not value.owner.regions:
            self._compute(value.owner)
        return self.env.get(value)

    def _argument(self, value: BlockArgument) -> Number:
        """A number that the caller gives: later ones are larger, for loops from one to another."""
        numbers = [
            each for each in value.block.args if isinstance(each.type, IndexType | IntegerType)
        ]
        if value not in numbers:
            return None
        self.used.add("argument")
        return (numbers.index(value) + 1) * self.turns.argument

    def needed(self, value: Mixed, op: Operation) -> int:
        found = self.number(value)
        if found is None:
            raise NotAnalysed(op, "a number depends on values that are not known")
        return found

    def _compute(self, op: Operation) -> None:
        results = self.facts.integers(op)
        if results:
            number = self._result(op, [self.number(each) for each in op.operands])
            self.env.update(dict.fromkeys(results, number))

    def _result(self, op: Operation, operands: Sequence[Number]) -> Number:
        if op.name == LoadOp.name:
            return self._loaded(op)
        if op.name == DimOp.name:
            return self._extent(op)
        if op.name == "gpu.thread_id":
            return self.member.threads[0]
        return self.facts.rule(op)(operands)

    def _extent(self, op: Operation) -> Number:
        axis = self.number(op.operands[1])
        static = None if axis is None else shape_of(op.operands[0].type)[axis]
        if static is not None and static >= 0:
            return static
        self.used.add("argument")
        return self.turns.argument

    def _loaded(self, op: Operation) -> Number:
        assert isinstance(op, LoadOp)
        base, space, indices = self.facts.element(op)
        where = tuple(self.number(index) for index in indices)
        if space is Space.VAR or space is Space.LOCAL:
            return self.cells.get((base, where))
        if space is not Space.GLOBAL or None in where:
            return None
        # Made up, and the same for everybody.
        text = f"{base.name_hint}{where}".encode()
        return zlib.crc32(text) % 4

    def _store(self, op: StoreOp) -> None:
        base, space, indices = self.facts.element(op)
        if space is Space.VAR or space is Space.LOCAL:
            where = tuple(self.number(index) for index in indices)
            is_number = isinstance(op.value.type, IndexType | IntegerType)
            self.cells[base, where] = self.number(op.value) if is_number else None

    # -- control -----------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self._op(op)

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
            raise NotAnalysed(op, f"barriers in {op.name} are not followed")

    def _is_followed(self, op: Operation) -> bool:
        """Whether what is inside of an op matters one by one."""
        return self.facts.is_essential(op)

    def _end(self, op: Operation, lower: int, upper: Mixed, step: int) -> int:
        """Where a loop ends. Bounds that are constants are meant, and so are those of loops that
        were expanded: what was written out in front of the loop, or behind it, counts on them.
        """
        if _is_constant(upper) or not self.facts.has_barriers(op):
            return self.needed(upper, op)
        turns = self._turns(op)
        return self.needed(upper, op) if turns is None else lower + turns * step

    def _turns(self, op: Operation) -> int | None:
        name = "inner" if self.facts.is_innermost(op) else "outer"
        self.used.add(name)
        return getattr(self.turns, name)

    def _loop(self, op: Operation, turns: range) -> None:
        block = op.regions[0].block
        if len(block.args) > 1:
            raise NotAnalysed(op, "loops that hand on values are not followed")
        for turn in turns:
            for argument in block.args:
                self.env[argument] = turn
            self._block(block)

    def _persistent(self, op: PersistentOp) -> None:
        count = self._turns(op)
        if count is None:
            count = ENTRIES  # how many tiles a block gets is a matter of the launch
        block = op.regions[0].blocks[0]
        for turn in range(count):
            for argument in block.args:
                self.env[argument] = turn
            self._block(block)

    def _branch(self, op: IfOp) -> None:
        before = self.active
        taking = self._taking(op.operands[0], op)
        sides = taking, tuple(thread for thread in before if thread not in set(taking))
        for region, threads in zip(op.regions, sides, strict=False):
            if threads and region.blocks:
                self.active = threads
                self._block(region.blocks[0])
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
        assert isinstance(owner, Operation)  # a thread's number is computed by ops
        operands = [self._for_thread(each, thread, op) for each in owner.operands]
        found = self._result(owner, operands)
        if found is None:
            raise NotAnalysed(op, "which threads get here is not known")
        return int(found)

    # -- events ------------------------------------------------------------------------------

    def _leaf(self, op: Operation) -> None:
        if op.name.startswith("arith."):  # most ops are: they touch nothing and order nothing
            self._compute(op)
            return
        handler = self._HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif op.name.startswith("nv.mbarrier.") or op.name == "nv.cp_async.mbarrier_arrive":
            raise NotAnalysed(op, f"{op.name} is not followed")
        else:
            self._plain(op)

    def _blocked(self, op: Operation) -> int:
        """How many threads stop at an op where all of a role have to."""
        if len(self.active) < len(self.member.threads):
            raise NotAnalysed(op, "only some threads of a role wait here")
        return len(self.active)

    def _wait(self, op: MBarrierWaitOp) -> None:
        self._blocked(op)
        parity = self.needed(op.parity, op) & 1
        self._add(WaitEvent(op, self._place(op), parity))

    def _expect(self, op: MBarrierArriveExpectTxOp | MBarrierExpectTxOp) -> None:
        arriving = 1 if isinstance(op, MBarrierArriveExpectTxOp) else 0
        size = self.needed(op.bytes, op)
        self._add(Arrive(op, self._place(op), arriving, size))

    def _arrive(self, op: MBarrierArriveOp) -> None:
        if op.cta is not None:
            raise NotAnalysed(op, "barriers of other blocks are not followed")
        self._add(Arrive(op, self._place(op), len(self.active)))

    def _commit(self, op: CpAsyncCommitOp | TmaStoreCommitOp) -> None:
        self._add(Commit(op, COPIES if isinstance(op, CpAsyncCommitOp) else STORES))

    def _wait_group(self, op: CpAsyncWaitOp | TmaStoreWaitOp | WgmmaWaitOp) -> None:
        kinds = {"nv.cp_async.wait": COPIES, "nv.tma_store.wait": STORES}
        self._add(WaitGroup(op, kinds.get(op.name, PRODUCTS), op.count))

    def _named_barrier(self, op: BarOp) -> None:
        number, count = op.id.value.data, op.count.value.data
        self._add(NamedBarrierEvent(op, number, self._blocked(op), count, op.mode.data == "sync"))

    def _sync(self, op: SyncOp) -> None:
        threads = self._blocked(op)
        number = number_of(op.barrier_id)
        if number is None:
            return  # of the member's own threads, which are in step here anyway
        count = number_of(op.arrive_count)
        self._add(NamedBarrierEvent(op, number, threads, threads if count is None else count))

    def _place(self, op: BarrierUser) -> Place:
        row, index = self.facts.barrier(op)
        return row, self.needed(index, op)

    def _copy(self, op: AsyncCopyOp) -> None:
        touches = tuple(self._touches(op))
        if op.barrier is None or op.barrier_index is None:
            is_store = space_of(base_of(op.dst).type) is Space.GLOBAL
            self._add(AccessEvent(op, touches, STORES if is_store else COPIES))
            return
        place = base_of(op.barrier), self.needed(op.barrier_index, op)
        size = self._bytes(op)
        self._add(AccessEvent(op, touches, "", place, size, place[0] not in self.facts.explicit))

    def _bytes(self, op: AsyncCopyOp) -> int:
        size = bit_width(op.dst.type)
        for extent in shape_of(op.dst.type):
            if extent < 0:
                raise NotAnalysed(op, "how many bytes are copied is not known")
            size *= extent
        return size // 8

    def _plain(self, op: Operation) -> None:
        touches = tuple(self._touches(op))
        if touches:
            asynchronous = is_async(op)
            self._add(AccessEvent(op, touches, PRODUCTS if asynchronous else ""))
            if asynchronous:
                self._add(Commit(op, PRODUCTS))
        if isinstance(op, StoreOp):
            self._store(op)
        self._compute(op)

    def _whole(self, op: Operation) -> None:
        """An op whose inside does not matter."""
        touches = tuple(self._touches(op))
        if touches:
            self._add(AccessEvent(op, touches))
        for region in writes(op):
            if region.space in (Space.VAR, Space.LOCAL):
                for key in [key for key in self.cells if key[0] is region.base]:
                    self.cells[key] = None
        for result in op.results:
            self.env[result] = None

    def _touches(self, op: Operation) -> Iterator[BoxAccess]:
        for region, is_write in self.facts.regions(op):
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

    def _bound(self, value: Bound) -> Number:
        return self.number(value)

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
    }


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
