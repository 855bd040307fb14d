"""The tutorial and the pages for those who come from another project show what the tools do."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.test_docs import blocks
from tilewright.cli import main

TUTORIAL = "docs/tutorial.md"
FILES = {
    "normalise.py": (),
    "unmasked.py": (", mask=inside, other=0.0", ""),
    "racing.py": ("tl.program_id(0) * columns", "tl.program_id(0) // 2 * columns"),
}
"""The files of the tutorial: what is replaced in its kernel."""


def _shown() -> list[tuple[str, str]]:
    """Commands of the tutorial, and the output below each."""
    pairs = [block.partition("\n") for block in blocks(TUTORIAL, "console")]
    return [(command.removeprefix("$ tilewright "), output) for command, _, output in pairs]


@pytest.mark.parametrize(("command", "output"), _shown(), ids=lambda text: text.split("\n")[0])
def test_a_command_of_the_tutorial(
    command: str,
    output: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    (source,) = blocks(TUTORIAL, "python")
    for name, change in FILES.items():
        assert not change or change[0] in source
        (tmp_path / name).write_text(source.replace(*change) if change else source)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    status = main.run(command.split())
    shown = capfd.readouterr()
    assert status == ("error[" in output)
    if "compile" in command:
        assert "normalise_kernel  sm_90a" in shown.out
        assert "normalise.py:" in (tmp_path / "build" / "normalise_kernel.cu").read_text()
    else:
        # A terminal wraps a long path; a script's own output may be moved to standard error.
        texts = [
            " ".join(text.replace(f"{tmp_path}/", "").split())
            for text in (shown.out + shown.err, shown.err + shown.out)
        ]
        assert " ".join(output.split()) in texts


def test_the_tutorial_shows_every_file() -> None:
    assert {command.split()[-1] for command, _ in _shown()} >= set(FILES)


@pytest.mark.parametrize(
    ("page", "name", "value"),
    [
        ("docs/coming-from-triton.md", "y", 2 * np.arange(1000, dtype=np.float32) + 1),
        ("docs/coming-from-tilelang.md", "b", np.arange(70)[:, None] * np.ones((70, 48))),
    ],
)
def test_the_kernel_of_a_page(
    page: str, name: str, value: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (source,) = blocks(page, "python")
    file = tmp_path / "kernel.py"
    file.write_text(source)
    np.testing.assert_array_equal(runpy.run_path(str(file))[name], value)
    assert capsys.readouterr().out


FULL = "tlx.barrier_wait(full[slot], (block // 2) & 1)"
MISTAKES = {
    "TW6132": (f"                {FULL}\n", ""),
    "TW6121": ("                tlx.barrier_arrive(empty[slot], 1)\n", ""),
    "TW6135": (FULL, f"{FULL[:-1]} ^ 1)"),
}


@pytest.mark.parametrize("code", MISTAKES)
def test_the_errors_of_the_page_for_tlx(
    code: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (page,) = [Path(__file__).parents[1] / "docs" / "coming-from-tlx.md"]
    assert f"| {code}, " in page.read_text()
    (source,) = [block for block in blocks("docs/tlx.md", "python") if "# double.py" in block]
    assert MISTAKES[code][0] in source
    (tmp_path / "double.py").write_text(source.replace(*MISTAKES[code]))
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main.run(["check", str(tmp_path / "double.py")]) == 1
    assert f"error[{code}]" in capsys.readouterr().err
