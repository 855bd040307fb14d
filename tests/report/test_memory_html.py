"""The map as a page, as text; ``test_memory_chromium`` opens it."""

from html.parser import HTMLParser

import pytest

from tests.report.samples import SAMPLES, flash_attention
from tilewright.report import memory_html

VOID = {"meta"}


class Page(HTMLParser):
    """Checks that every element is closed in order; collects cells and table rows."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[dict[str, str | None]] = []
        self.rows = 0

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        attributes = dict(attrs)
        if attributes.get("class") == "cell":
            self.cells.append(attributes)
        self.rows += tag == "tr"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    return page


@pytest.mark.parametrize("name", SAMPLES)
def test_well_formed_and_complete(name):
    maps = SAMPLES[name]()
    page = parsed(memory_html.render(maps))
    assert page.open == []
    rows = [row for memory in maps for region in memory.regions for row in region.rows]
    count = sum(len(row.cells) for row in rows)
    regions = sum(len(memory.regions) for memory in maps)
    assert len(page.cells) == count
    assert page.rows == count + regions
    assert {cell["data-buffer"] for cell in page.cells} == {row.name for row in rows}


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_to_fetch(name):
    text = memory_html.render(SAMPLES[name]())
    for word in ("http:", "https:", "//", "src=", "<link", "@import", 'url("'):
        assert word not in text


def test_cells_can_be_reached_by_keyboard():
    for cell in parsed(memory_html.render(flash_attention())).cells:
        assert cell["tabindex"] == "0"
        assert cell["aria-label"] is not None
        assert cell["aria-label"].startswith(
            f"{cell['data-buffer']}[{cell['data-index']}]: columns "
        )
