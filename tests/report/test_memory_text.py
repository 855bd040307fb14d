"""The map for terminals. ``TILEWRIGHT_UPDATE_GOLDEN=1`` rewrites the expected pictures."""

import os
import re
from pathlib import Path

import pytest

from tests.report.samples import SAMPLES, flash_attention, gemm_ring, too_much
from tilewright.report.memory_text import WIDTH, render

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("name", SAMPLES)
def test_golden(name):
    file = GOLDEN / f"{name}.txt"
    picture = render(SAMPLES[name]())
    if os.environ.get("TILEWRIGHT_UPDATE_GOLDEN"):
        file.write_text(picture, encoding="utf-8")
    assert picture == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLES)
def test_width(name):
    lines = render(SAMPLES[name]()).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert all(line == line.rstrip() for line in lines)


def rows(picture: str) -> dict[str, str]:
    """The charts of the rows by name."""
    found = re.findall(r"^  (\S+) +(?:\d )? ?([\[\d=#].*)$", picture, re.MULTILINE)
    return dict(found)


def test_indices_stand_where_the_buffers_are():
    chart = rows(render(flash_attention()))["p"]
    assert re.findall(r"\d", chart) == ["0", "1", "2", "3"]
    qk = rows(render(flash_attention()))["qk"]
    assert chart.index("2") == qk.index("1")


def test_every_buffer_and_address_is_named():
    picture = render(gemm_ring())
    for row in gemm_ring()[0].regions[0].rows:
        starts = " ".join(str(cell.interval.start) for cell in row.cells)
        assert f"{row.name}: {len(row.cells)} x {row.unit} bytes at {starts}" in picture
        assert row.path in picture
    assert "full  32  4 x 8 bytes; line 7" in picture
    assert picture.startswith("lines of gemm.py\n")


def test_totals():
    assert "131136 of 232448 bytes (56%), 101312 free" in render(gemm_ring())
    lines = render(too_much()).splitlines()
    assert lines[2] == "tensor memory on sm_100: 5000 of 512 columns (976%), 4488 too many"
    bar = lines[3]
    assert (bar.count("="), bar.count("!"), bar.count("."), len(bar)) == (7, 71, 0, 80)
