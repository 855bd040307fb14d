"""Building the roles: the slot and the parity of every wait.

Iteration `t` of a loop works in slot ``t mod S``. A pair of barriers per slot and group:

    producer   wait empty[slot], parity ((t / S) mod 2) xor 1     the first S waits fall through
               arrive at full[slot], expecting the bytes; issue the copies
    consumer   wait full[slot], parity (t / S) mod 2
               use the buffers; arrive at empty[slot]

If a loop is entered again by a loop around it, or shares its ring with others (`families`), a cell
counts iterations across entries and loops: a parity that starts again at 0 would not match the
barrier's.

One producer thread arrives at `full` for all, and one warp runs the role (`narrow-producers`). If
some copies are guarded by a condition, all producer threads arrive, at the barriers of *every*
group: a warp that waits for `empty` and does not arrive at `full` is not ordered by anything. It
may reach the wait two phases late, and then waits forever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, UnitAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.tensors.outside_values import has_zeros, tensor_of
from tilewright.dialects.arith import AddiOp, ConstantOp, IndexCastOp, XoriOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    MBARRIER,
    GridWaitOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
)
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    AtomicOp,
    CopyOp,
    Im2colOp,
    PipelineOp,
    SlotOp,
    Space,
    buffer_type,
    names,
)
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.effects import always_removable
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.version_buffers import drop_unused, version_buffer
from tilewright.passes.tile.warps.candidates import Candidate, Group, Issue
from tilewright.passes.tile.warps.deferral import VERSIONS
from tilewright.passes.tile.warps.families import Family, families_of
from tilewright.passes.tile.warps.patches import patch_region
from tilewright.passes.tile.warps.prologue import EarlyCopy
from tilewright.passes.tile.warps.slots import LoopSlots


@dataclass(frozen=True)
class Barriers:
    """The two barriers of a group, one element for each slot."""

    full: SSAValue
    empty: SSAValue


@dataclass
class Channel:
    """What connects producer and consumers of one loop."""

    candidate: Candidate
    slots: int
    family: Family
    rings: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    rotating: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Buffers that the consumers write, with their versions."""
    barriers: dict[Group, Barriers] = field(default_factory=dict[Group, Barriers])
    all_arrive: bool = False
    """Whether every producer thread arrives at `full`, instead of one of them."""

    @property
    def loop(self) -> PipelineOp:
        return self.candidate.loop


def open_channels(
    candidates: Sequence[Candidate],
    slots: Sequence[LoopSlots],
    producers: int,
    consumers: int,
    at: Operation,
) -> list[Channel]:
    """Allocate multi-buffered tiles and barriers of all loops before `at`; `slots` of each."""
    all_arrive = any(group.is_guarded for each in candidates for group in each.groups)
    arriving = producers if all_arrive else 1
    channels = [
        Channel(each, given.count, family, all_arrive=all_arrive)
        for each, given, family in zip(candidates, slots, families_of(candidates), strict=True)
    ]
    first: dict[Candidate, Channel] = {}
    for index, (channel, given) in enumerate(zip(channels, slots, strict=True)):
        leader = first.setdefault(channel.family.members[0], channel)
        if leader is not channel:
            _join(channel, leader)
            continue
        _open(channel, index, arriving, consumers, at)
        for buffer in given.rotating:
            ring = version_buffer(buffer, VERSIONS, Rewriter())
            assert isinstance(ring.owner, AllocOp)
            ring.owner.attributes[names.ROTATING] = UnitAttr()
            channel.rotating[buffer] = ring
    return channels


def _open(channel: Channel, index: int, arriving: int, consumers: int, at: Operation) -> None:
    candidate, slots = channel.candidate, channel.slots
    rewriter = Rewriter()
    for position, group in enumerate(candidate.groups):
        for buffer in group.buffers:
            channel.rings[buffer] = version_buffer(buffer, slots, rewriter)
        suffix = f"_{index}_{position}"
        full = _barriers(f"full{suffix}", slots, arriving)
        empty = _barriers(f"empty{suffix}", slots, consumers)
        rewriter.insert_before(at, [full, empty], candidate.loop)
        channel.barriers[group] = Barriers(full.result, empty.result)


