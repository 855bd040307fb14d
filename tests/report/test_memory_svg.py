"""The map as a drawing: well-formed, complete, to scale, readable."""

import xml.etree.ElementTree as ET

import pytest

from tests.report.samples import SAMPLES, flash_attention, gaps
from tilewright.report import memory_svg
from tilewright.report.memory_svg import FILLS, INK, NAMESPACE, PAPER

SVG = f"{{{NAMESPACE}}}"


def drawn(maps) -> ET.Element:
    return ET.fromstring(memory_svg.render(maps).encode())


def cells_of(root: ET.Element) -> list[ET.Element]:
    return root.findall(f".//{SVG}g[@class='cell']")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_buffer_is_drawn_once(name):
    maps = SAMPLES[name]()
    expected = [
        (region.name, row.name, str(cell.index), str(cell.interval.start), str(cell.interval.end))
        for memory in maps
        for region in memory.regions
        for row in region.rows
        for cell in row.cells
    ]
    cells = cells_of(drawn(maps))
    keys = ("region", "buffer", "index", "start", "end")
    found = [tuple(cell.get(f"data-{key}") for key in keys) for cell in cells]
    assert sorted(found) == sorted(expected)
    assert len({cell.get("id") for cell in cells}) == len(cells)


def box(cell: ET.Element) -> tuple[float, float]:
    rect = cell.find(f"{SVG}rect")
    assert rect is not None
    x, width = rect.get("x"), rect.get("width")
    assert x and width
    return float(x), float(width)


def test_boxes_are_to_scale_and_stand_above_each_other():
    cells = {
        (c.get("data-buffer"), c.get("data-index")): box(c)
        for c in cells_of(drawn(flash_attention()))
    }
    assert cells["p", "2"][0] == cells["qk", "1"][0]
    assert cells["qk", "0"][1] == pytest.approx(4 * cells["p", "0"][1], abs=2)
    assert cells["alpha", "0"][1] >= 1


def test_titles_say_everything():
    (p3,) = [c for c in cells_of(drawn(flash_attention())) if c.get("id") == "m0-r0-b1-3"]
    title = p3.find(f"{SVG}title")
    assert title is not None
    assert title.text == (
        "p[3]: columns 160..192\n4 x 32 columns\nshared > distinct > shared*2 > p\nover qk[1]"
    )


def test_gaps_are_hatched():
    root = drawn(gaps())
    hatched = {
        kind: [
            t.text
            for g in root.findall(f".//{SVG}g[@class='{kind}']")
            for t in g.findall(f"{SVG}title")
        ]
        for kind in ("padding", "dead")
    }
    assert hatched["dead"] == ["dead: bytes 768..896"]
    assert hatched["padding"][0] == "padding: bytes 160..256"
    assert len(hatched["padding"]) == 4
    patterns = {pattern.get("id") for pattern in root.iter(f"{SVG}pattern")}
    assert patterns == {"padding", "dead"}


def luminance(colour: str) -> float:
    """Relative luminance as the Web Content Accessibility Guidelines define it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@pytest.mark.parametrize("fill", [*FILLS, PAPER])
def test_text_can_be_read_on_every_colour(fill):
    assert (luminance(fill) + 0.05) / (luminance(INK) + 0.05) >= 7
