"""The table of DRAM reads in docs/benchmarks.md, and the script that makes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import tenstorrent_traffic as traffic
from tilewright.targets.tenstorrent.artefact import Executor

DOCUMENT = Path(__file__).parents[1] / "docs" / "benchmarks.md"
_ROW = re.compile(
    r"^\| (?P<name>[a-z ]+) \| (?P<policy>\w+) \| (?P<retained>\w+) \| (?P<counted>[\d,]+) \| "
    r"(?P<reads>[\d,]+) \| (?P<gib>[\d.]+) \| 1/(?P<factor>[\d.]+) \|$",
    re.MULTILINE,
)


def documented() -> dict[str, dict[str, str]]:
    rows = {each["name"]: each.groupdict() for each in _ROW.finditer(DOCUMENT.read_text("utf-8"))}
    assert list(rows) == list(traffic.VARIANTS)
    return rows


def integer(text: str) -> int:
    return int(text.replace(",", ""))


def test_the_factors_are_right() -> None:
    factor = traffic.SIZE // traffic.STEP // traffic.REDUCED_STEPS
    naive = integer(documented()["naive"]["reads"])
    for row in documented().values():
        reads = integer(row["reads"])
        assert reads == factor * integer(row["counted"])
        assert row["gib"] == f"{reads * 2048 / 2**30:.2f}"
        assert row["factor"] == f"{naive / reads:.1f}"


@pytest.mark.parametrize("name", traffic.VARIANTS)
def test_scaled_counts_are_those_of_the_full_program(name: str) -> None:
    """The method of the table, on a smaller GEMM."""
    row = traffic.measured(
        name, size=256, block=64, k=1024, steps=2, cores="2x2", executor=Executor.IR
    )
    assert row.is_right, (row.reads, row.plan.traffic)
    assert row.retained == documented()[name]["retained"]
    # 16 blocks of 2 x 2 tiles, 4 on a core, 32 steps: of each operand 2 pages a block and step.
    pages = {"naive": (16, 16), "residency": (4, 16), "multicast": (8, 8)}
    a, b = pages.get(name, (4, 8))
    assert row.reads == 32 * 2 * (a + b)


@pytest.mark.slow
@pytest.mark.parametrize("name", traffic.VARIANTS)
def test_the_table(name: str) -> None:
    row, found = documented()[name], traffic.measured(name)
    assert found.is_right
    assert (found.counted, found.reads) == (integer(row["counted"]), integer(row["reads"]))
    assert (found.plan.schedule.policy, found.retained) == (row["policy"], row["retained"])
