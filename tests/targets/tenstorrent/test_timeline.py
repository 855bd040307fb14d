"""The timeline of a traced run."""

from __future__ import annotations

import pytest

from tests.targets.tenstorrent.own_programs import add_relu
from tilewright.report.task_timeline import timeline_html
from tilewright.targets.tenstorrent.execution import EventKind, RunOptions
from tilewright.targets.tenstorrent.source import SourceExecutorUnavailable, run
from tilewright.targets.tenstorrent.timeline import timeline_of


def test_pushes_end_at_their_pops_and_transfers_when_they_are_performed():
    case = add_relu()
    try:
        outcome = run(case.program, case.inputs, RunOptions(seed=2, trace=True))
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    timeline = timeline_of(outcome.raise_for_findings(), case.program, (1, 0))
    lanes = {(lane.kind, lane.name): lane for lane in timeline.lanes}
    assert len(lanes["buffer", "c_0"].spans) == 3
    assert len(lanes["buffer", "c_16"].marks) == 3
    assert len(lanes["engine", "NoC of add_reader"].spans) == 6
    assert len(lanes["engine", "NoC of writer"].spans) == 3
    waits = lanes["task", "writer"].spans
    assert any("cb_wait_front(c_16, 1)" in span.label for span in waits)
    assert "c_16" in timeline_html(timeline)


def test_events_of_both_kinds_are_paired():
    case = add_relu(rows=32)
    try:
        events = run(case.program, case.inputs, RunOptions(trace=True)).events
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    count = {kind: sum(event.kind is kind for event in events) for kind in EventKind}
    assert count[EventKind.ISSUE] == count[EventKind.DONE] == 6
    assert count[EventKind.PUSH] == count[EventKind.POP] == 6
    assert count[EventKind.BLOCK] == count[EventKind.RESUME] > 0


def test_a_run_that_was_not_traced_is_named():
    case = add_relu(rows=32)
    try:
        outcome = run(case.program, case.inputs)
    except SourceExecutorUnavailable as reason:
        pytest.skip(str(reason))
    notes = timeline_of(outcome, case.program, (0, 0)).notes
    assert notes == ["the run was not traced: set RunOptions(trace=True)"]
