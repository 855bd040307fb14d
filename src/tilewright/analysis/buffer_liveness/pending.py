"""Asynchronous operations that may be in flight, at every point of a function.

A forward analysis: an asynchronous op adds an item for each buffer it accesses, a wait removes what
it certainly covers. Where paths join, the less certain state wins.

* In-order units (cp.async groups, wgmma, TMA stores): an item has an *age*, the number of groups
  started after its own, and a wait that leaves `n` groups open ends all of age `n` or more.
* Barriers: an item has for every array of barriers that it signals the elements that may be the
one. A wait for an element takes it from the list; the item ends when a list is empty. Under the
  rules of mbarriers no second phase of a barrier may be in flight before the first was waited for,
  so a wait after the start of the work is a wait for it, unless its parity is that of an earlier
  phase (``parity``). Invalidating a barrier implies the same.
* A later tcgen05 commit signals the completion of everything that was started before it. * Groups
and commits belong to the executing threads: no wait or commit in a partition covers what other
partitions started, and none after ``warp_specialize`` what its partitions did. Barriers do. *
``local_dealloc`` ends all work on a buffer: the kernel guarantees it.

A computed index is the same barrier only within one execution of its block; across jumps it may be
any element. What is left at the end of a function was never waited for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.buffer_liveness.drained import drained_barriers
from tilewright.analysis.buffer_liveness.flow import Flow
from tilewright.analysis.buffer_liveness.op_effects import (
    AllocationOp,
    Engine,
    InvalBarrierOp,
    WaitBarrierOp,
    engine_of,
    is_true,
    operand_effects,
    signals,
)
from tilewright.analysis.buffer_liveness.parity import Parities
from tilewright.analysis.buffer_liveness.roots import BufferRoots, Slot, slot_of
from tilewright.dialects.ttg.copies import AsyncCommitGroupOp, AsyncWaitOp
from tilewright.dialects.ttg.memory import LocalDeallocOp
from tilewright.dialects.ttg.warps import WarpSpecializeOp, WarpSpecializePartitionsOp
from tilewright.dialects.ttng import (
    TMAStoreTokenWaitOp,
    TMAStoreWaitOp,
    WarpGroupDotOp,
    WarpGroupDotWaitOp,
)

_UNCOMMITTED = -1
_OLDEST = 64
"""Ages above any group count that a wait names."""

_IN_ORDER = (Engine.WGMMA, Engine.TMA_STORE)


@dataclass(frozen=True)
class Item:
    """Work of one op on one buffer. `exact` is the element while its index is still the same."""

    engine: Engine
    age: int = 0
    reports: Mapping[AllocationOp, frozenset[int]] | None = None
    exact: tuple[tuple[AllocationOp, SSAValue], ...] = ()
    foreign: bool = False
    """Whether other threads than the executing ones have started it."""

    def older(self) -> Item:
        return replace(self, age=min(self.age + 1, _OLDEST))

    def reported(self, slot: Slot) -> Item:
        """The same work with one more barrier that signals its completion."""
        reports = {**(self.reports or {}), slot.root: slot.possible}
        exact = self.exact
        if isinstance(slot.index, SSAValue):
            exact = (*exact, (slot.root, slot.index))
        return replace(self, reports=reports, exact=exact)

    def after_wait(self, slot: Slot) -> Item | None:
        """What is left after a wait for `slot`; None for nothing."""
        reports = self.reports or {}
        open_slots = reports.get(slot.root)
        if open_slots is None:
            return self
        if isinstance(slot.index, SSAValue) and (slot.root, slot.index) in self.exact:
            return None
        if not isinstance(slot.index, int):
            return None if len(open_slots) == 1 and slot.count == 1 else self
        rest = open_slots - {slot.index}
        return replace(self, reports={**reports, slot.root: rest}) if rest else None

    def joined(self, other: Item) -> Item:
        own, others = self.reports or {}, other.reports or {}
        reports = {root: own[root] | others[root] for root in own if root in others}
        exact = tuple(each for each in self.exact if each in other.exact)
        age, foreign = min(self.age, other.age), self.foreign or other.foreign
        return Item(self.engine, age, reports, exact, foreign)


Key = tuple[AllocationOp, Operation]
State = dict[Key, Item]


class PendingWork:
    """For every point, the work that may be unfinished when control gets there."""

    def __init__(self, flow: Flow, roots: BufferRoots) -> None:
        self._flow = flow
        self._roots = roots
        self._drained = {op: drained_barriers(op, roots) for op in flow.specialized}
        self._parities = Parities(flow, roots)
        self.before: list[State] = [{} for _ in flow.points]
        self._solve()

    def _solve(self) -> None:
        pending = list(range(len(self._flow)))
        queued = [True] * len(self._flow)
        while pending:
            pending.sort(reverse=True)
            index = pending.pop()
            queued[index] = False
            after = self._after(index)
            for target in self._flow.successors[index]:
                crossed = after if target == index + 1 else _across(after)
                if self._merge(target, crossed) and not queued[target]:
                    queued[target] = True
                    pending.append(target)

    def _merge(self, target: int, arriving: State) -> bool:
        state = self.before[target]
        changed = False
        for key, item in arriving.items():
            known = state.get(key)
            joined = item if known is None else known.joined(item)
            if joined != known:
                state[key] = joined
                changed = True
        return changed

    def _after(self, index: int) -> State:
        point = self._flow.points[index]
        state = self.before[index]
        if point.is_exit:
            if isinstance(point.op, WarpSpecializeOp):
                return self._joined(point.op, state)
            if isinstance(point.op, WarpSpecializePartitionsOp):
                return {k: _abroad(i) for k, i in state.items() if point.op.is_ancestor(k[1])}
            return state
        if isinstance(point.op, WarpSpecializePartitionsOp):
            return {key: _abroad(item) for key, item in state.items()}
        if not (isinstance(point.op, WaitBarrierOp) and self._parities.is_stale(index, point.op)):
            state = self._waited(point.op, state)
        return self._started(point.op, state)

    def _joined(self, op: WarpSpecializeOp, state: State) -> State:
        """Work of partitions that other partitions have certainly waited for is complete when all
        are done."""
        gone = self._drained[op]
        return {
            (root, source): item
            for (root, source), item in state.items()
            if not (gone & {*(item.reports or {})} and op.is_ancestor(source))
        }

    # -- ends ------------------------------------------------------------------------------------

    def _waited(self, op: Operation, state: State) -> State:
        if isinstance(op, LocalDeallocOp):
            ended = self._roots.of(op.src)
            return {k: i for k, i in state.items() if not (len(ended) == 1 and k[0] in ended)}
        if isinstance(op, AsyncWaitOp):
            return _finished(state, Engine.CP_ASYNC, op.num.value.data)
        if isinstance(op, WarpGroupDotWaitOp):
            return _finished(state, Engine.WGMMA, op.pendings.value.data)
        if isinstance(op, WarpGroupDotOp) and engine_of(op) is Engine.NOW:
            return _finished(state, Engine.WGMMA, 0)
        if isinstance(op, TMAStoreWaitOp):
            return _finished(state, Engine.TMA_STORE, op.pendings.value.data)
        if isinstance(op, TMAStoreTokenWaitOp):
            return {k: i for k, i in state.items() if k[1] is not op.token.owner}
        if isinstance(op, InvalBarrierOp):
            return self._barrier_waited(op.alloc, state)
        if isinstance(op, WaitBarrierOp) and is_true(op.pred):
            return self._barrier_waited(op.alloc, state)
        return state

    def _barrier_waited(self, barrier: SSAValue, state: State) -> State:
        slot = slot_of(barrier, self._roots)
        if slot is None:
            return state
        left = {key: item.after_wait(slot) for key, item in state.items()}
        return {key: item for key, item in left.items() if item is not None}

    # -- beginnings ------------------------------------------------------------------------------

    def _started(self, op: Operation, state: State) -> State:
        engine = engine_of(op)
        if isinstance(op, AsyncCommitGroupOp):
            return _aged(state, Engine.CP_ASYNC)
        if engine in _IN_ORDER:
            state = _aged(state, engine)
        slots = [
            slot
            for signal in signals(op)
            if signal.certain and (slot := slot_of(signal.barrier, self._roots)) is not None
        ]
        fresh = self._items(op, engine)
        if engine is Engine.TENSOR_CORE or op.name == "ttng.tc_gen5_commit":
            state = {
                key: _with_signals(item, slots) if _is_ours(item, Engine.TENSOR_CORE) else item
                for key, item in state.items()
            }
        after = dict(state)
        for key, item in fresh:
            # Work that the same op started in an earlier iteration may still be in flight when it
            # starts again.
            earlier = state.get(key)
            signalled = _with_signals(item, slots)
            after[key] = signalled if earlier is None else signalled.joined(earlier)
        return after

    def _items(self, op: Operation, engine: Engine) -> Iterator[tuple[Key, Item]]:
        for effect in operand_effects(op):
            if effect.engine is Engine.NOW:
                continue
            age = _UNCOMMITTED if engine is Engine.CP_ASYNC else 0
            for root in self._roots.of(effect.value):
                if root is not None:
                    yield (root, op), Item(effect.engine, age)


def _with_signals(item: Item, slots: list[Slot]) -> Item:
    for slot in slots:
        item = item.reported(slot)
    return item


def _is_ours(item: Item, engine: Engine) -> bool:
    return item.engine is engine and not item.foreign


def _abroad(item: Item) -> Item:
    return replace(item, foreign=True)


def _finished(state: State, engine: Engine, left: int) -> State:
    return {k: i for k, i in state.items() if not _is_ours(i, engine) or i.age < left}


def _aged(state: State, engine: Engine) -> State:
    return {k: i.older() if _is_ours(i, engine) else i for k, i in state.items()}


def _across(state: State) -> State:
    """The same work after a jump, where computed indices may denote other barriers."""
    return {key: replace(item, exact=()) if item.exact else item for key, item in state.items()}
