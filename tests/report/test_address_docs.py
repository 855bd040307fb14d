"""What docs/addresses.md shows is what the tools print."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from tilewright.analysis.pid_address import Pattern, Reason
from tilewright.analysis.pid_address.checks import ALL_CHECKS, Check
from tilewright.cli import main
from tilewright.passes import PASSES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "addresses.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^```\n\$ (.*)\n([\s\S]*?)^```$", PAGE, re.MULTILINE)


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n([\s\S]*?)^```$", PAGE, re.MULTILINE)
    return found


def filtered(lines: list[str], command: str) -> list[str]:
    """What ``grep WORD`` and ``sed 1,Nd`` leave."""
    program, operand = command.split()
    if program == "grep":
        return [line for line in lines if operand in line]
    cut = re.fullmatch(r"1,(\d+)d", operand)
    assert program == "sed"
    assert cut is not None
    return lines[int(cut[1]) :]


def test_there_is_something_to_compare():
    assert len(SHOWN) == 5


@pytest.mark.parametrize(("command", "shown"), SHOWN, ids=[command for command, _ in SHOWN])
def test_shown_is_what_is_printed(command, shown, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    (tmp_path / "vector_add.ttir").write_text(block("mlir"))
    first, *pipes = command.split(" | ")
    program, *arguments = shlex.split(first)
    assert program == "tilewright"
    if arguments[-1] == "vector_add.ttir":
        arguments[-1] = str(tmp_path / "vector_add.ttir")
    main.run(arguments)
    lines = capsys.readouterr().out.splitlines()
    for pipe in pipes:
        lines = filtered(lines, pipe)
    # A script knows itself by its absolute path.
    assert [line.replace(f"{ROOT}/", "") for line in lines] == shown.splitlines()


KERNELS = re.findall(r"^```python\n([\s\S]*?)^```$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(
    ("number", "start"),
    [(0, "PID_AFFINE -512 -4\nbounds: refuted"), (1, "%B (store): PATTERN(PID_MULTI_AXIS")],
    ids=["tl", "T"],
)
def test_the_kernels_in_python(tmp_path, capsys, number, start):
    file = tmp_path / f"kernel{number}.py"
    file.write_text(KERNELS[number])
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": file.stem})
    _, _, after = PAGE.partition(KERNELS[number])
    (shown, *_) = re.findall(r"^```\n([\s\S]*?)^```$", after.partition("```")[2], re.MULTILINE)
    out = capsys.readouterr().out
    assert out.startswith(start)
    assert out == shown


def test_words_of_the_page_exist(capsys):
    main.run(["analyze", "--help"])
    usage = capsys.readouterr().out
    flags = set(re.findall(r"`(--[a-z-]+)", PAGE))
    assert {"--check", "--verbose", "--may-alias"} <= flags
    assert [flag for flag in sorted(flags) if flag not in usage] == []
    passes = re.findall(r"^\| `-([a-z-]+)`", PAGE, re.MULTILINE)
    assert passes == ["pid-address", "axis-info"]
    assert [name for name in passes if name not in PASSES] == []
    tables = re.findall(r"^\| `([A-Za-z_]+)`", PAGE, re.MULTILINE)
    notes = [each for each in Check if each not in ALL_CHECKS]
    assert set(tables) == {
        *(pattern.value for pattern in Pattern),
        *map(str, [*ALL_CHECKS, *notes]),
    }
    assert len(tables) == len(set(tables))
    assert [reason for reason in Reason if f"`{reason}`" not in PAGE] == []
