"""From two unordered accesses to the mistake: which wait, arrival, phase or count is wrong.

The one that must come first (`early`) has to be released: some barrier's phase ends after it and
knows of it. The other one (`late`) has to wait for that phase. What the program says is looked at
first, then what happened, in this order:

    early is a copy that reports to X, late reads what it brings:
        late's task waited for X with the other parity                          phase
        it did not wait for X                                                   wait
        X does not wait for the bytes of the copy                               bytes
    early's task signals X after it, for which nobody waits, or only others
    who come to late's line                                                     wait
    late's task waited for X with the other parity                              phase
    late's task waited for X, but others arrived in place of early's task       count
    early is an operation, and X is signalled before it is done                 wait
    late's task waited for X, and early comes after the arrival it is sure of   race
    it never waited for X                                                       wait
    early's task came to a barrier of threads, late's task did not              wait
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
from tilewright.analysis.ordering.findings import Cause, Remark, counted
from tilewright.analysis.ordering.history import History, is_too_soon
from tilewright.analysis.ordering.regions import Access, OrderingConflict

_ENGINE_WAITS = (
    ("wgmma", "tlx.async_dot_wait"),
    ("cp.async", "tlx.async_load_commit_group and tlx.async_load_wait_group"),
    ("tma stores", "tlx.async_descriptor_store_wait"),
)
_FENCE = 'tlx.fence("async_shared")'


def explain(clash: OrderingConflict, history: History) -> Cause:
    """Why the accesses of a clash are unordered."""
    if clash.needs_fence:
        return _fence(clash)
    early, late = clash.first, clash.second
    if is_too_soon(early, late, history):
        early, late = late, early
    return _Search(early, late, history).cause()


def _fence(clash: OrderingConflict) -> Cause:
    first = clash.first
    missing = (
        f"no proxy fence between the {first} and {clash.second}: the engine may read what the "
        "bytes held before"
    )
    return Cause("fence", missing, Remark(f"{_FENCE} after this write", first.place))


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
            or self._gated()
            or self._unawaited()
            or self._nobody_waits()
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

    # -- the program says so -----------------------------------------------------------------

    def _alone(self) -> Cause | None:
        """A barrier of threads that opened for one task only: the other one did not wait there."""
        meetings = self.history.meetings
        for meeting in meetings:
            (task, *more), count = meeting.came, meeting.generation
            is_open = any(
                each.name == meeting.name and each.generation > count for each in meetings
            )
            if more or not is_open or meeting.went:
                continue
            missing = f"{meeting.name} opens though only {task} comes to it: nobody waits there"
            fix = Remark(f"tlx.named_barrier_wait on {meeting.name} before this", self.late.place)
            details = (Remark(f"{task} comes to {meeting.name} here", meeting.came[task]),)
            return Cause("wait", missing, fix, meeting.name, details, doubt=0)
        return None

    def _gated(self) -> Cause | None:
        """A copy tells a barrier when it is done: whoever reads what it brings waits for that."""
        early = self.early
        if self.late.deed != "read":
            return None
        for barrier in self._gates(early, self.late):
            phase = barrier.phase_at(early.event)
            wait = self._last_wait(barrier)
            is_other = wait is not None and wait.parity != (phase & 1)
            if wait is not None and is_other and wait.passes_at_once:
                return replace(self._wrong_parity(barrier, wait, phase), doubt=0)
            if wait is not None and wait.passes_at_once and wait.known < phase:
                return replace(self._too_far_ahead(barrier, wait, phase), doubt=0)
            if wait is not None and wait.sure > phase and not self._is_delivered(barrier, phase):
                return replace(self._unannounced(barrier, phase), doubt=0)
            if wait is None or is_other or wait.sure <= phase:
                return replace(self._missing_wait(barrier, phase), doubt=0)
        return None

    def _gates(self, operation: Access, other: Access) -> list[Generations]:
        """Barriers that an operation tells for the sake of another access's task.

        They are those of arrays that the task waits for, that tasks wait for which come to the
        same line, or that nobody waits for.
        """
        found: list[Generations] = []
        for barrier in self.history.barriers:
            if barrier.key not in operation.gates or cta_of(barrier.maker) != cta_of(other.task):
                continue
            waiters = self.history.waiters_of(barrier.owner)
            if not waiters or waiters & self.history.beside(other):
                found.append(barrier)
        return found

    def _is_delivered(self, barrier: Generations, phase: int) -> bool:
        """Whether the early access, a copy, has reported to a barrier in a phase."""
        mine = (each for each in barrier.signals if each.component == self.early.component)
        return any(each.phase <= phase for each in mine)

    def _unannounced(self, barrier: Generations, phase: int) -> Cause:
        announced = sum(
            each.amount for each in barrier.signals if each.phase == phase and each.kind == "expect"
        )
        missing = (
            f"{counted(announced, 'byte')} are announced to {barrier.name} in phase {phase}, which "
            f"ends before {self.early.operation} is done"
        )
        fix = "announce its bytes too, with tlx.barrier_expect_bytes before this"
        return Cause("bytes", missing, Remark(fix, self.early.place), barrier.owner)

    def _unawaited(self) -> Cause | None:
        """The late access is an operation whose end the early one's task should have waited for:
        it waits for such ends, but nobody for this one."""
        early, late = self.early, self.late
        if early.deed != "read" or late.deed != "write" or late.proxy != "tensor":
            return None
        for barrier in self._gates(late, early):
            phase = barrier.phase_at(late.event)
            if short_task(early.task) not in self.history.waiters_of(barrier.owner):
                continue
            if any(each.sure > phase for each in barrier.waits_of(early.task)):
                continue
            return _Search(late, early, self.history)._missing_wait(barrier, phase)
        return None

    # -- released ----------------------------------------------------------------------------

    @cached_property
    def _releases(self) -> list[tuple[Generations, int]]:
        """Barriers that know of the early access, and their first phase that does."""
        found: list[tuple[Generations, int]] = []
        for barrier in self.history.barriers:
            if cta_of(barrier.maker) != cta_of(self.late.task):
                continue  # nobody can wait for a barrier of another CTA
            for number, phase in enumerate(barrier.phases):
                if covers(phase.seen, self.early.component, self.early.time):
                    found.append((barrier, number))
                    break
        same = index_of(self.early.region.name)

        def rank(each: tuple[Generations, int]) -> tuple[bool, bool, int]:
            barrier, phase = each
            is_other = index_of(barrier.name) != same
            return self._is_for_others(barrier), is_other, barrier.ended[phase]

        related = [each for each in found if self._is_related(each[0])]
        return sorted(related or found, key=rank)

    def _is_related(self, barrier: Generations) -> bool:
        """Whether its name says what it is for: `full_v` tells of `v`."""
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
        """Those of them that the early access's task has told itself.

        Those that the late access's task waits for anyway come last.
        """
        mine = [each for each in self._releases if self._tells(each[0])]
        return sorted(mine, key=lambda each: (self._waits_already(each[0]), self._told(each[0])))

    def _told(self, barrier: Generations) -> int:
        """When the early access's task first told a barrier of the access."""
        early = self.early
        return min(
            signal.event
            for signal in barrier.signals
            if signal.task == early.task and covers(signal.seen, early.component, early.time)
        )

    def _waits_already(self, barrier: Generations) -> bool:
        wait = self._last_wait(barrier)
        return wait is not None and not wait.passes_at_once

    def _tells(self, barrier: Generations) -> bool:
        """Whether the early access's task signals a barrier after the access, and knowing it."""
        early = self.early
        return any(
            signal.task == early.task and covers(signal.seen, early.component, early.time)
            for signal in barrier.signals
        )

    def _is_for_others(self, barrier: Generations) -> bool:
        return any(task != self.late.task for task in barrier.waiters)

    def _is_for_late(self, barrier: Generations) -> bool:
        """Whether it makes sense that the late access's task waits for a barrier."""
        mine = short_task(self.late.task)
        return mine not in {short_task(each.task) for each in barrier.signals}

    def _array(self, barrier: Generations) -> list[Generations]:
        return [each for each in self.history.barriers if each.owner == barrier.owner]

    def _nobody_waits(self) -> Cause | None:
        """Barriers that are told of the access in vain: nobody waits for any of the array.

        It counts as nobody if only tasks wait that come to the late access's line as well.
        """
        late, mine = self.late, short_task(self.late.task)
        for barrier, phase in self._direct:
            waiters = self.history.waiters_of(barrier.owner)
            if mine in waiters or not waiters <= self.history.beside(late):
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
        who = "the phase" if phase == 0 else f"phase {phase}"
        missing = f"{late.task} does not wait for {who} of {barrier.name} that orders them"
        fix = f"tlx.barrier_wait on {barrier.owner} (parity {phase & 1}) before this"
        return Cause("wait", missing, Remark(fix, late.place), barrier.owner)

    # -- waited for in the wrong way ---------------------------------------------------------

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
        """A wait that passed at once whenever its task came to it."""
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
        """Whether a wait has passed at once whenever its task came to it so far."""
        mine = (each for each in barrier.waits_of(wait.task) if each.place == wait.place)
        return all(each.passes_at_once for each in mine if each.event <= wait.event)

    def _wrong_parity(self, barrier: Generations, wait: WaitRecord, phase: int) -> Cause:
        missing = (
            f"{self.late.task} waits for parity {wait.parity} of {barrier.name}, which may pass at "
            f"once: it knows of {counted(wait.known, 'complete phase')}; the phase that orders "
            f"the accesses has parity {phase & 1}"
        )
        fix = Remark(f"wait for parity {phase & 1} here", wait.place)
        return Cause("phase", missing, fix, barrier.owner)

    def _too_far_ahead(self, barrier: Generations, wait: WaitRecord, phase: int) -> Cause:
        """The parity is right, but a phase that had the same parity may be all that has ended."""
        missing = (
            f"{self.late.task} waits for parity {wait.parity} of {barrier.name}, but knows of only "
            f"{counted(wait.known, 'complete phase')}: until phase {phase - 1} has ended, the wait "
            "passes at once"
        )
        fix = Remark(f"wait for phase {phase - 1} (parity {(phase - 1) & 1}) too", wait.place)
        return Cause("phase", missing, fix, barrier.owner)

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

    def _shares(self) -> Cause | None:
        """The phase that was waited for ended without an arrival that tells of the early access."""
        early, late = self.early, self.late
        for barrier, wait in self._waited():
            arrivers = barrier.arrivers()
            if len(arrivers) < 2 or not wait.sure or not self._is_last(barrier, wait):
                continue
            told = {
                each.task
                for each in barrier.signals
                if each.task != late.task and covers(each.seen, early.component, early.time)
            }
            came = [
                each
                for each in barrier.signals
                if each.kind == "arrive" and each.phase == wait.sure - 1
            ]
            missed = [task for task in arrivers if task in told]
            if early.task in missed:
                missed = [early.task]
            if not missed or set(missed) & {each.task for each in came}:
                continue
            if barrier.count < len(arrivers):
                made = counted(barrier.count, "arrival")
                missing = (
                    f"{barrier.name} is made for {made}, but {' and '.join(arrivers)} arrive: the "
                    f"phase that {late.task} waits for ends before {missed[0]} has arrived"
                )
                fix = Remark(f"make it with arrive_count={len(arrivers)}", barrier.place)
                return Cause("count", missing, fix, barrier.owner)
            twice = [each for each in came if each.task == came[0].task]
            answers = [each for each in self.history.barriers if each.key in late.gates]
            if len(twice) > 1 and answers:
                missing = (
                    f"{came[0].task} arrives on {barrier.name} twice in a phase: in between it "
                    f"does not wait for {answers[0].name}, which {late.operation} tells"
                )
                fix = Remark(f"tlx.barrier_wait on {answers[0].owner} before this", twice[1].place)
                return Cause("wait", missing, fix, answers[0].owner)
            whole = ", ".join(f"{each.amount} of {each.task}" for each in came)
            missing = (
                f"phase {wait.sure - 1} of {barrier.name} ends with the arrivals {whole}, without "
                f"{missed[0]}"
            )
            fix = Remark(f"let {came[0].task} arrive once a phase", came[0].place)
            return Cause("count", missing, fix, barrier.owner)
        return None

    def _arrived_before(self) -> Cause | None:
        """The arrival that the wait is sure of came before the early access."""
        early = self.early
        for barrier, wait in self._waited():
            arrivals = [
                each
                for each in barrier.signals
                if each.kind == "arrive" and each.task == early.task and each.phase < wait.sure
            ]
            if not arrivals or arrivals[-1].event > early.event or not self._is_for_late(barrier):
                continue
            missing = (
                f"{early.task} arrives on {barrier.name} before the {early.deed} of "
                f"{early.region.name}, so the phase that {self.late.task} waits for does not cover "
                "it"
            )
            fix = Remark(f"arrive on {barrier.name} after the {early.deed}", arrivals[-1].place)
            return Cause("race", missing, fix, barrier.owner)
        return None

    # -- operations --------------------------------------------------------------------------

    def _engine_wait(self) -> Cause | None:
        """The early access is an operation that only a wait for its group makes known."""
        early = self.early
        if not early.operation or self._is_released():
            return None
        if self.late.task == early.task:
            return self._not_waited(self.late.place)
        for barrier, wait in self._waited():
            for signal in barrier.signals:
                if signal.phase < wait.sure and self._is_under_way(signal):
                    return self._before_done(barrier.owner, barrier.name, signal.place)
        if self._direct:
            return None
        for barrier in self.history.barriers:
            for signal in barrier.signals:
                if self._is_under_way(signal):
                    return self._before_done(barrier.owner, barrier.name, signal.place)
        return None

    def _is_under_way(self, signal: Signal) -> bool:
        """Whether a signal comes when the early access is issued, but not known to be done."""
        early = self.early
        is_after = signal.event > early.event and signal.task == early.task
        return (
            is_after
            and not signal.operation
            and not covers(signal.seen, early.component, early.time)
        )

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

    # -- guesses -----------------------------------------------------------------------------

    def _threads(self) -> Cause | None:
        """A barrier of threads that the early access's task came to, and the other one did not."""
        early, late = self.early, self.late
        for meeting in self.history.meetings:
            place = meeting.came.get(early.task)
            if place is None or late.task in meeting.went:
                continue
            if not covers(meeting.knowledge.seen, early.component, early.time):
                continue
            missing = (
                f"{early.task} comes to {meeting.name} after the {early.deed}, and {late.task} "
                "does not wait there"
            )
            fix = Remark(f"tlx.named_barrier_wait on {meeting.name} before this", late.place)
            details = (Remark(f"{early.task} comes to {meeting.name} here", place),)
            return Cause("wait", missing, fix, meeting.name, details)
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
            f"{late.task} does not wait for {barrier.name}, on which {early.task} arrives when it "
            "is done"
        )
        fix = Remark(f"tlx.barrier_wait on {barrier.owner} before this", late.place)
        return Cause("wait", missing, fix, barrier.owner, doubt=2)

    def _reported(self) -> Cause | None:
        """A copy tells a barrier, whoever waits for it."""
        early = self.early
        for barrier in self.history.barriers:
            is_mine = cta_of(barrier.maker) == cta_of(self.late.task)
            if self.late.deed == "read" and barrier.key in early.gates and is_mine:
                return self._missing_wait(barrier, barrier.phase_at(early.event))
        return None

    def _nothing(self) -> Cause:
        early, late = self.early, self.late
        missing = f"no barrier tells {late.task} that the {early.deed} by {early.task} is done"
        fix = f"arrive on a barrier after this, and let {late.task} wait for it"
        return Cause("race", missing, Remark(fix, early.place), doubt=3)
