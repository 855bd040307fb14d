"""The notebooks of the documentation: run from the first cell to the last, with the outputs that are committed."""

from __future__ import annotations

import json
import re
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from scripts import notebooks
from scripts.docs_site import notebooks as site
from tests.report.notebook.pieces import Outline, cells

NAMES = ("aliasing", "gemm", "race")


@cache
def run(name: str) -> tuple[dict[str, Any], ...]:
    """The cells of a notebook that was run just now."""
    path = notebooks.DIRECTORY / f"{name}.ipynb"
    return tuple(notebooks.executed(notebooks.read(path))["cells"])


def code(name: str) -> list[dict[str, Any]]:
    return [cell for cell in run(name) if cell["cell_type"] == "code"]


def cell_with(name: str, text: str, nth: int = 0) -> dict[str, Any]:
    """The nth code cell with `text` in its source."""
    return [cell for cell in code(name) if text in "".join(cell["source"])][nth]


def printed(cell: dict[str, Any]) -> str:
    return "".join(
        line for each in cell["outputs"] if each["output_type"] == "stream" for line in each["text"]
    )


def shown(cell: dict[str, Any], kind: str = "text/plain") -> str:
    """The value of a cell."""
    (value,) = [each for each in cell["outputs"] if each["output_type"] == "execute_result"]
    return "".join(value["data"][kind])


