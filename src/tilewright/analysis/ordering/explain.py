"""From two unordered accesses to the cause: which wait, arrival, phase or count is wrong.

The one that must come first (`early`) has to be released: some barrier's phase completes after it
and is ordered after it. The other one (`late`) has to wait for that phase. The program is examined
first, then the run, in this order:

    early is a copy that signals X, late reads its data:
        late's task waited for X with the other parity                          phase
        it did not wait for X                                                   wait
        X does not expect the bytes of the copy                                  bytes
    early's task signals X after it, for which no task waits, or only those
    that reach late's line                                                  wait
    late's task waited for X with the other parity                              phase
    late's task waited for X, but other tasks arrived instead of early's       count
    early is an operation, and X is signalled before it completes              wait
    late's task waited for X, and early follows the arrival it is ordered by   race
    it never waited for X                                                       wait
    early's task arrived on a named barrier, late's task did not               wait
    early follows every arrival of its task                                     race
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from tilewright.analysis.ordering.barriers import (
    Generations,
    Signal,
    WaitRecord,
    cta_of,
    index_of,
    short_task,
)
from tilewright.analysis.ordering.clocks import covers
from tilewright.analysis.ordering.findings import Cause, Remark, counted, parity_fix
from tilewright.analysis.ordering.history import History, is_too_soon
from tilewright.analysis.ordering.regions import Access, OrderingConflict

_ENGINE_WAITS = (
    ("wgmma", "tlx.async_dot_wait"),
    ("cp.async", "tlx.async_load_commit_group and tlx.async_load_wait_group"),
    ("tma stores", "tlx.async_descriptor_store_wait"),
)
_FENCE = 'tlx.fence("async_shared")'


def explain(conflict: OrderingConflict, history: History) -> Cause:
    """Why the accesses of a clash are unordered."""
    if conflict.needs_fence:
        return _fence(conflict)
    early, late = conflict.first, conflict.second
    if is_too_soon(early, late, history):
        early, late = late, early
    return _Search(early, late, history).cause()


def _fence(conflict: OrderingConflict) -> Cause:
    first = conflict.first
    missing = (
        f"no async proxy fence between the {first} and {conflict.second}: the async proxy may read "
        "the old contents"
    )
    return Cause("fence", missing, Remark(f"{_FENCE} after this write", first.site))


class _Search:
    """Looks for what should have ordered `early` before `late`."""

    def __init__(self, early: Access, late: Access, history: History) -> None:
        self.early = early
        self.late = late
        self.history = history

    def cause(self) -> Cause:
        found = (
            self._alone()
            or self._not_ended()
            or self._signalled_copy()
            or self._unawaited()
            or self._no_waiter()
            or self._parity()
            or self._shares()
            or self._engine_wait()
            or self._named_after()
            or self._arrived_before()
            or self._missing(is_direct=True)
            or self._threads()
            or self._expected()
            or self._missing(is_direct=False)
            or self._reported()
        )
        return found or self._nothing()

    # -- by the program ------------------------------------------------------------------

    def _alone(self) -> Cause | None:
        """A named barrier that completed with one task only: the other task did not wait there."""
        rounds = self.history.rounds
        for round_ in rounds:
            (task, *more), count = round_.came, round_.generation
            is_open = any(each.name == round_.name and each.generation > count for each in rounds)
            if more or not is_open or round_.went:
                continue
            missing = f"only {task} arrives on {round_.name}: no other task waits there"
            fix = Remark(
                f"call tlx.named_barrier_wait on {round_.name} before this", self.late.site
            )
            details = (Remark(f"{task} arrives on {round_.name} here", round_.came[task]),)
            return Cause("wait", missing, fix, round_.name, details, doubt=0)
        return None

    def _signalled_copy(self) -> Cause | None:
        """A copy signals a barrier when it completes: a task that reads its data has to wait for
        that."""
        early = self.early
        if self.late.kind != "read":
            return None
        for barrier in self._completion_barriers(early, self.late):
            phase = barrier.phase_at(early.event)
            wait = self._last_wait(barrier)
            is_other = wait is not None and wait.parity != (phase & 1)
            if wait is not None and is_other and wait.passes_at_once:
                return replace(self._wrong_parity(barrier, wait, phase), doubt=0)
            if wait is not None and wait.passes_at_once and wait.observed < phase:
                return replace(self._too_far_ahead(barrier, wait, phase), doubt=0)
            if (
                wait is not None
                and wait.guaranteed > phase
                and not self._is_delivered(barrier, phase)
            ):
                return replace(self._unexpected(barrier, phase), doubt=0)
            if wait is None or is_other or wait.guaranteed <= phase:
                return replace(self._missing_wait(barrier, phase), doubt=0)
        return None

    def _completion_barriers(self, operation: Access, other: Access) -> list[Generations]:
        """Barriers that an operation signals for the task of another access.

        They belong to arrays that the task waits for, that tasks which reach the same line wait
        for, or that no task waits for.
        """
        found: list[Generations] = []
        for barrier in self.history.barriers:
            if barrier.key not in operation.barriers or cta_of(barrier.maker) != cta_of(other.task):
                continue
            waiters = self.history.waiters_of(barrier.owner)
            if not waiters or waiters & self.history.beside(other):
                found.append(barrier)
        return found

    def _is_delivered(self, barrier: Generations, phase: int) -> bool:
        """Whether the early access, a copy, has signalled a barrier in a phase."""
        own = (each for each in barrier.signals if each.component == self.early.component)
        return any(each.phase <= phase for each in own)

    def _unexpected(self, barrier: Generations, phase: int) -> Cause:
        expected = sum(
            each.amount for each in barrier.signals if each.phase == phase and each.kind == "expect"
        )
        missing = (
            f"{counted(expected, 'byte')} are expected on {barrier.name} in phase {phase}, which "
            f"completes before {self.early.operation} does"
        )
        fix = "expect its bytes too: call tlx.barrier_expect_bytes before this"
        return Cause("bytes", missing, Remark(fix, self.early.site), barrier.owner)

    def _unawaited(self) -> Cause | None:
        """The late access is an operation whose completion the task of the early one should have
        waited for: it waits for such completions, but no task for this one."""
        early, late = self.early, self.late
        if early.kind != "read" or late.kind != "write" or late.proxy != "tensor":
            return None
        for barrier in self._completion_barriers(late, early):
            phase = barrier.phase_at(late.event)
            if short_task(early.task) not in self.history.waiters_of(barrier.owner):
                continue
            if any(each.guaranteed > phase for each in barrier.waits_of(early.task)):
                continue
            return _Search(late, early, self.history)._missing_wait(barrier, phase)
        return None

    # -- released ----------------------------------------------------------------------------

    @cached_property
    def _releases(self) -> list[tuple[Generations, int]]:
        """Barriers that are ordered after the early access, and their first phase that is."""
        found: list[tuple[Generations, int]] = []
        for barrier in self.history.barriers:
            if cta_of(barrier.maker) != cta_of(self.late.task):
                continue  # a task cannot wait for a barrier of another CTA
            for index, phase in enumerate(barrier.phases):
                if covers(phase.seen, self.early.component, self.early.time):
                    found.append((barrier, index))
                    break
        same = index_of(self.early.region.name)

        def rank(each: tuple[Generations, int]) -> tuple[bool, bool, int]:
            barrier, phase = each
            is_other = index_of(barrier.name) != same
            return self._is_for_others(barrier), is_other, barrier.ended[phase]

        related = [each for each in found if self._is_related(each[0])]
        return sorted(related or found, key=rank)

    def _is_related(self, barrier: Generations) -> bool:
        """Whether its name contains that of the buffer: `full_v` is for `v`."""
        owners = {self.early.region.owner, self.late.region.owner}
        return bool(owners & set(barrier.owner.split("_")))

    def _named_after(self) -> Cause | None:
        """A barrier that is named after the buffer, and that late's task never waited for."""
        for barrier, phase in self._direct:
            is_new = self._is_related(barrier) and self._last_wait(barrier) is None
            if is_new and self._is_for_late(barrier):
                return self._missing_wait(barrier, phase)
        return None

    @cached_property
    def _direct(self) -> list[tuple[Generations, int]]:
        """Those of them that the early access's task has signalled itself.

        Those that the late access's task waits for anyway come last.
        """
        own = [each for each in self._releases if self._signals_after(each[0])]
        return sorted(
            own, key=lambda each: (self._waits_already(each[0]), self._signalled_at(each[0]))
        )

    def _signalled_at(self, barrier: Generations) -> int:
        """When the early access's task first signalled a barrier after the access."""
        early = self.early
        return min(
            signal.event
            for signal in barrier.signals
            if signal.task == early.task and covers(signal.seen, early.component, early.time)
        )

    def _waits_already(self, barrier: Generations) -> bool:
        wait = self._last_wait(barrier)
        return wait is not None and not wait.passes_at_once

    def _signals_after(self, barrier: Generations) -> bool:
        """Whether the early access's task signals a barrier, ordered after the access."""
        early = self.early
        return any(
            signal.task == early.task and covers(signal.seen, early.component, early.time)
            for signal in barrier.signals
        )

    def _is_for_others(self, barrier: Generations) -> bool:
        return any(task != self.late.task for task in barrier.waiters)

    def _is_for_late(self, barrier: Generations) -> bool:
        """Whether it makes sense that the late access's task waits for a barrier."""
        own = short_task(self.late.task)
        return own not in {short_task(each.task) for each in barrier.signals}

    def _array(self, barrier: Generations) -> list[Generations]:
        return [each for each in self.history.barriers if each.owner == barrier.owner]

    def _no_waiter(self) -> Cause | None:
        """Barriers signalled after the access without effect: no task waits for any of the array.

        Tasks that reach the late access's line as well do not count.
        """
        late, own = self.late, short_task(self.late.task)
        for barrier, phase in self._direct:
            waiters = self.history.waiters_of(barrier.owner)
            if own in waiters or not waiters <= self.history.beside(late):
                continue
            if self._is_for_late(barrier):
                return self._missing_wait(barrier, phase)
        if self.history.waiters is None:
            return None
        for barrier, phase in self._releases:
            if not self.history.waiters_of(barrier.owner):
                return self._missing_wait(barrier, phase)
        for barrier in self.history.barriers:
            tasks = {each.task for each in self.history.signals(barrier.owner)}
            if short_task(self.early.task) in tasks and not self.history.waiters_of(barrier.owner):
                return self._missing_wait(barrier, len(barrier.phases))
        return None

    def _missing(self, is_direct: bool) -> Cause | None:
        for barrier, phase in self._direct if is_direct else self._releases:
            if self._is_for_late(barrier):
                return self._missing_wait(barrier, phase)
        return None

    def _missing_wait(self, barrier: Generations, phase: int) -> Cause:
        late = self.late
        which = "the phase" if phase == 0 else f"phase {phase}"
        missing = f"{late.task} does not wait for {which} of {barrier.name} that orders them"
        fix = f"call tlx.barrier_wait on {barrier.owner} (parity {phase & 1}) before this"
        return Cause("wait", missing, Remark(fix, late.site), barrier.owner)

    # -- waited for wrongly ------------------------------------------------------------------

    def _last_wait(self, barrier: Generations) -> WaitRecord | None:
        """The wait of the late access's task that should have ordered it."""
        before = [each for each in barrier.waits_of(self.late.task) if each.event < self.late.event]
        return before[-1] if before else None

    def _waited(self) -> list[tuple[Generations, WaitRecord]]:
        """Barriers that the late access's task waited for, the last one first."""
        found = [(each, self._last_wait(each)) for each in self.history.barriers]
        waited = [(barrier, wait) for barrier, wait in found if wait is not None]
        return sorted(waited, key=lambda each: -each[1].event)

    def _parity(self) -> Cause | None:
        """A wait that passed at once whenever its task reached it."""
        for barrier, phase in self._direct or self._releases:
            wait = self._last_wait(barrier)
            if wait is None or wait.parity == (phase & 1):
                continue
            if self._never_waits(barrier, wait) and self._is_last(barrier, wait):
                return self._wrong_parity(barrier, wait, phase)
        return None

    def _is_last(self, barrier: Generations, wait: WaitRecord) -> bool:
        """Whether the task has waited for no other barrier of the array since."""
        waits = (self._last_wait(each) for each in self._array(barrier))
        return all(each is None or each.event <= wait.event for each in waits)

    def _never_waits(self, barrier: Generations, wait: WaitRecord) -> bool:
        """Whether a wait has passed at once whenever its task reached it so far."""
        own = (each for each in barrier.waits_of(wait.task) if each.site == wait.site)
        return all(each.passes_at_once for each in own if each.event <= wait.event)

    def _wrong_parity(self, barrier: Generations, wait: WaitRecord, phase: int) -> Cause:
        missing = (
            f"{self.late.task} waits for parity {wait.parity} of {barrier.name}, which may pass at "
            f"once after {counted(wait.observed, 'complete phase')}; the phase that orders "
            f"the accesses has parity {phase & 1}"
        )
        fix = parity_fix(phase, wait.site, len(self._array(barrier)))
        return Cause("phase", missing, fix, barrier.owner)

    def _too_far_ahead(self, barrier: Generations, wait: WaitRecord, phase: int) -> Cause:
        """The parity is right, but a phase of the same parity may be the last completed one."""
        missing = (
            f"{self.late.task} waits for parity {wait.parity} of {barrier.name}, but is ordered "
            f"after only {counted(wait.observed, 'complete phase')}: until phase {phase - 1} "
            "completes, the wait passes at once"
        )
        fix = Remark(f"wait for phase {phase - 1} (parity {(phase - 1) & 1}) too", wait.site)
        return Cause("phase", missing, fix, barrier.owner)

    def _not_ended(self) -> Cause | None:
        """A first wait that let a read pass, for a barrier that had not completed a phase by
        then."""
        if self.late.kind != "read":
            return None
        for barrier in self.history.barriers:
            wait = self._last_wait(barrier)
            if wait is None or barrier.phases or wait.parity == 0:
                continue
            tasks = {each.task for each in self.history.signals(barrier.owner)}
            if short_task(self.early.task) in tasks and short_task(self.late.task) not in tasks:
                return self._wrong_parity(barrier, wait, 0)
        return None

    def _shares(self) -> Cause | None:
        """The phase that was waited for completed without an arrival ordered after the early
        access."""
        early, late = self.early, self.late
        for barrier, wait in self._waited():
            arrivers = barrier.arrivers()
            if len(arrivers) < 2 or not wait.guaranteed or not self._is_last(barrier, wait):
                continue
            signallers = {
                each.task
                for each in barrier.signals
                if each.task != late.task and covers(each.seen, early.component, early.time)
            }
            came = [
                each
                for each in barrier.signals
                if each.kind == "arrive" and each.phase == wait.guaranteed - 1
            ]
            missed = [task for task in arrivers if task in signallers]
            if early.task in missed:
                missed = [early.task]
            if not missed or set(missed) & {each.task for each in came}:
                continue
            if barrier.count < len(arrivers):
                missing = (
                    f"{barrier.name} has arrive count {barrier.count}, but "
                    f"{' and '.join(arrivers)} arrive: the phase that {late.task} waits for "
                    f"completes before {missed[0]} has arrived"
                )
                fix = Remark(f"use arrive_count={len(arrivers)}", barrier.site)
                return Cause("count", missing, fix, barrier.owner)
            twice = [each for each in came if each.task == came[0].task]
            responses = [each for each in self.history.barriers if each.key in late.barriers]
            if len(twice) > 1 and responses:
                missing = (
                    f"{came[0].task} arrives on {barrier.name} twice in a phase: in between it "
                    f"does not wait for {responses[0].name}, which {late.operation} signals"
                )
                fix = Remark(
                    f"call tlx.barrier_wait on {responses[0].owner} before this", twice[1].site
                )
                return Cause("wait", missing, fix, responses[0].owner)
            whole = ", ".join(f"{each.amount} of {each.task}" for each in came)
            missing = (
                f"phase {wait.guaranteed - 1} of {barrier.name} completes with the arrivals "
                f"{whole}, without {missed[0]}"
            )
            fix = Remark(f"make {came[0].task} arrive once per phase", came[0].site)
            return Cause("count", missing, fix, barrier.owner)
        return None

    def _arrived_before(self) -> Cause | None:
        """The arrival that the wait is ordered after came before the early access."""
        early = self.early
        for barrier, wait in self._waited():
            arrivals = [
                each
                for each in barrier.signals
                if each.kind == "arrive"
                and each.task == early.task
                and each.phase < wait.guaranteed
            ]
            if not arrivals or arrivals[-1].event > early.event or not self._is_for_late(barrier):
                continue
            missing = (
                f"{early.task} arrives on {barrier.name} before the {early.kind} of "
                f"{early.region.name}, so the phase that {self.late.task} waits for does not cover "
                "it"
            )
            fix = Remark(f"arrive on {barrier.name} after the {early.kind}", arrivals[-1].site)
            return Cause("race", missing, fix, barrier.owner)
        return None

    # -- operations --------------------------------------------------------------------------

    def _engine_wait(self) -> Cause | None:
        """The early access is an operation whose completion only a wait for its group
        establishes."""
        early = self.early
        if not early.operation or self._is_released():
            return None
        if self.late.task == early.task:
            return self._not_waited(self.late.site)
        for barrier, wait in self._waited():
            for signal in barrier.signals:
                if signal.phase < wait.guaranteed and self._is_in_flight(signal):
                    return self._before_done(barrier.owner, barrier.name, signal.site)
        if self._direct:
            return None
        for barrier in self.history.barriers:
            for signal in barrier.signals:
                if self._is_in_flight(signal):
                    return self._before_done(barrier.owner, barrier.name, signal.site)
        return None

    def _is_in_flight(self, signal: Signal) -> bool:
        """Whether a signal comes after the issue of the early access, but is not ordered after its
        completion."""
        early = self.early
        is_after = signal.event > early.event and signal.task == early.task
        return (
            is_after
            and not signal.operation
            and not covers(signal.seen, early.component, early.time)
        )

    def _is_released(self) -> bool:
        """Whether the operation itself signals a barrier."""
        early = self.early
        return bool(early.barriers) or any(
            signal.operation and signal.component == early.component
            for barrier in self.history.barriers
            for signal in barrier.signals
        )

    def _call(self) -> str:
        engine = self.early.engine
        return next((call for prefix, call in _ENGINE_WAITS if engine.startswith(prefix)), "a wait")

    def _not_waited(self, site: int) -> Cause:
        missing = f"{self.early.task} does not wait for {self.early.operation} to complete"
        return Cause("wait", missing, Remark(f"call {self._call()} before this", site))

    def _before_done(self, owner: str, name: str, site: int) -> Cause:
        missing = (
            f"{self.early.task} arrives on {name} while {self.early.operation} may still be in "
            "flight"
        )
        return Cause("wait", missing, Remark(f"call {self._call()} before this", site), owner)

    # -- guesses -----------------------------------------------------------------------------

    def _threads(self) -> Cause | None:
        """A named barrier that the early access's task arrived on, and the other task did not."""
        early, late = self.early, self.late
        for round_ in self.history.rounds:
            site = round_.came.get(early.task)
            if site is None or late.task in round_.went:
                continue
            if not covers(round_.clocks.seen, early.component, early.time):
                continue
            missing = (
                f"{early.task} arrives on {round_.name} after the {early.kind}, and {late.task} "
                "does not wait there"
            )
            fix = Remark(f"call tlx.named_barrier_wait on {round_.name} before this", late.site)
            details = (Remark(f"{early.task} arrives on {round_.name} here", site),)
            return Cause("wait", missing, fix, round_.name, details)
        return None

    def _expected(self) -> Cause | None:
        """A barrier that the early access's task signals, by the program if not in this run."""
        early, late = self.early, self.late
        same = index_of(early.region.name)
        choices: list[tuple[bool, bool, bool, Generations]] = []
        for barrier in self.history.barriers:
            tasks = {each.task for each in self.history.signals(barrier.owner)}
            if short_task(early.task) not in tasks or short_task(late.task) in tasks:
                continue
            if any(each.task == late.task for each in barrier.waits):
                continue
            is_unrelated = early.region.owner not in barrier.owner.split("_")
            choices.append(
                (is_unrelated, bool(barrier.waits), index_of(barrier.name) != same, barrier)
            )
        if not choices:
            return None
        barrier = min(choices, key=lambda each: each[:3])[3]
        missing = (
            f"{late.task} does not wait for {barrier.name}, on which {early.task} arrives "
            "afterwards"
        )
        fix = Remark(f"call tlx.barrier_wait on {barrier.owner} before this", late.site)
        return Cause("wait", missing, fix, barrier.owner, doubt=2)

    def _reported(self) -> Cause | None:
        """A copy signals a barrier, whether or not a task waits for it."""
        early = self.early
        for barrier in self.history.barriers:
            is_own = cta_of(barrier.maker) == cta_of(self.late.task)
            if self.late.kind == "read" and barrier.key in early.barriers and is_own:
                return self._missing_wait(barrier, barrier.phase_at(early.event))
        return None

    def _nothing(self) -> Cause:
        early, late = self.early, self.late
        missing = f"no barrier orders {late.task} after the {early.kind} by {early.task}"
        fix = f"arrive on a barrier after this, and make {late.task} wait for it"
        return Cause("race", missing, Remark(fix, early.site), doubt=3)
