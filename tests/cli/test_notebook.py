"""The magics of a notebook: cells are run and checked, lines are those of the cell."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import CapturedIO, capture_output

from tests.report.notebook.pieces import Outline, cells
from tests.test_docs import blocks
from tilewright.report.notebook.checks import CellCheck, StudioPage

SCALE = blocks("docs/checking.md", "python")[0]
WAIT = "                tlx.barrier_wait(full[slot], (block // 2) & 1)\n"
ADD = """\
import numpy as np
import tilewright as tw
from tilewright import tl

@tw.jit
def add(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)

x, o = np.ones(100, np.float32), np.zeros(100, np.float32)
"""


class Notebook:
    """A notebook: cells are run one after the other."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.run("%load_ext tilewright")

    def run(self, cell: str) -> tuple[Any, CapturedIO]:
        """Run a cell; its value, and what it showed."""
        with capture_output() as shown:
            done = self.shell.run_cell(cell, store_history=True)
        return done.result, shown


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setattr(sys, "displayhook", sys.displayhook)
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance(colors="nocolor")
    shell.history_manager.enabled = False
    yield Notebook(shell)
    InteractiveShell.clear_instance()
    for name in ("ps1", "ps2", "ps3"):  # there is no prompt any more
        vars(sys).pop(name, None)


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_a_kernel_of_a_cell_runs_and_is_shown(notebook: Notebook) -> None:
    notebook.run(ADD)
    kernel, _ = notebook.run("add[(2,)](x, o, 100, B=64)\nadd")
    assert notebook.shell.user_ns["o"].tolist() == [2.0] * 100
    assert "In[2]:5" in Outline(kernel._repr_html_()).text


def test_an_error_is_its_message_and_no_frames(notebook: Notebook) -> None:
    notebook.run(ADD)
    _, shown = notebook.run("i = 0\nadd[(2,)](x, o[:90], 100, B=64)")
    assert plain(shown.stdout).splitlines()[:3] == [
        "MemoryFault at In[3]:2",
        "In[2]:8:5: error[TW6101]: store out of bounds: o[90], but o has 90 elements",
        "  8 |     tl.store(o + i, tl.load(x + i, mask=i < n) + 1, mask=i < n)",
    ]
    assert "Traceback" not in shown.stdout
    _, shown = notebook.run("add[(2,)](x)")
    assert plain(shown.stdout).startswith(
        "TypeError\nIn[4]:1:1: error[TW6020]: add is missing a value for o, n, B"
    )


def test_check_of_a_right_kernel(notebook: Notebook) -> None:
    found, _ = notebook.run(f"%%check\n{SCALE}")
    assert isinstance(found, CellCheck)
    assert str(found) == "check: 1 launch of 1 kernel, 1 program: no fault"
    assert not found.has_failed
    assert '<span class="mark">check:</span> 1 launch' in found._repr_html_()
    assert notebook.shell.user_ns["y"][79, 31] == (80 * 32 - 1) / 2


def test_check_shows_both_accesses_and_the_bytes_they_share(notebook: Notebook) -> None:
    assert WAIT in SCALE
    found, _ = notebook.run(f"%%check --schedules 2\n{SCALE.replace(WAIT, '')}")
    assert found.has_failed
    text = str(found)
    # The line of the magic is one of the cell: the kernel begins one line lower than in a file.
    assert text.startswith(
        "In[2]:25:17: error[TW6132]: missing wait: the TMA load into tile[0], issued by default (iteration 0) and "
        "read of tile[0] by partition0 (iteration 0) access the same 2048 bytes of shared memory, and nothing orders them\n"
        "  25 |                 tlx.async_descriptor_load(x_desc, tile[slot], [block * ROWS, 0], full[slot])\n"
    )
    assert "partition0 is the tlx.async_task whose body begins at In[2]:27" in text
    assert text.endswith("check: fault in scale")
    html = found._repr_html_()
    outline = Outline(html)
    assert "missing wait: 2048 bytes in common" in outline.text
    assert cells(html)[:3] == [
        ["buffer", "access", "iteration", "line"],
        ["tile[0]", "the TMA load into tile[0], issued by default", "0", "In[2]:25"],
        ["tile[0]", "read of tile[0] by partition0", "0", "In[2]:29"],
    ]
    # The buffers that share storage, as a diagram.
    assert outline.tags.count("svg") == 1
    assert ("data-source", "In[2]:13") in outline.attributes
    assert "ipython-input" not in html
    assert any(
        row[1:5] == ["result", "0", "0..1024 bytes", "In[2]:13"]
        for row in cells(html)
        if len(row) == 6
    )
    assert "memory of scale, as written" in outline.text