def _join(channel: Channel, leader: Channel) -> None:
    """Use what the first loop of the family uses."""
    channel.rings, channel.rotating = leader.rings, leader.rotating
    groups = zip(channel.candidate.groups, leader.candidate.groups, strict=True)
    channel.barriers = {own: leader.barriers[first] for own, first in groups}


def _barriers(name: str, slots: int, arriving: int) -> AllocOp:
    return AllocOp(
        buffer_type(MBARRIER, (slots,), Space.BARRIER), name=name, init=[arriving] * slots
    )


# -- iterations --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Iteration:
    """One iteration of a loop as a role sees it."""

    code: IndexBuilder
    count: Mixed
    """Iterations before it."""
    slot: SSAValue
    parity: SSAValue


class Counter:
    """Counts the iterations of loops that share a ring, in a cell if the loop is not alone."""

    def __init__(self, channel: Channel, start: IndexBuilder) -> None:
        self._slots = channel.slots
        self._cell: SSAValue | None = None
        if channel.family.counts_in_cell:
            cell = AllocOp(buffer_type(i32, (1,), Space.VAR), name="turn", dtype="int32")
            start.add(cell)
            zero = start.add(ConstantOp.of(0, i32)).results[0]
            start.add(StoreOp(zero, cell.result, [start.index(0)]))
            self._cell = cell.result

    def iteration(self, code: IndexBuilder, index: SSAValue, lower: Mixed) -> Iteration:
        count, slots = self._count(code, index, lower), self._slots
        slot = code.index(code.modulo(count, slots))
        parity = code.index(code.modulo(code.divided(count, slots), 2))
        return Iteration(code, count, slot, parity)

    def _count(self, code: IndexBuilder, index: SSAValue, lower: Mixed) -> Mixed:
        if self._cell is None:
            return code.minus(index, lower)
        loaded = code.add(LoadOp(self._cell, [code.index(0)])).results[0]
        return code.add(IndexCastOp(loaded, IndexType())).results[0]

    def advance(self, code: IndexBuilder) -> None:
        """At the end of an iteration."""
        if self._cell is None:
            return
        zero = code.index(0)
        loaded = code.add(LoadOp(self._cell, [zero])).results[0]
        one = code.add(ConstantOp.of(1, i32)).results[0]
        code.add(StoreOp(code.add(AddiOp(loaded, one)), self._cell, [zero]))


def counters_of(channels: Sequence[Channel], start: IndexBuilder) -> dict[Operation, Counter]:
    """The counter of each loop; loops that share a ring have one."""
    of: dict[Candidate, Counter] = {}
    found: dict[Operation, Counter] = {}
    for channel in channels:
        leader = channel.family.members[0]
        if leader not in of:
            of[leader] = Counter(channel, start)
        found[channel.loop] = of[leader]
    return found


def _serial(loop: PipelineOp, code: IndexBuilder) -> ForOp:
    made = ForOp(code.index(loop.lower), code.index(loop.upper), code.index(1))
    made.location = loop.location
    made.body.block.args[0].name_hint = loop.induction_variable.name_hint
    return made


# -- the consumer ------------------------------------------------------------------------------


def consume(channel: Channel, counter: Counter) -> None:
    """Turn the loop, where it is, into that of the consumers."""
    loop = channel.loop
    code = IndexBuilder(loop)
    made = _serial(loop, code)
    code.add(made)
    inside = code.inside(made.body.block)
    index = made.body.block.args[0]
    iteration = counter.iteration(inside, index, loop.lower)
    issued = {issue.statement for group in channel.barriers for issue in group.issues}
    loop.induction_variable.replace_all_uses_with(index)
    versions = dict.fromkeys(channel.rings.values(), iteration.slot)
    if channel.rotating:
        version = inside.index(inside.modulo(iteration.count, VERSIONS))
        versions.update(dict.fromkeys(channel.rotating.values(), version))
    for buffer, ring in (*channel.rings.items(), *channel.rotating.items()):
        slot = inside.add(SlotOp(ring, versions[ring])).results[0]
        for use in [use for use in buffer.uses if loop.is_ancestor(use.operation)]:
            use.operation.operands[use.index] = slot
    for op in list(loop.body_block.ops)[:-1]:
        if op in issued:
            continue
        for group, barriers in channel.barriers.items():
            if group.first_user is op:
                inside.add(MBarrierWaitOp(barriers.full, iteration.slot, iteration.parity))
        op.detach()
        inside.add(op)
        for group, barriers in channel.barriers.items():
            if group.last_user is op:
                inside.add(MBarrierArriveOp(barriers.empty, iteration.slot))
    counter.advance(inside)
    code.rewriter.erase(loop)
    for buffer in (*channel.rings, *channel.rotating):
        drop_unused(buffer, code.rewriter)


