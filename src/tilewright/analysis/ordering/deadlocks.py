"""The cause of a deadlock, from the history of the barriers that tasks wait for.

Whether a byte count, a parity or an arrive count is to blame follows from the signals that the
barrier has got. In this order, over all tasks that wait:

    expected and completed bytes differ                             bytes
    a phase is complete that the waiting task has not observed      phase
    two are, so that the parity is the same again                   count, or wait
    all tasks that arrive have, and they are too few                count
    nothing in the program signals it                               arrive
    a task passed its own wait in a ring buffer more often than it has
    arrived in return                                               arrive
    a task is blocked before the arrival that is owed               phase (of its wait)
    a named barrier lacks a task in the same way                    arrive
    a phase completed that no task has waited for, and is skipped   phase
    a slot of a ring buffer has fewer phases than the next one      arrive
    no task has arrived yet, and all that could are blocked too     phase (of the first wait)
    a task that arrives elsewhere has not arrived here              arrive

In a ring buffer both sides may block at first: the producer must not wait for a parity that only
the consumer can complete. Its barrier is the one that gets no bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.analysis.concurrency import passes
from tilewright.analysis.ordering.barriers import (
    Generations,
    NamedBarrierRound,
    Signal,
    index_of,
    short_task,
)
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.findings import Cause, Remark, counted, parity_fix
from tilewright.analysis.ordering.history import PossibleSignal

_DELIVERS = frozenset(("tma", "copy", "bulk"))
"""Parts of the names of ops that complete bytes and do not arrive."""


@dataclass(frozen=True)
class BlockedWait:
    """A task that waits forever for an mbarrier."""

    agent: Agent
    barrier: Generations
    parity: int
    site: int
    possible: Sequence[PossibleSignal] = ()
    """Ops of the program that signal the barrier."""

    def __str__(self) -> str:
        return f"{self.agent.name} waits for parity {self.parity} of {self.barrier.name}"


@dataclass(frozen=True)
class BlockedNamedBarrier:
    """A task that waits forever at a named barrier."""

    task: str
    name: str
    missing: str
    """The arrivals: `128 of 256 threads arrived`."""
    site: int

    def __str__(self) -> str:
        return f"{self.task} waits on {self.name}"


def blame(
    waits: Sequence[BlockedWait],
    named: Sequence[BlockedNamedBarrier] = (),
    barriers: Sequence[Generations] = (),
    rounds: Sequence[NamedBarrierRound] = (),
) -> tuple[BlockedWait | BlockedNamedBarrier, Cause] | None:
    """The most informative of the waits, and what is wrong with its barrier."""
    names = [each.agent.name for each in waits] + [each.task for each in named]
    blocked = set(map(short_task, names))
    is_known = any(wait.possible for wait in waits)
    # A task outside a cycle of waits is a victim of the deadlock, not its cause.
    ordered = sorted(waits, key=lambda each: not _is_in_circle(each, waits))
    for rule in (_bytes, _phase, _missed, _count, _no_signal):
        if rule is _no_signal and not is_known:
            continue
        for wait in ordered:
            cause = rule(wait, blocked)
            if cause is not None:
                return wait, cause
    circle = [each for each in ordered if _is_in_circle(each, waits)]
    if not circle and len({each.name for each in named}) > 1:  # the tasks wait for each other
        return _max_absence(named, rounds)
    for among, is_strict in ((circle or ordered, False), (ordered, True)):
        owing = max(among, key=lambda each: _debt(each, barriers, is_strict), default=None)
        if owing is not None and _debt(owing, barriers, is_strict) > 0:
            return _root(owing, waits, named, barriers, rounds)
    for wait in circle:
        cause = _untaken(wait) or _uneven(wait, barriers)
        if cause is not None:
            return wait, cause
    short = [each for each in circle or ordered if 0 < _arrived(each) < each.barrier.count]
    paid_up = [each for each in short if _debt(each, barriers) <= 0]
    if paid_up and is_known:
        return paid_up[0], _too_many(paid_up[0])
    if named and not circle:
        return _max_absence(named, rounds)
    for wait in ordered:
        cause = _first_wait(wait, blocked)
        if cause is not None:
            return wait, cause
    return (ordered[0], _arrive(ordered[0])) if ordered else None


def _root(
    owing: BlockedWait,
    waits: Sequence[BlockedWait],
    named: Sequence[BlockedNamedBarrier],
    barriers: Sequence[Generations],
    rounds: Sequence[NamedBarrierRound],
) -> tuple[BlockedWait | BlockedNamedBarrier, Cause]:
    """Why an arrival that is owed is missing, if the wait that blocks its task is known."""
    absent = _absent(owing)
    held = [each for each in named if short_task(each.task) in absent]
    if held and len(held) == len(absent) and any(_absence(each, rounds) > 0 for each in held):
        return _max_absence(held, rounds)
    for wait in waits:
        ahead = _ahead(wait, owing, barriers) if wait is not owing else None
        if ahead is not None:
            return wait, _too_far(wait, owing, ahead)
    return owing, _arrive(owing)


def _absent(wait: BlockedWait) -> set[str]:
    """Tasks that arrive on a barrier by the program, and have not in the current phase."""
    came = {short_task(each.task) for each in _current(wait.barrier) if each.kind == "arrive"}
    return {each.task for each in wait.possible if _arrives(each)} - came


def _signallers(barrier: Generations) -> set[str]:
    return {each.task for each in barrier.signals}


def _arrives(signal: PossibleSignal) -> bool:
    return not _DELIVERS & set(signal.op.split("_"))


def _ahead(
    wait: BlockedWait, owing: BlockedWait, barriers: Sequence[Generations]
) -> PossibleSignal | None:
    """The arrival that a blocked task has yet to reach, if its own wait depends on that arrival."""
    me = short_task(wait.agent.name)
    if me not in _absent(owing) or owing.agent.name not in _signallers(wait.barrier):
        return None
    is_slot = index_of(wait.barrier.name) == index_of(owing.barrier.name)
    if not is_slot or wait.barrier.owner not in _responses(owing, barriers):
        return None
    made = {
        signal.site
        for each in _array(owing.barrier, barriers)
        for signal in each.signals
        if signal.task == wait.agent.name
    }
    left = [
        each
        for each in owing.possible
        if each.task == me and _arrives(each) and each.site not in made
    ]
    is_on_the_way = bool(made) and _is_in_order(wait, owing, barriers)
    return left[0] if left and (is_on_the_way or _skips(wait, barriers)) else None


def _array(barrier: Generations, barriers: Sequence[Generations]) -> list[Generations]:
    return [each for each in barriers if each.owner == barrier.owner]


def _responses(owing: BlockedWait, barriers: Sequence[Generations]) -> set[str]:
    """The arrays that a task signals first after its waits for an array."""
    own = owing.agent.name
    signals = sorted(
        (signal.event, each.owner)
        for each in barriers
        for signal in each.signals
        if signal.task == own and not signal.operation
    )
    waits = [
        record.event for each in _array(owing.barrier, barriers) for record in each.waits_of(own)
    ]
    following = (next((o for event, o in signals if event > at), "") for at in waits)
    return set(following) - {""}


def _is_in_order(wait: BlockedWait, owing: BlockedWait, barriers: Sequence[Generations]) -> bool:
    """Whether a task has omitted no arrival so far: it has not been here since its last one, and
    has released no slot that it acquired after the one it owes."""
    own = wait.agent.name
    released = {
        index_of(each.name): signal.event
        for each in _array(owing.barrier, barriers)
        for signal in each.signals
        if signal.task == own
    }
    last = max(released.values())
    came = [each for barrier in barriers for each in barrier.waits_of(own)]
    if any(each.event > last and each.site == wait.site for each in came):
        return False
    taken = {
        index_of(each.name): records[-1].event
        for each in _array(wait.barrier, barriers)
        if (records := each.waits_of(own))
    }
    owed = taken.get(index_of(owing.barrier.name), 0)
    return not any(owed < taken.get(slot, 0) < event for slot, event in released.items())


def _skips(wait: BlockedWait, barriers: Sequence[Generations]) -> bool:
    """Whether a task waits again for a slot while another slot is full that it has not acquired."""
    own, agent = wait.barrier, wait.agent
    for other in barriers:
        is_ring = other.owner == own.owner and _signallers(other) == _signallers(own)
        is_shared = not other.waiters or bool(set(other.waiters) & set(own.waiters))
        if other is own or not (is_ring and is_shared) or agent.name in _signallers(own):
            continue
        observed = other.observed_by(agent)
        if observed < min(len(other.phases), own.observed_by(agent)):
            return True
    return False


def _too_far(wait: BlockedWait, owing: BlockedWait, ahead: PossibleSignal) -> Cause:
    me, other = wait.agent.name, owing.agent.name
    missing = (
        f"{me} waits for a phase of {wait.barrier.name} that {other} completes only after {me} has "
        f"arrived on {owing.barrier.name}, which {me} does later"
    )
    fix = Remark("wait for an earlier phase here, or arrive first", wait.site)
    details = (Remark(f"{me} arrives on {owing.barrier.owner} here", ahead.site),)
    return Cause("phase", missing, fix, wait.barrier.owner, details)


def _debt(wait: BlockedWait, barriers: Sequence[Generations], is_strict: bool = False) -> int:
    """How many arrivals are owed: waits in the ring buffer that the arriving tasks have passed.

    In a ring buffer each side responds to every wait that it passes with a signal for the same
    slot. If `is_strict`, the last wait that a task has passed is not owed for yet.
    """
    barrier, me = wait.barrier, short_task(wait.agent.name)
    helpers = {each.task for each in wait.possible}
    own = [
        each
        for each in barriers
        if each is not barrier
        and index_of(each.name) == index_of(barrier.name)
        and me in {short_task(signal.task) for signal in each.signals}
    ]
    last: dict[str, int] = {}
    for each in barriers:
        for record in each.waits:
            last[record.task] = max(record.event, last.get(record.task, 0))
    passed = [
        (each.key, record)
        for each in own
        for record in each.waits
        if short_task(record.task) in helpers
        and not (is_strict and record.event == last[record.task])
    ]
    first: dict[str, int] = {}
    for _, record in passed:
        first[record.task] = min(record.event, first.get(record.task, record.event))
    # A task that waits for a phase again owes nothing for that; an arrival before the first wait,
    # which lets other tasks begin, does not count.
    owed = len({(key, record.task, record.guaranteed) for key, record in passed})
    came = sum(
        1
        for each in barrier.signals
        if each.kind == "arrive"
        and short_task(each.task) in helpers
        and each.event > first.get(each.task, 0)
    )
    return owed - came


def _absence(barrier: BlockedNamedBarrier, rounds: Sequence[NamedBarrierRound]) -> int:
    """The same for a named barrier: how many more times another task passed than it arrived."""
    others = {task for each in rounds for task in each.came} - {barrier.task}
    found = [0]
    for other in sorted(others):
        passed = sum(1 for each in rounds if barrier.task in each.came and other in each.went)
        came = sum(1 for each in rounds if each.name == barrier.name and other in each.came)
        found.append(passed - came)
    return max(found)


def _max_absence(
    named: Sequence[BlockedNamedBarrier], rounds: Sequence[NamedBarrierRound]
) -> tuple[BlockedNamedBarrier, Cause]:
    barrier = max(named, key=lambda each: _absence(each, rounds))
    fix = Remark("make as many threads arrive as specified here", barrier.site)
    return barrier, Cause("arrive", f"{barrier.missing} on {barrier.name}", fix, barrier.name)


def _is_in_circle(wait: BlockedWait, waits: Sequence[BlockedWait]) -> bool:
    """Whether the task waits, by way of others, for itself."""
    helpers: dict[str, set[str]] = {}
    for each in waits:
        own = short_task(each.agent.name)
        names = helpers.setdefault(own, set())
        names.update(signal.task for signal in each.possible if signal.task != own)
    me = short_task(wait.agent.name)
    pending, seen = [me], set[str]()
    while pending:
        for name in sorted(helpers.get(pending.pop(), ())):
            if name == me:
                return True
            if name not in seen:
                seen.add(name)
                pending.append(name)
    return False


def _current(barrier: Generations) -> list[Signal]:
    """The signals of the current phase."""
    return [each for each in barrier.signals if each.phase == len(barrier.phases)]


def _sum(signals: Sequence[Signal], kind: str) -> int:
    return sum(each.amount for each in signals if each.kind == kind)


def _bytes(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    barrier, current = wait.barrier, _current(wait.barrier)
    expected, delivered = _sum(current, "expect"), _sum(current, "deliver")
    if expected == delivered:
        return None
    completions = [
        Remark(f"{each.operation} completes {counted(each.amount, 'byte')}", each.site)
        for each in current
        if each.kind == "deliver"
    ]
    expect = next((each for each in current if each.kind == "expect"), None)
    missing = (
        f"{counted(expected, 'byte')} expected on {barrier.name} in phase "
        f"{len(barrier.phases)}, {delivered} completed"
    )
    if expect is None:
        fix = Remark(
            f"call tlx.barrier_expect_bytes with {delivered} before this", completions[0].site
        )
    elif not delivered:
        fix = Remark("issue a load that signals it, or expect no bytes here", expect.site)
    else:
        fix = Remark(f"expect {counted(delivered, 'byte')} here", expect.site)
    return Cause("bytes", missing, fix, barrier.owner, tuple(completions))


def _phase(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    barrier = wait.barrier
    observed, ended = barrier.observed_by(wait.agent), len(barrier.phases)
    if ended <= observed or not passes(observed, wait.parity):
        return None
    missing = (
        f"{counted(ended, 'phase')} of {barrier.name} completed, {wait.agent.name} has observed "
        f"{observed} and waits for parity {wait.parity}; the next one has parity {observed & 1}"
    )
    fix = parity_fix(observed, wait.site)
    return Cause("phase", missing, fix, barrier.owner)


def _missed(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    """The phase it waits for has completed, and the next one too: the parity is the same again."""
    barrier = wait.barrier
    observed, ended = barrier.observed_by(wait.agent), len(barrier.phases)
    if ended < observed + 2:
        return None
    arrivers = barrier.arrivers()
    missing = (
        f"{ended - observed} phases of {barrier.name} completed before {wait.agent.name} waits "
        f"for the first of them; {' and '.join(arrivers)} arrive"
    )
    if len(arrivers) > barrier.count:
        fix = Remark(f"use arrive_count={len(arrivers)}", barrier.site)
        return Cause("count", missing, fix, barrier.owner)
    again = barrier.signals[-1]
    fix = Remark(f"wait until {wait.agent.name} is ready before this arrival", again.site)
    return Cause("wait", missing, fix, barrier.owner)


def _untaken(wait: BlockedWait) -> Cause | None:
    """A phase has completed that no task has waited for, and its task waits for the one after
    that."""
    barrier = wait.barrier
    taken = max((each.guaranteed for each in barrier.waits), default=0)
    if len(barrier.phases) <= taken or not passes(taken, wait.parity):
        return None
    missing = (
        f"{counted(len(barrier.phases), 'phase')} of {barrier.name} completed, of which {taken} "
        f"were waited for; {wait.agent.name} waits for parity {wait.parity}, the next one has "
        f"parity {taken & 1}"
    )
    fix = parity_fix(taken, wait.site)
    return Cause("phase", missing, fix, barrier.owner)


def _uneven(wait: BlockedWait, barriers: Sequence[Generations]) -> Cause | None:
    """Slots of a ring buffer are signalled in order: one with fewer phases than the next one lacks
    an arrival."""
    barrier = wait.barrier
    array = [each for each in _array(barrier, barriers) if _is_beside(each, barrier)]
    own = array.index(barrier)
    for i, other in enumerate(array):
        if len(other.phases) > len(barrier.phases) + (1 if i < own else 0):
            return _arrive(wait)
    return None


def _is_beside(other: Generations, barrier: Generations) -> bool:
    """Whether the same tasks signal another barrier, as far as any did."""
    return not barrier.signals or _signallers(other) == _signallers(barrier)


def _arrived(wait: BlockedWait) -> int:
    return _sum(_current(wait.barrier), "arrive")


def _count(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    barrier, current = wait.barrier, _current(wait.barrier)
    tasks = {short_task(each.task) for each in current if each.kind == "arrive"}
    absent = [each for each in wait.possible if _arrives(each) and each.task not in tasks]
    if not 0 < _arrived(wait) < barrier.count or absent:
        return None
    return _too_many(wait)


def _too_many(wait: BlockedWait) -> Cause:
    """A barrier whose arrive count exceeds the arrivals."""
    barrier, arrived = wait.barrier, _arrived(wait)
    missing = (
        f"{barrier.name} is initialised with arrive count {barrier.count}, but only {arrived} "
        "can arrive in a phase"
    )
    fix = Remark(f"use arrive_count={arrived}", barrier.site)
    return Cause("count", missing, fix, barrier.owner)


def _no_signal(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    """Nothing in the program signals the barrier."""
    return None if wait.possible else _arrive(wait)


def _first_wait(wait: BlockedWait, blocked: set[str]) -> Cause | None:
    """A wait for a newly initialised barrier that only blocked tasks could signal."""
    barrier, possible = wait.barrier, wait.possible
    gets_bytes = any("expect" in each.op or "tma" in each.op for each in possible)
    if barrier.signals or not possible or gets_bytes or wait.parity != 0:
        return None
    if any(each.task not in blocked for each in possible):
        return None
    missing = (
        f"{barrier.name} is newly initialised, and every task that arrives on it is blocked too: "
        "the first wait has to pass"
    )
    fix = Remark("wait for parity 1 first: it passes on a newly initialised barrier", wait.site)
    return Cause("phase", missing, fix, barrier.owner)


def _arrive(wait: BlockedWait) -> Cause:
    barrier, current = wait.barrier, _current(wait.barrier)
    arrived = _sum(current, "arrive")
    missing = (
        f"{arrived} of {counted(barrier.count, 'arrival')} on {barrier.name} in phase "
        f"{len(barrier.phases)}"
    )
    signalled = {each.site for each in current}
    late = _absent(wait)
    left = [each for each in wait.possible if each.site not in signalled]
    absent = next((each for each in left if each.task in late), left[0] if left else None)
    if absent is None:
        fix = Remark(f"no task arrives on {barrier.owner}: add an arrival", wait.site)
    else:
        fix = Remark(
            f"make {absent.task} arrive on it: here it signals {barrier.owner}", absent.site
        )
    return Cause("arrive", missing, fix, barrier.owner)
