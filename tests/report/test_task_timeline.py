"""The timeline as a page: every lane and event is in it, it is well-formed, nothing is fetched."""

import re
from xml.etree import ElementTree

from tilewright.analysis.ordering.timeline import MAX_EVENTS, Timeline, TimelineBuilder
from tilewright.report.task_timeline import timeline_html

SVG = "{http://www.w3.org/2000/svg}"


def built() -> Timeline:
    builder = TimelineBuilder("program (0, 0, 0), seed 3 <&>")
    builder.begin("task", "default", "wait", "wait", "waits for full[0]")
    builder.begin("engine", "tma", 1, "operation", "the load into a[0]")
    builder.begin("engine", "tma", 2, "operation", "the load into b[0]")
    builder.finish("engine", "tma", 1)
    builder.wrote("a[0]", "written by the load")
    builder.mark("barrier", "full[0]", "phase", "phase 0 of full[0] ends")
    builder.finish("task", "default", "wait")
    builder.read("a[0]", "read by default")
    builder.mark("task", "default", "arrive", "arrives on empty[0]")
    return builder.done()


def test_spans_last_from_begin_to_finish() -> None:
    lanes = {lane.name: lane for lane in built().lanes}
    assert [(s.start, s.end) for s in lanes["default"].spans] == [(1, 7)]
    assert [(s.start, s.end, s.label) for s in lanes["tma"].spans] == [
        (2, 4, "the load into a[0]"),
        (3, 9, "the load into b[0] (not done)"),
    ]
    assert [(s.start, s.end) for s in lanes["a[0]"].spans] == [(5, 8)]
    assert [(m.at, m.style) for m in lanes["default"].marks] == [(9, "arrive")]


def drawing(page: str) -> ElementTree.Element:
    found = re.search(r"<svg.*</svg>", page, re.DOTALL)
    assert found is not None
    return ElementTree.fromstring(found.group())


def test_the_page_shows_every_lane_and_event() -> None:
    page = timeline_html(built())
    root = drawing(page)
    texts = [each.text for each in root.iter(f"{SVG}text")]
    assert texts[:2] == ["Tasks", "default"]
    assert [each for each in texts if each in ("Engines", "Barriers", "Buffers")] == [
        "Engines",
        "Barriers",
        "Buffers",
    ]
    labels = [each.get("aria-label") for each in root.iter(f"{SVG}g")]
    assert labels == [
        "waits for full[0] (events 1 to 7)",
        "arrives on empty[0] (event 9)",
        "the load into a[0] (events 2 to 4)",
        "the load into b[0] (not done) (events 3 to 9)",
        "phase 0 of full[0] ends (event 6)",
        "written by the load (events 5 to 8)",
        "written by the load (event 5)",
        "read by default (event 8)",
    ]


def test_operations_at_one_time_do_not_cover_each_other() -> None:
    root = drawing(timeline_html(built()))
    tops = [
        rect.get("y")
        for group in root.iter(f"{SVG}g")
        if "the load into" in (group.get("aria-label") or "")
        for rect in group.iter(f"{SVG}rect")
    ]
    assert len(tops) == len(set(tops)) == 2


def test_names_are_escaped_and_nothing_is_fetched() -> None:
    page = timeline_html(built())
    assert "seed 3 &lt;&amp;&gt;" in page
    assert set(re.findall(r"https?://[^\"' )]+", page)) == {"http://www.w3.org/2000/svg"}
    assert "src=" not in page and "<link" not in page


def test_a_long_run_is_cut_and_says_so() -> None:
    builder = TimelineBuilder("long")
    for number in range(MAX_EVENTS + 5):
        builder.mark("task", "default", "arrive", str(number))
    timeline = builder.done()
    assert (timeline.length, timeline.is_cut) == (MAX_EVENTS, True)
    page = timeline_html(timeline)
    assert f"The run went on; its first {MAX_EVENTS} events are drawn." in page
