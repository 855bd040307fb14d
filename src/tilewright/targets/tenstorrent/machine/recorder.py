"""Records what kernels do, as the events of a traced run.

A kernel that yields a wait blocks, and resumes when the schedule chooses it again; transfers are
issued and done; pushes and pops carry their page count.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Operation

from tilewright.analysis.concurrency import Event as Step
from tilewright.ir.diagnostics import resolve
from tilewright.targets.tenstorrent.execution import Event, EventKind
from tilewright.targets.tenstorrent.program import Core


@dataclass(eq=False)
class Recorder:
    """The events of a run, in order."""

    cores: dict[str, Core]
    """The core of each task."""
    events: list[Event] = field(default_factory=list[Event])
    _waiting: dict[str, Event] = field(default_factory=dict[str, Event])
    _transfers: int = 0

    def step(self, step: Step) -> None:
        """One step of the machine."""
        if step.kind == "finish":
            return
        blocked = self._waiting.pop(step.actor, None)
        if blocked is not None:
            self.events.append(_resumed(blocked))
        if step.kind == "wait":
            core, site = self.cores[step.actor], step.site
            kernel = step.actor.split(" on ")[0]
            op = site if isinstance(site, Operation) else None
            event = Event(EventKind.BLOCK, core, kernel, _line(op), 0, f"waits for {step.what}")
            self._waiting[step.actor] = event
            self.events.append(event)

    def pages(
        self, kind: EventKind, core: Core, kernel: str, op: Operation, cb: int, pages: int
    ) -> None:
        """A push or a pop."""
        self.events.append(Event(kind, core, kernel, _line(op), cb, str(pages)))

    def issued(self, core: Core, kernel: str, op: Operation, what: str) -> int:
        """A transfer is in flight; returns its id."""
        self._transfers += 1
        event = Event(EventKind.ISSUE, core, kernel, _line(op), self._transfers, what)
        self.events.append(event)
        return self._transfers

    def completed(self, core: Core, kernel: str, op: Operation, transfer: int, what: str) -> None:
        self.events.append(Event(EventKind.DONE, core, kernel, _line(op), transfer, what))


def _resumed(event: Event) -> Event:
    return Event(EventKind.RESUME, event.core, event.kernel, event.line, event.key, event.text)


def _line(op: Operation | None) -> int:
    position = None if op is None else resolve(op.location).primary
    return 0 if position is None else position.line
