"""The page as text: complete, well formed, and nothing to fetch."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from tests.report.test_address_json import KERNELS
from tests.report.test_address_text import CORPUS, DESIGN, corpus, document
from tilewright.analysis.pid_address import AccessProperties
from tilewright.report import address_html
from tilewright.report.address_document import Document, SourceText
from tilewright.report.address_footprint import NotDrawable, footprint
from tilewright.report.address_html import line_of
from tilewright.report.address_svg import describe

VOID = {"meta"}


class Page(HTMLParser):
    """Checks that every element is closed in order; collects ids, links and what cells say."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID and not self.get_starttag_text().endswith("/>"):
            self.open.append(tag)
        attributes = dict(attrs)
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag == "a":
            self.links.append(attributes["href"].removeprefix("#"))
        if attributes.get("class") == "cell":
            self.cells.append(attributes["aria-label"])

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(*documents: Document) -> Page:
    page = Page()
    page.feed(address_html.render(documents))
    page.close()
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert set(page.links) <= set(page.ids)
    return page


def sourced(name: str, facts: AccessProperties | None = None) -> Document:
    source = SourceText(f"{name}.ttir", 1, (CORPUS / f"{name}.ttir").read_text())
    return Document(corpus(name, facts).report, (), "", source)


@pytest.mark.parametrize("name", KERNELS)
def test_every_access_has_a_row_a_section_and_a_line(name):
    one = sourced(name)
    page = parsed(one)
    count = len(one.report.accesses)
    assert [f"k0-a{number}" in page.ids for number in range(count)] == [True] * count
    lines = {line_of(access, one.source) for access in one.report.accesses}
    assert None not in lines
    assert len(page.links) == count + len(lines)


def test_nothing_is_fetched():
    text = address_html.render([sourced("flash_attn_fwd")])
    assert re.findall(r"https?://[^\"]*", text.replace("http://www.w3.org/2000/svg", "")) == []
    assert not re.search(r"<(link|img|iframe)\b|@import|\bsrc=|url\(", text)


def test_names_of_kernels_are_text_not_markup():
    one = document(DESIGN)
    text = address_html.render([Document(one.report, (), "<script>alert(1)</script>")])
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text


def test_neighbours_of_a_vector_lie_side_by_side():
    page = parsed(sourced("vector_add", AccessProperties((5,), {"n_elements": 2400})))
    assert page.cells[:3] == [
        "program (0, 0, 0): bytes 0 to 4095, 1024 of 1024 lanes",
        "program (1, 0, 0): bytes 4096 to 8191, 1024 of 1024 lanes",
        "program (2, 0, 0): bytes 8192 to 9599, 352 of 1024 lanes",
    ]


def test_a_grid_of_one_has_no_neighbours():
    page = parsed(sourced("vector_add", AccessProperties((1,))))
    assert len(page.cells) == 3


def test_rows_of_a_tile():
    report = corpus(
        "transpose_2d",
        AccessProperties((2, 2), {"M": 64, "N": 64, "stride_xm": 100, "stride_yn": 64}),
    ).report
    load, store = (footprint(report, access) for access in report.accesses)
    assert load.pitch == 400
    assert load.samples == {}
    assert [part.program for part in load.parts] == [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
    assert load.parts[0].runs == tuple((400 * row, 400 * row + 128) for row in range(32))
    assert load.parts[2].runs[0] == (128, 256)
    assert store.pitch == 256
    assert describe(store.parts[0]) == (
        "program (0, 0, 0): bytes 0 to 8063 in 32 runs, 1024 of 1024 lanes"
    )


def test_samples_are_possible_values():
    report = corpus("softmax_row").report
    picture = footprint(report, report.accesses[0])
    assert picture.samples == {"in_row_stride": 4096, "n_cols": 4096}
    assert picture.parts[1].runs == ((16384, 20480),)


def test_what_comes_from_memory_is_not_drawn():
    report = corpus("embedding_gather").report
    gather = next(access for access in report.accesses if access.pattern == "UNKNOWN")
    with pytest.raises(NotDrawable, match="depends on %ids_12"):
        footprint(report, gather)
    assert "Not drawn: the address depends on %ids_12" in address_html.render([Document(report)])


def test_a_program_without_lanes_says_so():
    report = corpus("vector_add", AccessProperties((2,), {"n_elements": 0})).report
    text = address_html.render([Document(report)])
    assert "No lane of these programs takes part." in text


def test_findings_stand_with_the_access_they_name():
    one = corpus("noinline_rowsum", None, ("bounds",))
    text = address_html.render([one])
    sections = dict(re.findall(r'<section id="([^"]*)">(.*?)</section>', text, re.DOTALL))
    assert [body.count('<p class="proved">') for body in sections.values()] == [1, 1, 1]
    assert "%4 (load) @%t stays inside %w_ptr" in sections["k0-a2"]
