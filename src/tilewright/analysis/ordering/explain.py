"""From two unordered accesses to the mistake: which wait, arrival, phase or count is wrong.

The one that must come first (`early`) has to be released: some barrier's phase ends after it and
knows of it. The other one (`late`) has to wait for that phase. Looking at the history of all
barriers, in this order:

    early is released by X, late's task waited for X with the other parity      phase
    ...                     it waited for an earlier phase, X is made for too
                            few arrivals                                        count
    ...                     it waited for an earlier phase, early comes after
                            the arrival it was sure of                          race
    ...                     it never waited for X                               wait
    early is an operation whose issuer arrives before it is done                wait
    early follows every arrival of its task                                     race
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.analysis.ordering.barriers import Generations, WaitRecord
from tilewright.analysis.ordering.clocks import covers
from tilewright.analysis.ordering.findings import Cause, Remark, counted
from tilewright.analysis.ordering.regions import Access, Clash

_ENGINE_WAITS = (
    ("wgmma", "tlx.async_dot_wait"),
    ("cp.async", "tlx.async_load_commit_group and tlx.async_load_wait_group"),
    ("tma stores", "tlx.async_descriptor_store_wait"),
)
_FENCE = 'tlx.fence("async_shared")'


@dataclass(frozen=True)
class PossibleSignal:
    """An op of the program that signals an array of barriers, whether it ran or not."""

    task: str
    place: int
    op: str = ""


@dataclass(frozen=True)
class History:
    """What an explanation may look at."""

    barriers: Sequence[Generations]
    write: Callable[[Access], Access | None]
    """The write that a write replaced."""
    ordered: Callable[[Access, Access], bool]
    """Whether the first happened before the second."""
    signals: Callable[[str], Sequence[PossibleSignal]] = lambda name: ()
    """Ops that signal an array of barriers."""


def explain(clash: Clash, history: History) -> Cause:
    """Why the accesses of a clash are unordered."""
    if clash.needs_fence:
        return _fence(clash)
    early, late = clash.first, clash.second
    if _is_too_soon(early, late, history):
        early, late = late, early
    return _Search(early, late, history).cause()


def _fence(clash: Clash) -> Cause:
    first = clash.first
    missing = (
        f"no proxy fence between the {first} and {clash.second}: the engine may read what the "
        "bytes held before"
    )
    return Cause("fence", missing, Remark(f"{_FENCE} after this write", first.place))


def _is_too_soon(first: Access, second: Access, history: History) -> bool:
    """Whether a write came before the read of the value that it replaces, or a read before the
    first write."""
    if first.deed == "read":
        return first.previous == 0
    if second.deed != "read":
        return False
    meant = history.write(first)
    while meant is not None and not history.ordered(meant, second):
        meant = history.write(meant)
    return meant is not None


def _index(name: str) -> str:
    """`[1]` of `a[1]`."""
    return name[name.index("[") :] if "[" in name else ""


def short_task(name: str) -> str:
    """`default` of `CTA 1 default`."""
    return name.rpartition(" ")[2]


class _Search:
    """Looks for what should have ordered `early` before `late`."""

    def __init__(self, early: Access, late: Access, history: History) -> None:
        self.early = early
        self.late = late
        self.history = history

    def cause(self) -> Cause:
        releases = self._releases()
        for barrier, phase in releases:
            found = self._wrong_wait(barrier, phase)
            if found is not None:
                return found
        mine = [each for each in releases if not self._is_for_others(each[0])]
        found = (
            self._not_ended()
            or self._engine_wait()
            or self._waits_for(mine)
            or self._reported()
            or self._too_early()
            or self._expected()
            or self._waits_for(releases)
        )
        return found or self._nothing()

    def _waits_for(self, releases: Sequence[tuple[Generations, int]]) -> Cause | None:
        for barrier, phase in releases:
            if self._is_for_late(barrier):
                return self._missing_wait(barrier, phase)
        return None

    def _is_for_others(self, barrier: Generations) -> bool:
        return any(task != self.late.task for task in barrier.waiters)

    def _not_ended(self) -> Cause | None:
        """A first wait that let a read pass, for a barrier that had not ended a phase by then."""
        if self.late.deed != "read":
            return None
        for barrier in self.history.barriers:
            wait = self._last_wait(barrier)
            if wait is None or barrier.phases or wait.parity == 0:
                continue
            tasks = {each.task for each in self.history.signals(barrier.owner)}
            if short_task(self.early.task) in tasks and short_task(self.late.task) not in tasks:
                return self._wrong_parity(barrier, wait, 0)
        return None

    # -- released ----------------------------------------------------------------------------

    def _releases(self) -> list[tuple[Generations, int]]:
        """Barriers that know of the early access, and their first phase that does."""
        found: list[tuple[Generations, int]] = []
        for barrier in self.history.barriers:
            for number, phase in enumerate(barrier.phases):
                if covers(phase.seen, self.early.component, self.early.time):
                    found.append((barrier, number))
                    break
        same = _index(self.early.region.name)

        def rank(each: tuple[Generations, int]) -> tuple[bool, bool, int]:
            barrier, phase = each
            is_other = _index(barrier.name) != same
            return self._is_for_others(barrier), is_other, barrier.ended[phase]

        # Authors name the barriers of a buffer after it: `full_v` tells of `v`.
        owner = self.early.region.owner
        related = [each for each in found if owner in each[0].owner.split("_")]
        return sorted(related or found, key=rank)

    def _last_wait(self, barrier: Generations) -> WaitRecord | None:
        """The wait of the late access's task that should have ordered it."""
        mine = [each for each in barrier.waits if each.task == self.late.task]
        before = [each for each in mine if each.event < self.late.event]
        return before[-1] if before else None

    def _wrong_wait(self, barrier: Generations, phase: int) -> Cause | None:
        wait = self._last_wait(barrier)
        if wait is None:
            return None
        late = self.late
        if self._never_waits(barrier, wait) and wait.parity != (phase & 1):
            return self._wrong_parity(barrier, wait, phase)
        if wait.sure > phase or not self._is_for_late(barrier):
            return None
        arrivers = barrier.arrivers()
        if barrier.count < len(arrivers) and self.early.task in arrivers:
            made = counted(barrier.count, "arrival")
            missing = (
                f"{barrier.name} is made for {made}, but {' and '.join(arrivers)} arrive: the "
                f"phase that {late.task} waits for ends before {self.early.task} has arrived"
            )
            fix = Remark(f"make it with arrive_count={len(arrivers)}", barrier.place)
            return Cause("count", missing, fix, barrier.owner)
        return self._arrived_before(barrier, wait)

    def _never_waits(self, barrier: Generations, wait: WaitRecord) -> bool:
        """Whether a wait has passed at once whenever its task came to it so far."""
        again = (each for each in barrier.waits if each.place == wait.place)
        mine = (each for each in again if each.task == wait.task and each.event <= wait.event)
        return all(each.passes_at_once for each in mine)

    def _wrong_parity(self, barrier: Generations, wait: WaitRecord, phase: int) -> Cause:
        missing = (
            f"{self.late.task} waits for parity {wait.parity} of {barrier.name}, which may pass at "
            f"once: it knows of {counted(wait.known, 'complete phase')}; the phase that orders "
            f"the accesses has parity {phase & 1}"
        )
        fix = Remark(f"wait for parity {phase & 1} here", wait.place)
        return Cause("phase", missing, fix, barrier.owner)

    def _arrived_before(self, barrier: Generations, wait: WaitRecord) -> Cause | None:
        """The arrival that the wait is sure of came before the early access."""
        early = self.early
        arrivals = [
            each
            for each in barrier.signals
            if each.kind == "arrive" and each.task == early.task and each.phase < wait.sure
        ]
        if not arrivals or not wait.sure:
            return None
        last = arrivals[-1]
        if last.event > early.event and early.operation:
            return self._before_done(barrier.owner, barrier.name, last.place)
        if last.event > early.event:
            return None
        missing = (
            f"{early.task} arrives on {barrier.name} before the {early.deed} of "
            f"{early.region.name}, so the phase that {self.late.task} waits for does not cover it"
        )
        fix = Remark(f"arrive on {barrier.name} after the {early.deed}", last.place)
        return Cause("race", missing, fix, barrier.owner)

    def _is_for_late(self, barrier: Generations) -> bool:
        """Whether it makes sense that the late access's task waits for a barrier."""
        mine = short_task(self.late.task)
        signallers = {short_task(each.task) for each in barrier.signals}
        return mine not in signallers

    def _missing_wait(self, barrier: Generations, phase: int) -> Cause:
        late = self.late
        who = "the phase" if phase == 0 else f"phase {phase}"
        missing = f"{late.task} does not wait for {who} of {barrier.name} that orders them"
        fix = f"tlx.barrier_wait on {barrier.owner} (parity {phase & 1}) before this"
        return Cause("wait", missing, Remark(fix, late.place), barrier.owner)

    # -- not released ------------------------------------------------------------------------

    def _engine_wait(self) -> Cause | None:
        """The early access is an operation that only a wait for its group makes known."""
        early = self.early
        if not early.operation or self._is_released():
            return None
        if self.late.task == early.task:
            return self._not_waited(self.late.place)
        for barrier in self.history.barriers:
            for signal in barrier.signals:
                is_after = signal.event > early.event
                if signal.task == early.task and not signal.operation and is_after:
                    return self._before_done(barrier.owner, barrier.name, signal.place)
        return None

    def _is_released(self) -> bool:
        """Whether the operation itself reports to a barrier."""
        early = self.early
        return bool(early.gates) or any(
            signal.operation and signal.component == early.component
            for barrier in self.history.barriers
            for signal in barrier.signals
        )

    def _call(self) -> str:
        engine = self.early.engine
        return next((call for word, call in _ENGINE_WAITS if engine.startswith(word)), "a wait")

    def _not_waited(self, place: int) -> Cause:
        missing = f"{self.early.task} does not wait for {self.early.operation} to be done"
        return Cause("wait", missing, Remark(f"{self._call()} before this", place))

    def _before_done(self, owner: str, name: str, place: int) -> Cause:
        missing = (
            f"{self.early.task} arrives on {name} while {self.early.operation} may still be under "
            "way"
        )
        return Cause("wait", missing, Remark(f"{self._call()} before this", place), owner)

    def _reported(self) -> Cause | None:
        """The early access is an operation that tells a barrier, which it had not done yet."""
        gates = [
            each
            for each in self.history.barriers
            if each.name in self.early.gates and not self._is_for_others(each)
        ]
        for barrier in gates:
            phase = barrier.phase_at(self.early.event)
            wait = self._last_wait(barrier)
            if wait is not None and wait.parity != (phase & 1):
                return self._wrong_parity(barrier, wait, phase)
            if wait is None and self._is_for_late(barrier):
                return self._missing_wait(barrier, phase)
        return None

    def _too_early(self) -> Cause | None:
        """The early access's task did arrive, but before the access."""
        for barrier in self.history.barriers:
            wait = self._last_wait(barrier)
            found = None if wait is None else self._arrived_before(barrier, wait)
            if found is not None:
                return found
        return None

    def _expected(self) -> Cause | None:
        """A barrier that the early access's task signals, by the program if not in this run."""
        early, late = self.early, self.late
        same = _index(early.region.name)
        choices: list[tuple[bool, bool, bool, Generations]] = []
        for barrier in self.history.barriers:
            tasks = {each.task for each in self.history.signals(barrier.owner)}
            if short_task(early.task) not in tasks or short_task(late.task) in tasks:
                continue
            if any(each.task == late.task for each in barrier.waits):
                continue
            is_unrelated = early.region.owner not in barrier.owner.split("_")
            choices.append(
                (is_unrelated, bool(barrier.waits), _index(barrier.name) != same, barrier)
            )
        if not choices:
            return None
        barrier = min(choices, key=lambda each: each[:3])[3]
        missing = (
            f"{late.task} does not wait for {barrier.name}, on which {early.task} arrives when it "
            "is done"
        )
        fix = Remark(f"tlx.barrier_wait on {barrier.owner} before this", late.place)
        return Cause("wait", missing, fix, barrier.owner)

    def _nothing(self) -> Cause:
        early, late = self.early, self.late
        missing = f"no barrier tells {late.task} that the {early.deed} by {early.task} is done"
        fix = f"arrive on a barrier after this, and let {late.task} wait for it"
        return Cause("race", missing, Remark(fix, early.place))