# -- the producer ------------------------------------------------------------------------------


class Producer:
    """Copies of the control flow around the loops, with nothing in it but the copies."""

    def __init__(
        self,
        channels: Sequence[Channel],
        block: Block,
        early: Mapping[EarlyCopy, SSAValue] | None = None,
    ) -> None:
        self._channels: Mapping[Operation, Channel] = {each.loop: each for each in channels}
        self._early: Mapping[Operation, tuple[EarlyCopy, SSAValue]] = {
            each.op: (each, barrier) for each, barrier in (early or {}).items()
        }
        self._counters: dict[Operation, Counter] = {}
        self._block = block
        self._consumed: frozenset[Operation] = frozenset()
        """What will be the consumers' own, and is not there for the producer."""

    def build(self, ops: Sequence[Operation], origin: Operation) -> None:
        code = IndexBuilder(origin, self._block)
        self._consumed = frozenset(ops)
        self._counters = counters_of([*self._channels.values()], code)
        self._walk(ops, code, {})

    def _walk(
        self, ops: Sequence[Operation], code: IndexBuilder, values: dict[SSAValue, SSAValue]
    ) -> None:
        for op in ops:
            if op in self._channels:
                self._produce(self._channels[op], code, values)
            elif op in self._early:
                self._start(*self._early[op], code, values)
            elif any(inner in self._channels for inner in walk(op)):
                self._shell(op, code, values)

    def _start(
        self,
        early: EarlyCopy,
        barrier: SSAValue,
        code: IndexBuilder,
        values: dict[SSAValue, SSAValue],
    ) -> None:
        """A copy before the loops."""
        op = early.op
        self._compute([op.src], code, values)
        zero = code.index(0)
        code.add(MBarrierArriveExpectTxOp(barrier, zero, early.copy.bytes))
        code.add(_bulk(op, values.get(op.src, op.src), op.dst, barrier, zero))

    def _shell(self, op: Operation, code: IndexBuilder, values: dict[SSAValue, SSAValue]) -> None:
        """A loop or branch around pipelined loops, with only those in it."""
        self._compute(op.operands, code, values)
        bodies = [Region(Block(arg_types=[a.type for a in r.blocks[0].args])) if r.blocks
                  else Region() for r in op.regions]  # fmt: skip
        shell = type(op).create(
            operands=[values.get(value, value) for value in op.operands],
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            regions=bodies,
        )
        shell.location = op.location
        code.add(shell)
        for region, body in zip(op.regions, bodies, strict=True):
            if not region.blocks:
                continue
            end = region.block.last_op
            assert end is not None  # every body is ended
            body.block.add_op(copy_op(end, {}))
            inner = {**values, **dict(zip(region.block.args, body.block.args, strict=True))}
            self._walk(list(region.block.ops), code.inside(body.block), inner)

    def _produce(
        self, channel: Channel, code: IndexBuilder, values: dict[SSAValue, SSAValue]
    ) -> None:
        loop = channel.loop
        bounds = [value for value in (loop.lower, loop.upper) if isinstance(value, SSAValue)]
        self._compute(bounds, code, values)
        lower, upper = (
            values.get(bound, bound) if isinstance(bound, SSAValue) else bound
            for bound in (loop.lower, loop.upper)
        )
        made = ForOp(code.index(lower), code.index(upper), code.index(1))
        made.location = loop.location
        code.add(made)
        inside = code.inside(made.body.block)
        index = made.body.block.args[0]
        index.name_hint = loop.induction_variable.name_hint
        counter = self._counters[loop]
        iteration = counter.iteration(inside, index, lower)
        inner = {**values, loop.induction_variable: index}
        one = inside.index(1)
        waited = inside.add(XoriOp(iteration.parity, one)).results[0]
        for group, barriers in channel.barriers.items():
            inside.add(MBarrierWaitOp(barriers.empty, iteration.slot, waited))
            self._fill(group, barriers, channel, iteration, inner)
        counter.advance(inside)

    def _fill(
        self,
        group: Group,
        barriers: Barriers,
        channel: Channel,
        iteration: Iteration,
        values: dict[SSAValue, SSAValue],
    ) -> None:
        code = iteration.code
        if not channel.all_arrive:
            code.add(MBarrierArriveExpectTxOp(barriers.full, iteration.slot, group.bytes))
        elif group.bytes:
            code.add(MBarrierExpectTxOp(barriers.full, iteration.slot, group.bytes))
        for issue in group.issues:
            self._issue(issue, barriers, channel, iteration, values)
        if channel.all_arrive:
            code.add(MBarrierArriveOp(barriers.full, iteration.slot))

    def _issue(
        self,
        issue: Issue,
        barriers: Barriers,
        channel: Channel,
        iteration: Iteration,
        values: dict[SSAValue, SSAValue],
    ) -> None:
        code, inner = iteration.code, values
        if isinstance(issue.statement, IfOp):
            self._compute(issue.statement.operands, code, values)
            condition = issue.statement.operands[0]
            guard = IfOp(values.get(condition, condition))
            code.add(guard)
            code, inner = code.inside(guard.regions[0].block), dict(values)
            bytes_ = issue.copy.bytes
            code.add(MBarrierExpectTxOp(barriers.full, iteration.slot, bytes_))
        op = issue.copy.op
        assert not isinstance(op, AtomicOp)  # a reduction writes a tensor: it is no producer's
        self._compute([value for value in op.operands if value is not op.dst], code, inner)
        slot = code.add(SlotOp(channel.rings[op.dst], iteration.slot)).results[0]
        source = inner.get(op.src, op.src)
        if isinstance(op, Im2colOp):
            steps = [inner.get(value, value) for value in (op.nhw_step, op.c_step)]
            source = patch_region(op, source, steps, code)
        code.add(_bulk(op, source, slot, barriers.full, iteration.slot))

    def _compute(
        self, required: Sequence[SSAValue], code: IndexBuilder, values: dict[SSAValue, SSAValue]
    ) -> None:
        """Repeat what `required` is computed from, as far as it is not there yet."""
        for value in required:
            op = value.owner
            is_shared = op not in self._consumed and _is_visible(value, self._block)
            if value in values or is_shared:
                continue
            assert isinstance(op, Operation)  # indices of loops are in `values`
            self._compute(op.operands, code, values)
            code.add(copy_op(op, values))