def test_check_draws_a_timeline(notebook: Notebook) -> None:
    found, _ = notebook.run(f"%%check --timeline\n{SCALE.replace(WAIT, '')}")
    (frame,) = re.findall(r'<iframe [^>]*srcdoc="([^"]*)"', found._repr_html_())
    assert "<svg" in unescape(frame)
    assert "partition0" in unescape(frame)


def test_check_reports_unread_data(notebook: Notebook) -> None:
    load = "                value = tlx.local_load(tile[slot])\n"
    assert load in SCALE
    unread = SCALE.replace(load, "                value = tl.zeros((ROWS, COLUMNS), tl.float32)\n")
    found, _ = notebook.run(f"%%check\n{unread}")
    assert found.has_failed
    assert "never read" in str(found)
    found, _ = notebook.run(f"%%check --allow-unread\n{unread}")
    assert not found.has_failed
    assert "warning" in str(found)
    assert "never read" in str(found)


def test_check_of_a_kernel_that_does_not_compile(notebook: Notebook) -> None:
    notebook.run(ADD)
    found, shown = notebook.run("%%check\n\nadd[(2,)](x, o, 100, B=63)")
    assert found.has_failed
    assert "In[2]:7:" in str(found)
    assert str(found).endswith("check: a kernel does not compile")
    assert "Traceback" not in shown.stdout


def test_a_value_is_shown_and_names_stay(notebook: Notebook) -> None:
    found, shown = notebook.run("%%check\nanswer = 41\nanswer + 1")
    assert "no kernel was launched" in str(found)
    assert [each.data for each in shown.outputs] == [{"text/plain": "42"}]
    _, shown = notebook.run("%%check\nanswer;")
    assert shown.outputs == []
    assert notebook.shell.user_ns["answer"] == 41


def test_an_exception_of_the_cell_is_raised_after_the_report(notebook: Notebook) -> None:
    _, shown = notebook.run("%%check\n\n1 / 0")
    (report,) = shown.outputs
    assert report.data["text/plain"] == "check: the cell raised ZeroDivisionError"
    assert "ZeroDivisionError: division by zero" in plain(shown.stdout)
    assert "Cell In[2], line 3" in plain(shown.stdout)


def test_a_syntax_error_of_the_cell(notebook: Notebook) -> None:
    _, shown = notebook.run("%%check\n\n1 +")
    assert "SyntaxError" in shown.stdout
    assert "the cell raised SyntaxError" in shown.outputs[0].data["text/plain"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%%check --what", "%%check: unrecognized arguments: --what"),
        ("%%check --schedules 0", "%%check: argument --schedules: '0' is not an integer >= 1"),
        ("%%studio --target tenstorrent:wormhole", "write a script, and run 'tilewright studio'"),
    ],
)
def test_wrong_options_are_one_line(notebook: Notebook, line: str, message: str) -> None:
    _, shown = notebook.run(f"{line}\n1")
    assert shown.stderr.startswith("UsageError: ")
    assert message in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_studio_opens_at_the_fault_of_the_cell(notebook: Notebook, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    found, _ = notebook.run(f"%%studio --height 500 -o {page}\n{SCALE.replace(WAIT, '')}")
    assert isinstance(found, StudioPage)
    assert found.verdict.startswith("fault in scale, ")
    text = found._repr_html_()
    assert page.read_text(encoding="utf-8") == found.page
    (frame,) = re.findall(r'srcdoc="([^"]*)"', text)
    assert unescape(frame) == found.page
    assert "height: 500px" in text
    assert 'sandbox="allow-scripts"' in text
    assert '"short":"In[2]"' in found.page
    assert "def scale(x_desc, y_desc" in found.page
    # Findings and lines of the IR lead to lines of the cell.
    assert '"place":"0:25"' in found.page
    assert len(set(re.findall(r'"0:\d+"', found.page))) > 15


def test_studio_of_kernels_of_other_cells(notebook: Notebook) -> None:
    notebook.run(ADD)
    found, _ = notebook.run("%%studio --target cuda:sm_80\nadd[(2,)](x, o, 100, B=64)")
    assert "no fault" in found.verdict
    assert '"short":"In[3]"' in found.page
    assert '"short":"In[2]"' in found.page
    assert '"target":"cuda:sm_80"' in found.page