def test_all_notebooks_are_tested() -> None:
    assert sorted(path.stem for path in notebooks.DIRECTORY.glob("*.ipynb")) == sorted(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_those_that_are_committed(name: str) -> None:
    """Where a change is meant: python -m scripts.notebooks"""
    committed = notebooks.read(notebooks.DIRECTORY / f"{name}.ipynb")["cells"]
    for cell, expected in zip(run(name), committed, strict=True):
        assert cell["source"] == expected["source"]
        assert cell.get("outputs") == expected.get("outputs")


@pytest.mark.parametrize("name", NAMES)
def test_outputs_name_cells_and_nothing_of_the_computer(name: str) -> None:
    text = json.dumps([cell["outputs"] for cell in code(name)])
    assert "In[" in text
    for directory in (Path.home(), tempfile.gettempdir(), notebooks.DIRECTORY.parents[1]):
        assert str(directory) not in text
    assert re.findall(r"ipython-input|ipykernel|site-packages| at 0x[0-9a-f]", text) == []


def test_aliasing() -> None:
    unaliased = cell_with("aliasing", "attention(q, k, v, attention_kernel, ALIAS=False)")
    (error,) = unaliased["outputs"]
    assert error["ename"] == "Unsupported"
    assert (
        "error[TW5001]: tensor memory: 514 columns needed, 512 available on sm_100"
        in error["evalue"]
    )
    maps = [cell_with("aliasing", "tw.memory_map(attention_kernel)", nth) for nth in (0, 1)]
    assert "520 of 512 columns (101%), 8 too many" in shown(maps[0])
    assert "384 of 512 columns (75%), 128 free" in shown(maps[1])
    rows = {row[1]: row[3] for row in cells(shown(maps[1], "text/html")) if row[0] == "storage"}
    assert rows == {
        "qk": "0..256 columns",
        "p": "0..128 columns",
        "alpha": "128..129 columns",
        "sums": "129..130 columns",
    }
    aliased = cell_with("aliasing", "attention_kernel, ALIAS=True")
    assert printed(aliased) == "right: True\n"
    assert shown(aliased) == "check: 1 launch of 1 kernel, 4 programs: no fault"
    planned = cell_with("aliasing", "plan_region(")
    assert "scores: 256 columns, stride 128" in shown(planned)
    ahead = cell_with("aliasing", "attention_ahead, ALIAS=False")
    assert printed(ahead) == "right: True\n"
    assert "no fault" in shown(ahead)
    wrong = cell_with("aliasing", "attention_ahead, ALIAS=True")
    assert "alpha[0] and qk[0] are different buffers that overlap" in shown(wrong)
    assert "qk and p overlap, and qk[0] is written before p[0] is read for the last time" in shown(
        wrong
    )
    assert shown(wrong).endswith("check: fault in attention_ahead")
    outline = Outline(shown(wrong, "text/html"))
    assert "512 bytes in common" in outline.text
    assert "memory of attention_ahead, as written" in outline.text


def test_race() -> None:
    right = [cell_with("race", "launch(scale)", nth) for nth in (0, 1)]
    for cell in right:
        assert shown(cell) == "check: 1 launch of 1 kernel, 1 program: no fault"
        assert cell["outputs"][0]["data"]["text/plain"] == ["True"]
    early = shown(cell_with("race", "launch(scale_early)"))
    assert (
        "error[TW6130]: data race: the TMA load into tile[0], issued by default (iteration 2) and the TMA store "
        in early
    )
    assert "access the same 1024 bytes of shared memory, and nothing orders them" in early
    assert "smallest fix: arrive on empty[0] after the read" in early
    assert "2 more pairs of accesses" in early
    html = shown(cell_with("race", "launch(scale_early)"), "text/html")
    assert [row[0] for row in cells(html)[1:3]] == ["tile[0]", "result[0]"]
    assert "srcdoc=" in html
    halfway = shown(cell_with("race", "launch(scale_halfway)"))
    assert (
        "partition0 arrives on empty[0] while the TMA store of result[0] may still be in flight"
        in halfway
    )
    assert "smallest fix: call tlx.async_descriptor_store_wait before this" in halfway
    (error,) = cell_with("race", "def copy(")["outputs"]
    assert "load out of bounds: x_ptr[32]" in error["evalue"]
    assert len(error["traceback"]) < 10


def test_gemm() -> None:
    """Each step is right, and makes other instructions."""
    steps = [
        cell_with("gemm", f"check(gemm_{name}")
        for name in ("plain", "pipelined", "large", "stored", "persistent")
    ]
    found = [printed(cell).splitlines() for cell in steps]
    assert {lines[0] for lines in found} == {"as NumPy: True"}
    assert found[0][1:] == ["16-byte loads and stores by threads", "wgmma_m64n64k16_f32_f16_f16_tb"]
    assert found[1][1:] == ["barrier_wait", "tma_load", "wgmma_m64n64k16_f32_f16_f16_tb"]
    assert found[2][1:] == ["barrier_wait", "tma_load", "wgmma_m64n256k16_f32_f16_f16_tb_x4"]
    assert found[3][1:] == [
        "barrier_wait",
        "tma_load",
        "tma_store",
        "wgmma_m64n256k16_f32_f16_f16_tb_x4",
    ]
    assert found[4] == found[3]
    # The result shares the storage of the stages: it costs nothing.
    assert "shared memory on sm_90: 196672 of 232448 bytes (84%)" in shown(steps[2])
    assert "shared memory on sm_90: 196672 of 232448 bytes (84%)" in shown(steps[3])
    rows = [row for row in cells(shown(steps[3], "text/html")) if row[1:2] == ["out"]]
    assert [row[3] for row in rows] == ["0..65536 bytes"]
    kernel = "".join(steps[0]["source"]).partition("\n\n\ncheck")[0]
    assert len(kernel.splitlines()[1:]) == 17 - kernel.count("    return C")
    assert printed(cell_with("gemm", "def measure(")).startswith("no GPU with torch here")


def test_numbers_are_those_of_the_benchmarks() -> None:
    """The table of the notebook quotes docs/benchmarks.md."""
    text = "".join(
        "".join(cell["source"]) for cell in run("gemm") if cell["cell_type"] == "markdown"
    )
    benchmarks = (notebooks.DIRECTORY.parent / "benchmarks.md").read_text()
    rows = re.findall(
        r"^\| (\d+) x (\d+) x (\d+) \| (\d+) \| (\d+) \| (\d+) \| ([\d.]+) \|$", text, re.MULTILINE
    )
    assert len(rows) == 4
    for *shape, library, tiles, persistent, ratio in rows:
        row = rf"\| {'x'.join(shape)} fp16 +\| {library} +\| {tiles} +\| {persistent} +\| {re.escape(ratio)} +\|"
        assert re.search(row, benchmarks), shape


# -- the tools -------------------------------------------------------------------------------------


def notebook_of(*sources: str, tags: tuple[str, ...] = ()) -> dict[str, Any]:
    made = [
        {"cell_type": "code", "metadata": {"tags": list(tags)}, "source": [source], "outputs": []}
        for source in sources
    ]
    return {"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_a_cell_that_fails_ends_the_run() -> None:
    with pytest.raises(notebooks.CellFailed, match="cell 2: "):
        notebooks.executed(notebook_of("x = 1", "1 / 0", "x = 2"))


def test_a_cell_that_should_fail_and_does_not_ends_the_run() -> None:
    with pytest.raises(notebooks.CellFailed, match="cell 1: did not raise"):
        notebooks.executed(notebook_of("x = 1", tags=(notebooks.RAISES,)))


def test_streams_values_and_displays_are_outputs() -> None:
    (cell,) = notebooks.executed(notebook_of("print('a')\ndisplay(1)\n2"))["cells"]
    assert [each["output_type"] for each in cell["outputs"]] == [
        "stream",
        "display_data",
        "execute_result",
    ]
    assert [*cell["outputs"][0]["text"], cell["outputs"][2]["data"]] == [
        "a\n",
        {"text/plain": ["2"]},
    ]


def test_check_finds_an_output_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(notebooks, "DIRECTORY", tmp_path)
    path = tmp_path / "small.ipynb"
    path.write_text(json.dumps(notebook_of("6 * 7")), encoding="utf-8")
    assert notebooks.main(["--check"]) == 1
    assert capsys.readouterr().out.startswith("small.ipynb: an output differs")
    assert notebooks.main([]) == 0
    assert '"42"' in path.read_text()
    assert notebooks.main(["--check"]) == 0
    path.write_text(path.read_text().replace('"42"', '"43"'), encoding="utf-8")
    assert notebooks.main(["--check", "small"]) == 1


@pytest.mark.parametrize("name", NAMES)
def test_pages_of_the_site(name: str) -> None:
    """A page has the text, the code and the outputs of its notebook."""
    page = site.pages()[f"notebooks/{name}.md"]
    for cell in run(name):
        assert "".join(cell["source"]).strip("\n").partition("\n")[2] in page
        for output in cell.get("outputs", ()):
            assert "".join(output.get("data", {}).get("text/html", ())) in page
    assert "\x1b" not in page
    assert page.count(site._FENCE) % 2 == 0


def test_links_to_notebooks_lead_to_pages() -> None:
    assert site.to_pages("[a](notebooks/race.ipynb)", "notebooks.md") == "[a](notebooks/race.md)"
    text = "the notebook [race.ipynb](race.ipynb); open it with Jupyter: [b](gemm.ipynb)"
    expected = "the notebook [race.ipynb](race.ipynb); open it with Jupyter: [b](gemm.md)"
    assert site.to_pages(text, "notebooks/race.md") == expected
