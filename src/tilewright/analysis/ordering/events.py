"""Feeds a checker from the events of a run: tasks and operations become its agents.

The run may have data (`targets/numpy/tasks`) or not (`analysis/alias_sync`); sites and regions are
those of the checker.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

from typing_extensions import override

from tilewright.analysis.concurrency import (
    AccessKind,
    Deadlock,
    GroupKind,
    KeyedBarrier,
    NamedBarrier,
    Operation,
    Proxy,
    SyncEvents,
    Task,
)
from tilewright.analysis.ordering.checker import Checker
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.deadlocks import BlockedNamedBarrier
from tilewright.analysis.ordering.findings import Finding
from tilewright.analysis.ordering.regions import Access, ByteRegion

Part: TypeAlias = tuple[AccessKind, ByteRegion, Proxy]
"""An access of an operation, which counts from its issue."""
RegionT = TypeVar("RegionT")
_COPIES = "cp.async"


class CheckerEvents(SyncEvents[RegionT, KeyedBarrier, Operation]):
    """Forwards every event to a checker, except accesses: these are `accessed` as byte regions."""

    def __init__(
        self,
        checker: Checker,
        fences: Sequence[str] = ("async_shared",),
        sites: Sequence[int] = range(sys.maxsize),
    ) -> None:
        """`fences` are those that publish what a task has observed to the async proxy; `sites` are
        those of the checker, by site of the events."""
        self.checker = checker
        self._fences = fences
        self._sites = sites
        self._agents: dict[Task | Operation, Agent] = {}
        self._copies: dict[str, list[Agent]] = {}
        """Copies by the threads of a task."""
        self._held: dict[tuple[Operation, object], Access] = {}

    def agent(self, actor: Task | Operation) -> Agent:
        """The agent of a task or an operation."""
        return self._agents[actor]

    # -- tasks -------------------------------------------------------------------------------

    @override
    def spawn(self, task: Task, parent: Task | None) -> None:
        above = None if parent is None else self._agents[parent]
        self._agents[task] = self.checker.task(task.name, above)

    @override
    def join(self, task: Task, others: Sequence[Task]) -> None:
        self.checker.join(self._agents[task], [self._agents[each] for each in others])

    # -- memory ------------------------------------------------------------------------------

    def accessed(
        self,
        actor: Task | Operation,
        kind: AccessKind,
        region: ByteRegion,
        proxy: Proxy,
        site: int,
        key: object = None,
    ) -> Access:
        """Bytes are read or written; what an operation accesses was compared when it was issued,
        under `key`."""
        agent = self._agents[actor]
        access = self._held.get((actor, key)) if isinstance(actor, Operation) else None
        if access is None:
            access = self.checker.access(agent, kind, region, proxy, self._sites[site])
        elif access.kind != kind:
            access = replace(access, kind=kind)  # an accumulator that is read to be written
        self.checker.takes_effect(access, agent)
        return access

    # -- memory barriers ---------------------------------------------------------------------

    @override
    def init(self, actor: Task | Operation, barrier: KeyedBarrier, site: int) -> None:
        agent, at = self._agents[actor], self._sites[site]
        self.checker.init(agent, barrier.key, barrier.name, barrier.owner, barrier.count, at)

    @override
    def arrive(self, actor: Task | Operation, barrier: KeyedBarrier, count: int, site: int) -> None:
        agent = self._agents[actor]
        if isinstance(actor, Operation) and actor.engine.startswith(_COPIES):
            # It arrives when the copies that its task issued before are done.
            before = [each for each in self._copies[agent.name] if each.event < agent.event]
            self.checker.join(agent, before)
        self.checker.arrive(agent, barrier.key, count, self._sites[site])

    @override
    def expect(
        self, actor: Task | Operation, barrier: KeyedBarrier, size_bytes: int, site: int
    ) -> None:
        self.checker.expect(self._agents[actor], barrier.key, size_bytes, self._sites[site])

    @override
    def deliver(
        self, operation: Operation, barrier: KeyedBarrier, size_bytes: int, site: int
    ) -> None:
        agent, at = self._agents[operation], self._sites[site]
        self.checker.deliver(agent, barrier.key, size_bytes, at)

    @override
    def phase(self, barrier: KeyedBarrier, phase: int) -> None:
        self.checker.phase(barrier.key)

    @override
    def waiting(self, task: Task, barrier: KeyedBarrier, parity: int, site: int) -> None:
        self.checker.waiting(self._agents[task], barrier.key)

    @override
    def waited(self, task: Task, barrier: KeyedBarrier, parity: int, site: int) -> None:
        self.checker.waited(self._agents[task], barrier.key, parity, self._sites[site])

    # -- operations --------------------------------------------------------------------------

    @override
    def issue(self, operation: Operation) -> None:
        self._issue(operation)

    def _issue(self, operation: Operation) -> Agent:
        assert operation.issuer is not None, "operations have an issuer"
        issuer = self._agents[operation.issuer]
        agent = self._agents[operation] = self.checker.issue(
            issuer,
            operation.what,
            operation.engine,
            operation.in_order,
            tuple(each.key for each in operation.barriers if isinstance(each, KeyedBarrier)),
        )
        if operation.engine.startswith(_COPIES):
            self._copies.setdefault(issuer.name, []).append(agent)
        return agent

    def issued(
        self, operation: Operation, site: int, parts: Sequence[tuple[object, Part]]
    ) -> list[Access]:
        """An operation is in flight; its accesses, by key, count from here on."""
        agent, at, found = self._issue(operation), self._sites[site], list[Access]()
        iteration = self.checker.visit(agent.name, at, "issue")
        for key, (kind, region, proxy) in parts:
            access = self.checker.access(agent, kind, region, proxy, at, iteration)
            self._held[operation, key] = access
            found.append(access)
        return found

    @override
    def waited_group(
        self, task: Task, kind: GroupKind, operations: Sequence[Operation], site: int
    ) -> None:
        self.checker.join(self._agents[task], [self._agents[each] for each in operations])

    # -- barriers of threads, fences ---------------------------------------------------------

    @override
    def named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> None:
        at = self._sites[site]
        self.checker.came(self._agents[task], barrier, generation, barrier.name, at)

    @override
    def named_waited(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> None:
        self.checker.went(self._agents[task], barrier, generation)

    @override
    def fence(self, task: Task, kind: str, site: int) -> None:
        if kind in self._fences:
            self.checker.fence(self._agents[task])

    # -- the end -----------------------------------------------------------------------------

    def deadlock(self, deadlock: Deadlock) -> Finding | None:
        """Why tasks wait for barriers forever."""
        blocked = [
            (each.waiting, each.wait, self._sites[each.wait.site])
            for each in deadlock.blocked
            if isinstance(each.wait.site, int)
        ]
        return self.checker.deadlock(
            [
                (self._agents[task], wait.subject.key, wait.parity, site)
                for task, wait, site in blocked
                if isinstance(wait.subject, KeyedBarrier)
            ],
            [
                BlockedNamedBarrier(task.name, wait.subject.name, wait.subject.missing(), site)
                for task, wait, site in blocked
                if isinstance(wait.subject, NamedBarrier)
            ],
        )
