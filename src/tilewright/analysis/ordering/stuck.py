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
    a barrier of threads is short of a task in the same way         arrive
    nobody has arrived yet, and all who could are stuck themselves  phase (of the first wait)
    somebody who arrives elsewhere has not                          arrive

In a ring both sides may be stuck at first: the side that fills it must not wait for a parity that
only the other side can end. It is the one whose barrier gets no bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.analysis.ordering.barriers import Generations, Meeting, Signal, short_task
from tilewright.analysis.ordering.clocks import Strand
from tilewright.analysis.ordering.findings import Cause, Remark, counted
from tilewright.analysis.ordering.history import PossibleSignal

_DELIVERS = frozenset(("tma", "copy", "bulk"))
"""Words in the names of ops that bring bytes and do not arrive."""


@dataclass(frozen=True)
class StuckWait:
    """A task that waits in vain for a barrier."""

    strand: Strand
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
    meetings: Sequence[Meeting] = (),
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
            return owing, _arrive(owing)
    short = [each for each in ordered if 0 < _arrived(each) < each.barrier.count]
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


def _index(name: str) -> str:
    return name[name.index("[") :] if "[" in name else ""


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
        and _index(each.name) == _index(barrier.name)
        and me in {short_task(signal.task) for signal in each.signals}
    ]
    last: dict[str, int] = {}
    for each in barriers:
        for record in each.waits:
            last[record.task] = max(record.event, last.get(record.task, 0))
    passed = sum(
        1
        for each in mine
        for record in each.waits
        if short_task(record.task) in helpers
        and not (is_strict and record.event == last[record.task])
    )
    came = sum(
        1 for each in barrier.signals if each.kind == "arrive" and short_task(each.task) in helpers
    )
    return passed - came


def _absence(gate: StuckGate, meetings: Sequence[Meeting]) -> int:
    """The same for a barrier of threads: how often another task passed where this one came."""
    others = {task for each in meetings for task in each.came} - {gate.task}
    found = [0]
    for other in sorted(others):
        passed = sum(1 for each in meetings if gate.task in each.came and other in each.went)
        came = sum(1 for each in meetings if each.name == gate.name and other in each.came)
        found.append(passed - came)
    return max(found)


def _most_wanted(
    gates: Sequence[StuckGate], meetings: Sequence[Meeting]
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


def _arrived(wait: StuckWait) -> int:
    return _sum(_current(wait.barrier), "arrive")


def _count(wait: StuckWait, stuck: set[str]) -> Cause | None:
    barrier, current = wait.barrier, _current(wait.barrier)
    tasks = {short_task(each.task) for each in current if each.kind == "arrive"}
    arriving = [each for each in wait.possible if not _DELIVERS & set(each.op.split("_"))]
    absent = [each for each in arriving if each.task not in tasks]
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
    absent = next((each for each in wait.possible if each.place not in places), None)
    if absent is None:
        fix = Remark(f"let somebody arrive on {barrier.owner}", wait.place)
    else:
        fix = Remark(f"{absent.task} has not come to this, which signals it", absent.place)
    return Cause("arrive", missing, fix, barrier.owner)
