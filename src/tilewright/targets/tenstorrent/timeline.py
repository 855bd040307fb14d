"""A traced run of one core as a timeline: kernels, NoC transfers, fill of circular buffers.

A kernel's lane shows where it blocks; the NoC's lanes show each transfer from its issue to the
moment at which it is performed; a circular buffer's lane shows each push from the push to the pop
of its last page. Time is counted in events of the core, not in cycles.
"""

from __future__ import annotations

from collections import deque

from tilewright.analysis.ordering.timeline import Timeline, TimelineBuilder
from tilewright.targets.tenstorrent.execution import Event, EventKind, RunResult
from tilewright.targets.tenstorrent.program import Core, Program


class _Fill:
    """Pushes of one circular buffer that have not been popped."""

    def __init__(self) -> None:
        self.pushes: deque[list[int]] = deque()
        self.count = 0

    def push(self, pages: int) -> int:
        self.count += 1
        self.pushes.append([self.count, pages])
        return self.count

    def pop(self, pages: int) -> list[int]:
        """The pushes whose last page is popped."""
        ended: list[int] = []
        while pages and self.pushes:
            first = self.pushes[0]
            taken = min(first[1], pages)
            first[1] -= taken
            pages -= taken
            if first[1] == 0:
                ended.append(self.pushes.popleft()[0])
        return ended


def timeline_of(result: RunResult, program: Program, core: Core) -> Timeline:
    """The timeline of one core; the run has to be traced."""
    builder = TimelineBuilder(f"{program.name}, core ({core[0]},{core[1]})")
    fills: dict[int, _Fill] = {}
    for event in result.events:
        if event.core == core:
            _add(builder, fills, event)
    timeline = builder.done()
    if not result.events:
        timeline.notes.append("the run was not traced: set RunOptions(trace=True)")
    timeline.notes += [str(finding) for finding in result.findings]
    return timeline


def _add(builder: TimelineBuilder, fills: dict[int, _Fill], event: Event) -> None:
    where = f"{event.kernel} line {event.line}"
    noc = f"NoC of {event.kernel}"
    if event.kind is EventKind.BLOCK:
        builder.begin("task", event.kernel, 0, "wait", f"line {event.line}: {event.text}")
    elif event.kind is EventKind.RESUME:
        builder.finish("task", event.kernel, 0)
    elif event.kind is EventKind.ISSUE:
        builder.begin("engine", noc, event.key, "operation", f"{where}: {event.text}")
    elif event.kind is EventKind.DONE:
        builder.finish("engine", noc, event.key)
    else:
        _fill(builder, fills.setdefault(event.key, _Fill()), event, where)


def _fill(builder: TimelineBuilder, fill: _Fill, event: Event, where: str) -> None:
    name, pages = f"c_{event.key}", int(event.text)
    if event.kind is EventKind.PUSH:
        label = f"{pages} pages pushed by {where}"
        builder.begin("buffer", name, fill.push(pages), "value", label)
        return
    builder.mark("buffer", name, "read", f"{pages} pages popped by {where}")
    for push in fill.pop(pages):
        builder.finish("buffer", name, push)
