"""Why nobody can go on: what the history of a barrier says about the task that waits for it.

A deadlock is plain; whether a byte count, a parity or an arrive count is to blame is told by what
the barrier has got. In this order, over all tasks that wait:

    announced and delivered bytes differ                            bytes
    a phase is complete that the waiting task does not know of      phase
    two are, so that the parity is the same again                   count, or wait
    everyone who arrives has, and it is not enough                  count
    nothing in the program signals it                               arrive
    a task passed its own wait in a ring more often than it has
    arrived in return                                               arrive
    a task is stuck in front of the arrival that is owed            phase (of its wait)
    a barrier of threads is short of a task in the same way         arrive
    a phase ended for which nobody has waited, and is skipped       phase
    a slot of a ring lags behind the next one                       arrive
    nobody has arrived yet, and all who could are stuck themselves  phase (of the first wait)
    somebody who arrives elsewhere has not                          arrive

In a ring both sides may be stuck at first: the side that fills it must not wait for a parity that
only the other side can end. It is the one whose barrier gets no bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.analysis.ordering.barriers import (
    Generations,
    NamedBarrierRound,
    Signal,
    index_of,
    short_task,
)
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.findings import Cause, Remark, counted
from tilewright.analysis.ordering.history import PossibleSignal

_DELIVERS = frozenset(("tma", "copy", "bulk"))
"""Words in the names of ops that bring bytes and do not arrive."""


@dataclass(frozen=True)
class StuckWait:
    """A task that waits in vain for a barrier."""

    strand: Agent
    barrier: Generations
    parity: int
    place: int
    possible: Sequence[PossibleSignal] = ()
    """Ops of the program that signal the barrier."""

    def __str__(self) -> str:
        return f"{self.strand.name} waits for parity {self.parity} of {self.barrier.name}"


@dataclass(frozen=True)
class StuckGate:
    """A task that waits in vain at a barrier of threads."""

    task: str
    name: str
    missing: str
    """Who came: `128 of 256 threads came`."""
    place: int

    def __str__(self) -> str:
        return f"{self.task} waits at {self.name}"


def blame(
    waits: Sequence[StuckWait],
    gates: Sequence[StuckGate] = (),
    barriers: Sequence[Generations] = (),
    meetings: Sequence[NamedBarrierRound] = (),
) -> tuple[StuckWait | StuckGate, Cause] | None:
    """The most telling of the waits, and what is wrong with its barrier."""
    names = [each.strand.name for each in waits] + [each.task for each in gates]
    stuck = set(map(short_task, names))
    is_known = any(wait.possible for wait in waits)
    # Tasks that are not part of a circle suffer from the mistake; they do not make it.
    ordered = sorted(waits, key=lambda each: not _is_in_circle(each, waits))
    for rule in (_bytes, _phase, _missed, _count, _nobody):
        if rule is _nobody and not is_known:
            continue
        for wait in ordered:
            cause = rule(wait, stuck)
            if cause is not None:
                return wait, cause
    circle = [each for each in ordered if _is_in_circle(each, waits)]
    if not circle and len({each.name for each in gates}) > 1:  # they wait for each other there
        return _most_wanted(gates, meetings)
    for among, is_strict in ((circle or ordered, False), (ordered, True)):
        owing = max(among, key=lambda each: _debt(each, barriers, is_strict), default=None)
        if owing is not None and _debt(owing, barriers, is_strict) > 0:
            return _root(owing, waits, gates, barriers, meetings)
    for wait in circle:
        cause = _untaken(wait) or _uneven(wait, barriers)
        if cause is not None:
            return wait, cause
    short = [each for each in circle or ordered if 0 < _arrived(each) < each.barrier.count]
    settled = [each for each in short if _debt(each, barriers) <= 0]
    if settled and is_known:
        return settled[0], _too_many(settled[0])
    if gates and not circle:
        return _most_wanted(gates, meetings)
    for wait in ordered:
        cause = _first_wait(wait, stuck)
        if cause is not None:
            return wait, cause
    return (ordered[0], _arrive(ordered[0])) if ordered else None


def _root(
    owing: StuckWait,
    waits: Sequence[StuckWait],
    gates: Sequence[StuckGate],
    barriers: Sequence[Generations],
    meetings: Sequence[NamedBarrierRound],
) -> tuple[StuckWait | StuckGate, Cause]:
    """Why an arrival that is owed does not come, if it is known where its task is stuck."""
    absent = _absent(owing)
    held = [each for each in gates if short_task(each.task) in absent]
    if held and len(held) == len(absent) and any(_absence(each, meetings) > 0 for each in held):
        return _most_wanted(held, meetings)
    for wait in waits:
        ahead = _ahead(wait, owing, barriers) if wait is not owing else None
        if ahead is not None:
            return wait, _too_far(wait, owing, ahead)
    return owing, _arrive(owing)


def _absent(wait: StuckWait) -> set[str]:
    """Tasks that arrive on a barrier by the program, and have not in the phase under way."""
    came = {short_task(each.task) for each in _current(wait.barrier) if each.kind == "arrive"}
    return {each.task for each in wait.possible if _arrives(each)} - came


def _signallers(barrier: Generations) -> set[str]:
    return {each.task for each in barrier.signals}


def _arrives(signal: PossibleSignal) -> bool:
    return not _DELIVERS & set(signal.op.split("_"))


def _ahead(
    wait: StuckWait, owing: StuckWait, barriers: Sequence[Generations]
) -> PossibleSignal | None:
    """The arrival that a task is stuck in front of, if it waits for what only that brings."""
    me = short_task(wait.strand.name)
    if me not in _absent(owing) or owing.strand.name not in _signallers(wait.barrier):
        return None
    is_slot = index_of(wait.barrier.name) == index_of(owing.barrier.name)
    if not is_slot or wait.barrier.owner not in _answers(owing, barriers):
        return None
    made = {
        signal.place
        for each in _array(owing.barrier, barriers)
        for signal in each.signals
        if signal.task == wait.strand.name
    }
    left = [
        each
        for each in owing.possible
        if each.task == me and _arrives(each) and each.place not in made
    ]
    is_on_the_way = bool(made) and _is_in_order(wait, owing, barriers)
    return left[0] if left and (is_on_the_way or _skips(wait, barriers)) else None


def _array(barrier: Generations, barriers: Sequence[Generations]) -> list[Generations]:
    return [each for each in barriers if each.owner == barrier.owner]


def _answers(owing: StuckWait, barriers: Sequence[Generations]) -> set[str]:
    """The arrays that a task signals first after its waits for an array."""
    mine = owing.strand.name
    signals = sorted(
        (signal.event, each.owner)
        for each in barriers
        for signal in each.signals
        if signal.task == mine and not signal.operation
    )
    waits = [
        record.event for each in _array(owing.barrier, barriers) for record in each.waits_of(mine)
    ]
    following = (next((o for event, o in signals if event > at), "") for at in waits)
    return set(following) - {""}


def _is_in_order(wait: StuckWait, owing: StuckWait, barriers: Sequence[Generations]) -> bool:
    """Whether a task has forgotten no arrival so far: it has not come by here since its last one,
    and what it took after the slot that it owes, it has not handed back either."""
    mine = wait.strand.name
    handed = {
        index_of(each.name): signal.event
        for each in _array(owing.barrier, barriers)
        for signal in each.signals
        if signal.task == mine
    }
    last = max(handed.values())
    came = [each for barrier in barriers for each in barrier.waits_of(mine)]
    if any(each.event > last and each.place == wait.place for each in came):
        return False
    taken = {
        index_of(each.name): records[-1].event
        for each in _array(wait.barrier, barriers)
        if (records := each.waits_of(mine))
    }
    owed = taken.get(index_of(owing.barrier.name), 0)
    return not any(owed < taken.get(slot, 0) < event for slot, event in handed.items())


def _skips(wait: StuckWait, barriers: Sequence[Generations]) -> bool:
    """Whether a task waits again for a slot while another one is full that it has not taken."""
    mine, strand = wait.barrier, wait.strand
    for other in barriers:
        is_ring = other.owner == mine.owner and _signallers(other) == _signallers(mine)
        is_shared = not other.waiters or bool(set(other.waiters) & set(mine.waiters))
        if other is mine or not (is_ring and is_shared) or strand.name in _signallers(mine):
            continue
        known = other.known_to(strand)
        if known < min(len(other.phases), mine.known_to(strand)):
            return True
    return False


def _too_far(wait: StuckWait, owing: StuckWait, ahead: PossibleSignal) -> Cause:
    me, other = wait.strand.name, owing.strand.name
    missing = (
        f"{me} waits for a phase of {wait.barrier.name} that {other} can only end after {me} has "
        f"arrived on {owing.barrier.name}, which it does later"
    )
    fix = Remark("wait here for a phase that comes before that, or arrive first", wait.place)
    details = (Remark(f"{me} arrives on {owing.barrier.owner} here", ahead.place),)
    return Cause("phase", missing, fix, wait.barrier.owner, details)


def _debt(wait: StuckWait, barriers: Sequence[Generations], is_strict: bool = False) -> int:
    """How many arrivals are owed: waits in the ring that those who arrive have passed.

    In a ring each side answers every wait that it passes with a signal for the same slot. To be
    strict, the last wait that a task has passed is not owed for yet.
    """
    barrier, me = wait.barrier, short_task(wait.strand.name)
    helpers = {each.task for each in wait.possible}
    mine = [
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
        for each in mine
        for record in each.waits
        if short_task(record.task) in helpers
        and not (is_strict and record.event == last[record.task])
    ]
    first: dict[str, int] = {}
    for _, record in passed:
        first[record.task] = min(record.event, first.get(record.task, record.event))
    # Who waits for a phase again owes nothing for that; who arrives before its first wait, to let
    # the others begin, has paid nothing back.
    owed = len({(key, record.task, record.sure) for key, record in passed})
    came = sum(
        1
        for each in barrier.signals
        if each.kind == "arrive"
        and short_task(each.task) in helpers
        and each.event > first.get(each.task, 0)
    )
    return owed - came


def _absence(gate: StuckGate, meetings: Sequence[NamedBarrierRound]) -> int:
    """The same for a barrier of threads: how often another task passed where this one came."""
    others = {task for each in meetings for task in each.came} - {gate.task}
    found = [0]
    for other in sorted(others):
        passed = sum(1 for each in meetings if gate.task in each.came and other in each.went)
        came = sum(1 for each in meetings if each.name == gate.name and other in each.came)
        found.append(passed - came)
    return max(found)


def _most_wanted(
    gates: Sequence[StuckGate], meetings: Sequence[NamedBarrierRound]
) -> tuple[StuckGate, Cause]:
    gate = max(gates, key=lambda each: _absence(each, meetings))
    fix = Remark("let as many threads come to it as are told here", gate.place)
    return gate, Cause("arrive", f"{gate.missing} to {gate.name}", fix, gate.name)


def _is_in_circle(wait: StuckWait, waits: Sequence[StuckWait]) -> bool:
    """Whether the task waits, by way of others, for itself."""
    helpers: dict[str, set[str]] = {}
    for each in waits:
        mine = short_task(each.strand.name)
        names = helpers.setdefault(mine, set())
        names.update(signal.task for signal in each.possible if signal.task != mine)
    me = short_task(wait.strand.name)
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
    """What the phase under way has got."""
    return [each for each in barrier.signals if each.phase == len(barrier.phases)]


def _sum(signals: Sequence[Signal], kind: str) -> int:
    return sum(each.amount for each in signals if each.kind == kind)


def _bytes(wait: StuckWait, stuck: set[str]) -> Cause | None:
    barrier, current = wait.barrier, _current(wait.barrier)
    announced, delivered = _sum(current, "expect"), _sum(current, "deliver")
    if announced == delivered:
        return None
    places = [
        Remark(f"{each.operation} brings {counted(each.amount, 'byte')}", each.place)
        for each in current
        if each.kind == "deliver"
    ]
    expect = next((each for each in current if each.kind == "expect"), None)
    missing = (
        f"{counted(announced, 'byte')} are announced to {barrier.name} in phase "
        f"{len(barrier.phases)}, {delivered} are delivered"
    )
    if expect is None:
        fix = Remark(f"tlx.barrier_expect_bytes of {delivered} before this", places[0].place)
    elif not delivered:
        fix = Remark("issue a load that reports to it, or announce nothing here", expect.place)
    else:
        fix = Remark(f"announce {counted(delivered, 'byte')} here", expect.place)
    return Cause("bytes", missing, fix, barrier.owner, tuple(places))


def _phase(wait: StuckWait, stuck: set[str]) -> Cause | None:
    barrier = wait.barrier
    known, ended = barrier.known_to(wait.strand), len(barrier.phases)
    if ended <= known or (known & 1) == wait.parity:
        return None
    missing = (
        f"{counted(ended, 'phase')} of {barrier.name} ended, of which {wait.strand.name} knows "
        f"{known}; it waits for parity {wait.parity}, the next one has parity {known & 1}"
    )
    fix = Remark(f"wait for parity {known & 1} here", wait.place)
    return Cause("phase", missing, fix, barrier.owner)


def _missed(wait: StuckWait, stuck: set[str]) -> Cause | None:
    """The phase it waits for has ended, and the next one too: the parity is the same again."""
    barrier = wait.barrier
    known, ended = barrier.known_to(wait.strand), len(barrier.phases)
    if ended < known + 2:
        return None
    arrivers = barrier.arrivers()
    missing = (
        f"{ended - known} phases of {barrier.name} ended before {wait.strand.name} came to wait "
        f"for the first of them; {' and '.join(arrivers)} arrive"
    )
    if len(arrivers) > barrier.count:
        fix = Remark(f"make it with arrive_count={len(arrivers)}", barrier.place)
        return Cause("count", missing, fix, barrier.owner)
    again = barrier.signals[-1]
    fix = Remark(f"wait until {wait.strand.name} is ready before this arrival", again.place)
    return Cause("wait", missing, fix, barrier.owner)


def _untaken(wait: StuckWait) -> Cause | None:
    """A phase has ended that nobody has waited for, and its task waits for the one after that."""
    barrier = wait.barrier
    taken = max((each.sure for each in barrier.waits), default=0)
    if len(barrier.phases) <= taken or (taken & 1) == wait.parity:
        return None
    missing = (
        f"{counted(len(barrier.phases), 'phase')} of {barrier.name} ended, of which {taken} were "
        f"waited for; {wait.strand.name} waits for parity {wait.parity}, the next one has parity "
        f"{taken & 1}"
    )
    fix = Remark(f"wait for parity {taken & 1} here", wait.place)
    return Cause("phase", missing, fix, barrier.owner)


def _uneven(wait: StuckWait, barriers: Sequence[Generations]) -> Cause | None:
    """Slots of a ring are signalled in turn: one that lags behind the next one lacks an arrival."""
    barrier = wait.barrier
    array = [each for each in _array(barrier, barriers) if _is_beside(each, barrier)]
    mine = array.index(barrier)
    for i, other in enumerate(array):
        if len(other.phases) > len(barrier.phases) + (1 if i < mine else 0):
            return _arrive(wait)
    return None


def _is_beside(other: Generations, barrier: Generations) -> bool:
    """Whether the same tasks signal another barrier, as far as any did."""
    return not barrier.signals or _signallers(other) == _signallers(barrier)


def _arrived(wait: StuckWait) -> int:
    return _sum(_current(wait.barrier), "arrive")


def _count(wait: StuckWait, stuck: set[str]) -> Cause | None:
    barrier, current = wait.barrier, _current(wait.barrier)
    tasks = {short_task(each.task) for each in current if each.kind == "arrive"}
    absent = [each for each in wait.possible if _arrives(each) and each.task not in tasks]
    if not 0 < _arrived(wait) < barrier.count or absent:
        return None
    return _too_many(wait)


def _too_many(wait: StuckWait) -> Cause:
    """A barrier that is made for more than come."""
    barrier, arrived = wait.barrier, _arrived(wait)
    missing = (
        f"{barrier.name} is made for {counted(barrier.count, 'arrival')}, but only {arrived} "
        "can come in a phase"
    )
    fix = Remark(f"make it with arrive_count={arrived}", barrier.place)
    return Cause("count", missing, fix, barrier.owner)


def _nobody(wait: StuckWait, stuck: set[str]) -> Cause | None:
    """Nothing in the program signals the barrier."""
    return None if wait.possible else _arrive(wait)


def _first_wait(wait: StuckWait, stuck: set[str]) -> Cause | None:
    """A wait for a fresh barrier that only tasks could end that are stuck as well."""
    barrier, possible = wait.barrier, wait.possible
    gets_bytes = any("expect" in each.op or "tma" in each.op for each in possible)
    if barrier.signals or not possible or gets_bytes or wait.parity != 0:
        return None
    if any(each.task not in stuck for each in possible):
        return None
    missing = (
        f"{barrier.name} is fresh, and whoever arrives on it is stuck too: the first wait must "
        "let its task pass"
    )
    fix = Remark("wait for parity 1 first: a fresh barrier lets it pass", wait.place)
    return Cause("phase", missing, fix, barrier.owner)


def _arrive(wait: StuckWait) -> Cause:
    barrier, current = wait.barrier, _current(wait.barrier)
    arrived = _sum(current, "arrive")
    missing = (
        f"{arrived} of {counted(barrier.count, 'arrival')} came to {barrier.name} in phase "
        f"{len(barrier.phases)}"
    )
    places = {each.place for each in current}
    late = _absent(wait)
    left = [each for each in wait.possible if each.place not in places]
    absent = next((each for each in left if each.task in late), left[0] if left else None)
    if absent is None:
        fix = Remark(f"let somebody arrive on {barrier.owner}", wait.place)
    else:
        fix = Remark(
            f"let {absent.task} arrive on it: here it signals {barrier.owner}", absent.place
        )
    return Cause("arrive", missing, fix, barrier.owner)