def _is_visible(value: SSAValue, block: Block) -> bool:
    """Whether `value` is made in a block around the role."""
    made_in = value.owner if isinstance(value.owner, Block) else value.owner.parent
    around: Block | None = block
    while around is not None:
        if around is made_in:
            return True
        parent = around.parent_op()
        around = None if parent is None else parent.parent
    return False


def _bulk(
    op: CopyOp | Im2colOp, source: SSAValue, slot: SSAValue, barrier: SSAValue, index: SSAValue
) -> AsyncCopyOp:
    is_patches = isinstance(op, Im2colOp)
    zeros = not has_zeros(tensor_of(source))  # a copy with another value stays with the consumers
    made = AsyncCopyOp(
        *(source, slot, barrier, index), instruction="tma", flatten=is_patches, zeros=zeros
    )
    made.location = op.location
    if "eviction_policy" in op.properties:
        made.properties["eviction_policy"] = op.properties["eviction_policy"]
    return made


def stays_outside(op: Operation, outside: set[Operation]) -> bool:
    """Whether an op of the kernel's body is for all roles: declarations, what is computed from
    nothing else, and the wait for other kernels."""
    if isinstance(op, GridWaitOp):
        return True
    if op.name in ("tile.storage_alias_spec", "tile.reuse_group", "tile.set_buffer_overlap"):
        return True
    if isinstance(op, AllocOp):
        return all(value.owner in outside or value.owner is not op.parent for value in op.operands)
    if op.regions or not always_removable(type(op)) or isinstance(op, ThreadIdOp):
        return False  # threads are counted anew in each role
    owners = [value.owner for value in op.operands]
    return all(
        isinstance(owner, Block) or owner in outside or owner.parent is not op.parent
        for owner in owners
    )


__all__ = ["Channel", "Producer", "consume", "counters_of", "open_channels", "stays_outside"]
