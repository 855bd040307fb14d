"""The events of a run with data, for the ordering checker: views are regions of bytes.

What depends on no view goes from the concurrency core to the checker as it is (`CheckerEvents`).
`TimelineEvents` draws every event besides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from typing_extensions import override

from tilewright.analysis.concurrency import (
    AccessKind,
    KeyedBarrier,
    NamedBarrier,
    Operation,
    Proxy,
    Task,
)
from tilewright.analysis.ordering import Access, ByteRegion, Checker, CheckerEvents, Finding
from tilewright.analysis.ordering.events import Part
from tilewright.analysis.ordering.timeline import Mark, MissingEdge, Point, TimelineBuilder
from tilewright.targets.numpy.tasks.support.arena import TaskArena, View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation

Actor: TypeAlias = Task | Operation


class ViewEvents(CheckerEvents[View]):
    """Forwards every event to a checker."""

    def __init__(self, checker: Checker, sites: Sequence[int]) -> None:
        super().__init__(checker, sites=sites)
        self._picked: View | None = None

    def pick(self, view: View) -> None:
        """The next access selects some elements of `view`."""
        self._picked = view

    @override
    def access(self, actor: Actor, kind: AccessKind, view: View, proxy: Proxy, site: int) -> None:
        self._accessed(actor, kind, view, proxy, site)

    def _accessed(
        self, actor: Actor, kind: AccessKind, view: View, proxy: Proxy, site: int
    ) -> Access | None:
        picked, self._picked = self._picked, None
        if picked is view:
            self.checker.access_unknown(_region(view), kind)
            return None  # two tasks may access different elements
        return self.accessed(actor, kind, _region(view), proxy, site, _held_key(view))

    @override
    def issue(self, operation: Operation) -> None:
        self._issued(operation)

    def _issued(self, operation: Operation) -> list[Access]:
        assert isinstance(operation, AsyncOperation) and isinstance(operation.site, int)
        parts: list[tuple[object, Part]] = []
        for held in operation.held:
            kind: AccessKind = "write" if held.writes else "read"
            part = kind, _region(held.view), _proxy(operation, held.view)
            parts.append((_held_key(held.view), part))
        return self.issued(operation, operation.site, parts)


class TimelineEvents(ViewEvents):
    """And draws them, with the text `where` of a site."""

    def __init__(
        self,
        checker: Checker,
        sites: Sequence[int],
        title: str,
        where: Callable[[int], str],
        *,
        names_ctas: bool,
    ) -> None:
        super().__init__(checker, sites)
        self.builder = TimelineBuilder(title)
        self._where = where
        self._names_ctas = names_ctas
        self._points: dict[int, Point] = {}
        """By the index of an access."""
        self._expected: tuple[Actor, KeyedBarrier] | None = None
        """The actor and barrier of the last expect-tx: the arrival that belongs to it follows."""

    def mark_findings(self, findings: Sequence[Finding]) -> None:
        """Mark the two accesses of each finding, and the missing edge between them."""
        for finding in findings:
            points: list[Point] = []
            for access in (finding.first, finding.second):
                if access is None:
                    continue
                point = self._points.get(access.index)
                if point is not None:
                    label = f"{access} {self._where(access.site)}"
                    mark = Mark(point.at, label, "finding")
                    self.builder.lane(point.kind, point.lane).marks.append(mark)
                    points.append(point)
            if len(points) == 2:
                label = f"{finding.message}; missing: {finding.cause.missing}"
                self.builder.timeline.missing.append(MissingEdge(points[0], points[1], label))

    @override
    def spawn(self, task: Task, parent: Task | None) -> None:
        super().spawn(task, parent)
        self.builder.lane("task", task.name)

    # -- memory ------------------------------------------------------------------------------

    @override
    def access(self, actor: Actor, kind: AccessKind, view: View, proxy: Proxy, site: int) -> None:
        access = self._accessed(actor, kind, view, proxy, site)
        if access is not None:
            record = self.builder.read if kind == "read" else self.builder.wrote
            name = f"CTA {view.arena.cta} {view.name}" if self._names_ctas else view.name
            record(name, f"{access} {self._where(site)}")
            self._points[access.index] = Point("buffer", name, self.builder.timeline.length)

    # -- memory barriers ---------------------------------------------------------------------

    @override
    def arrive(self, actor: Actor, barrier: KeyedBarrier, count: int, site: int) -> None:
        super().arrive(actor, barrier, count, site)
        if self._expected != (actor, barrier):
            self._mark(actor, "arrive", f"arrives on {barrier.name}", site)
        self._expected = None

    @override
    def expect(self, actor: Actor, barrier: KeyedBarrier, size_bytes: int, site: int) -> None:
        super().expect(actor, barrier, size_bytes, site)
        self._mark(actor, "expect", f"expects {size_bytes} bytes on {barrier.name}", site)
        self._expected = actor, barrier

    @override
    def phase(self, barrier: KeyedBarrier, phase: int) -> None:
        super().phase(barrier, phase)
        assert isinstance(barrier, Barrier)
        name = f"CTA {barrier.cta} {barrier.name}" if self._names_ctas else barrier.name
        self.builder.mark("barrier", name, "phase", f"phase {phase} of {name} completes")

    @override
    def waiting(self, task: Task, barrier: KeyedBarrier, parity: int, site: int) -> None:
        super().waiting(task, barrier, parity, site)
        label = f"waits for parity {parity} of {barrier.name} {self._where(site)}"
        self.builder.begin("task", task.name, "wait", "wait", label)

    @override
    def waited(self, task: Task, barrier: KeyedBarrier, parity: int, site: int) -> None:
        super().waited(task, barrier, parity, site)
        self.builder.finish("task", task.name, "wait")

    # -- operations --------------------------------------------------------------------------

    @override
    def issue(self, operation: Operation) -> None:
        accesses = self._issued(operation)
        assert operation.issuer is not None and isinstance(operation.site, int)
        label = f"{operation.what}, issued by {operation.issuer.name} {self._where(operation.site)}"
        self.builder.begin("engine", operation.engine, operation, "operation", label)
        issued = Point("engine", operation.engine, self.builder.timeline.length)
        self._points.update((access.index, issued) for access in accesses)

    @override
    def complete(self, operation: Operation) -> None:
        super().complete(operation)
        self.builder.finish("engine", operation.engine, operation)

    # -- barriers of threads, fences ---------------------------------------------------------

    @override
    def named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> None:
        super().named(task, barrier, generation, site)
        self._mark(task, "arrive", f"arrives at {barrier.name}", site)

    @override
    def fence(self, task: Task, kind: str, site: int) -> None:
        super().fence(task, kind, site)
        self._mark(task, "fence", f"fence {kind}", site)

    def _mark(self, actor: Actor, style: str, label: str, site: int) -> None:
        if isinstance(actor, Task):
            self.builder.mark("task", actor.name, style, f"{label} {self._where(site)}")


def arena_key(arena: TaskArena) -> tuple[int, bool]:
    """A memory of the checker."""
    return arena.cta, arena.is_tensor_memory


def _region(view: View) -> ByteRegion:
    owner = view.leaf or view.root.name
    return ByteRegion(
        arena_key(view.arena), view.name, owner, view.bytes.cells, view.root.source_id
    )


def _held_key(view: View) -> object:
    """Of the access of an operation, among its accesses."""
    return view.start, view.shape, arena_key(view.arena)


def _proxy(operation: Operation, view: View) -> Proxy:
    if view.arena.is_tensor_memory:
        return "tensor"
    return "generic" if operation.engine.startswith("cp.async") else "async"
