"""The data in a page: lines once, text that cannot end the script, places as keys."""

import json
import re

from tilewright.analysis.ordering.timeline import Lane, Mark, MissingEdge, Point, Span, Timeline
from tilewright.report.studio.document import (
    Document,
    Finding,
    Kernel,
    Line,
    Message,
    SharedBytes,
    SourceFile,
    SourceLine,
    Sources,
    Stage,
    Trial,
    Tuning,
)
from tilewright.report.studio.page import render


def page_data(document: Document) -> tuple[str, dict]:
    page = render(document)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return page, json.loads(found[1])


def document(**changes: object) -> Document:
    sources = Sources([SourceFile("/kernels/</script><b>.py", "a\n</script>\nc")])
    return Document("k.py", "studio k.py", "1.0", sources, **changes)


def test_a_line_that_passes_leave_alone_is_stored_once() -> None:
    kept = tuple(Line(f"op{i}", SourceLine(0, i)) for i in range(1, 50))
    stages = tuple(Stage(f"pass{i}", "ir", (*kept, Line(f"new{i}"))) for i in range(20))
    _, data = page_data(document(kernels=[Kernel("k", "cuda:sm_90a", stages=stages)]))
    assert len(data["texts"]) == 49 + 20
    last = data["kernels"][0]["stages"][19]["lines"]
    assert [data["texts"][i] for i in last] == [line.text for line in stages[19].lines]
    assert [data["places"][i] for i in last] == [*(f"0:{i}" for i in range(1, 50)), ""]


def test_no_text_of_the_user_ends_the_script() -> None:
    page, data = page_data(document(verdict="<!-- </script> <script>"))
    assert page.count("</script>") == 2
    assert data["verdict"] == "<!-- </script> <script>"
    assert data["files"][0]["lines"] == ["a", "</script>", "c"]


def test_a_fault_has_its_accesses_its_edge_and_its_lines() -> None:
    timeline = Timeline("program (0, 0, 0)", 9)
    timeline.lanes = [
        Lane("engine", "tma", [Span(1, 5, "TMA load, issued by p b.py:3", "operation")]),
        Lane("buffer", "a[0]", [], [Mark(7, "read of a[0] k.py:2", "finding")]),
    ]
    timeline.missing = [
        MissingEdge(Point("engine", "tma", 1), Point("buffer", "a[0]", 7), "a race")
    ]
    finding = Finding(
        Message(
            "error",
            "race",
            "TW6130",
            SourceLine(0, 2),
            (Message("note", "fix", origin=SourceLine(0, 3)),),
        ),
        (
            SharedBytes("a[0]", "the load", SourceLine(0, 2)),
            SharedBytes("a[0]", "the read", SourceLine(0, 3)),
        ),
        128,
    )
    made = document(findings=[finding], timeline=timeline, has_failed=True)
    made.sources.files[0] = SourceFile("/kernels/k.py", "1\n2\n3")
    _, data = page_data(made)
    assert data["failed"] is True
    assert data["findings"][0]["message"]["place"] == "0:2"
    assert data["findings"][0]["message"]["notes"][0]["place"] == "0:3"
    assert data["findings"][0]["bytes"] == 128
    assert [each["place"] for each in data["findings"][0]["accesses"]] == ["0:2", "0:3"]
    assert data["timeline"]["missing"] == [{"from": [0, 1], "to": [1, 7], "label": "a race"}]
    assert data["timeline"]["lanes"][0]["spans"][0][4] == "", "b.py is not on the page"
    assert data["timeline"]["lanes"][1]["marks"][0] == [7, "read of a[0] k.py:2", "finding", "0:2"]


def test_trials_say_which_was_chosen_and_which_was_not_measured() -> None:
    tuning = Tuning("gemm", (Trial("BLOCK=64", 0.5, is_chosen=True), Trial("BLOCK=128", None)))
    _, data = page_data(document(tuning=[tuning]))
    assert data["tuning"] == [
        {"kernel": "gemm", "trials": [["BLOCK=64", 0.5, True], ["BLOCK=128", None, False]]}
    ]
