"""What is wrong with the phases of a barrier: too early, too late, or with other bytes.

These findings follow from the signals and waits of a barrier alone; those about two accesses are
explained in `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tilewright.analysis.ordering.barriers import Generations, Signal, short_task
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.findings import TITLES, Cause, Finding, Remark, counted
from tilewright.analysis.ordering.history import PossibleSignal


@dataclass(frozen=True)
class Overrun:
    """An arrival that is not ordered after the completion of the phase before."""

    agent: Agent
    barrier: Generations
    site: int
    before: Signal
    """The last signal of the agent in the phase before."""


def uninitialised(barrier: Generations, agent: Agent, site: int) -> Finding:
    """Nothing orders the initialisation of a barrier before its use."""
    cause = Cause(
        "init",
        f"nothing orders the initialisation of {barrier.name} before its use by {agent.name}",
        Remark(
            "initialise it before the tasks start; between CTAs, call tlx.cluster_barrier() "
            "after it",
            barrier.site,
        ),
        barrier.owner,
    )
    message = f"{TITLES['init']}: {agent.name} may use {barrier.name} before it is initialised"
    made = Finding(
        message,
        site,
        cause,
        notes=(Remark(f"{barrier.name} is initialised here", barrier.site),),
    )
    return made


def late_bytes(barrier: Generations, signal: Signal, issued: int) -> Finding:
    """The complete-tx of an operation falls into a later phase than its issue."""
    of_phase = [each for each in barrier.signals if each.phase == issued]
    expected = sum(each.amount for each in of_phase if each.kind == "expect")
    expect = next((each for each in of_phase if each.kind == "expect"), None)
    site = signal.site if expect is None else expect.site
    cause = Cause(
        "bytes",
        f"phase {issued} of {barrier.name} completes after {counted(expected, 'byte')}; "
        f"{signal.operation}, issued in it, completes {signal.amount} more",
        Remark(f"expect {counted(expected + signal.amount, 'byte')} here", site),
        barrier.owner,
        (Remark(f"{signal.operation} is issued here", signal.site),),
    )
    message = (
        f"{TITLES['bytes']} on {barrier.name}: {counted(expected, 'byte')} expected in a "
        f"phase, at least {expected + signal.amount} completed"
    )
    return Finding(message, site, cause)


def outrun(barriers: Iterable[Generations]) -> list[Finding]:
    """A wait that may come too late, if nothing else is wrong."""
    for barrier in barriers:
        found = barrier.outrun()
        if found is None:
            continue
        wait, signal = found
        cause = Cause(
            "wait",
            f"phase {wait.guaranteed} of {barrier.name} may complete before {wait.task} "
            f"reaches its wait for parity {wait.parity}, which then does not pass",
            Remark(f"make {signal.task} wait until {wait.task} has passed this wait", signal.site),
            barrier.owner,
            (Remark(f"{signal.task} signals the next phase here", signal.site),),
        )
        message = (
            f"{TITLES['wait']}: {barrier.name} may complete its next phase before {wait.task} waits"
        )
        return [Finding(message, wait.site, cause)]
    return []


@dataclass(frozen=True)
class BarrierUses:
    """The barriers of a run, and the ops of the program that signal and wait for them."""

    barriers: Sequence[Generations]
    signals: Callable[[str], Sequence[PossibleSignal]]
    waiters: Callable[[str], Sequence[str]] | None

    def overran(self, overrun: Overrun, is_certain: bool) -> list[Finding]:
        """A signal that may be one phase too early."""
        agent, barrier = overrun.agent, overrun.barrier
        site, before = overrun.site, overrun.before
        if not (is_certain or barrier.waiters):
            return []  # without a waiter, the phases need no order
        crowded = self._crowded(agent)
        if crowded is not None:
            return [_too_small(crowded, agent, site)]
        response = self._response_to(agent, barrier)
        fix = f"wait before this for a task that waits for {barrier.owner}"
        released = ""
        if response:
            slots = sum(each.owner == response for each in self.barriers)
            example = f", for example ((i // {slots}) & 1) ^ 1" if slots > 1 else ""
            fix = (
                f"before this, call tlx.barrier_wait on {response} for the same slot, with parity "
                f"(n & 1) ^ 1 in use n of the slot (n = 0, 1, ...){example}"
            )
            released = f": {agent.name} does not wait for {response}, by which the slot is released"
        cause = Cause(
            "wait",
            f"nothing orders {agent.name} after the completion of phase {before.phase} of "
            f"{barrier.name} (arrive count {barrier.count}){released}",
            Remark(fix, site),
            response or barrier.owner,
            (Remark(f"{agent.name} signals phase {before.phase} here", before.site),),
        )
        message = (
            f"{TITLES['wait']}: {agent.name} may signal phase {before.phase + 1} of {barrier.name} "
            f"while phase {before.phase} is still pending"
        )
        return [Finding(message, site, cause)]

    def _crowded(self, agent: Agent) -> Generations | None:
        """The barrier that a task waited for last, if more tasks arrive on it than its arrive
        count."""
        waited = [
            (record.event, i, barrier)
            for i, barrier in enumerate(self.barriers)
            for record in barrier.waits_of(agent.name)
        ]
        if not waited:
            return None
        last = max(waited, key=lambda each: each[:2])[2]
        return last if len(last.arrivers()) > last.count else None

    def _response_to(self, agent: Agent, barrier: Generations) -> str:
        """The barriers by which the other side releases; empty if they are unknown. If the program
        is available, no task waits for them.
        """
        helpers = {short_task(each) for each in barrier.waiters}
        name_parts = set(barrier.owner.split("_"))
        found: list[tuple[bool, bool, str]] = []
        for each in self.barriers:
            tasks = {signal.task for signal in self.signals(each.owner)}
            if short_task(agent.name) in tasks or not tasks:
                continue
            if helpers and not tasks & helpers:
                continue
            if self.waiters is not None and self.waiters(each.owner):
                continue
            if any(wait.task == agent.name for wait in each.waits):
                continue
            is_unrelated = not name_parts & set(each.owner.split("_"))
            found.append((is_unrelated, each.is_waited_for, each.owner))
        return min(found)[2] if found else ""


def _too_small(barrier: Generations, agent: Agent, site: int) -> Finding:
    arrivers = barrier.arrivers()
    cause = Cause(
        "count",
        f"{barrier.name} is initialised with arrive count {barrier.count}, but "
        f"{' and '.join(arrivers)} arrive: {agent.name} passes before all of them have",
        Remark(f"use arrive_count={len(arrivers)}", barrier.site),
        barrier.owner,
    )
    message = f"{TITLES['count']}: {barrier.name} completes its phase too early for {agent.name}"
    return Finding(message, site, cause)
