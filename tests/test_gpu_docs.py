"""What `docs/gpu.md` shows is what happens."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from tilewright.cli import cache
from tilewright.cli import compile as command
from tilewright.targets.store import limits
from tilewright.targets.triton import compile as compiling
from tilewright.targets.triton import describe, instructions, lowering, messages

from .test_docs import blocks

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

PAGE = "docs/gpu.md"


@pytest.fixture
def example(tmp_path, monkeypatch):
    (source,) = [each for each in blocks(PAGE, "python") if each.startswith("# scale.py")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / source.splitlines()[0].removeprefix("# ")
    file.write_text(source)
    return file


def test_the_example_prints_what_is_shown(example, capsys):
    runpy.run_path(str(example), run_name="__main__")
    shown = next(block for block in blocks(PAGE, "") if block.startswith("['ttir'"))
    assert capsys.readouterr().out == shown


def test_the_command_prints_the_table(example, capsys):
    shown = next(block for block in blocks(PAGE, "") if block.startswith("$ "))
    line, *expected = shown.splitlines()
    assert command.run(line.split()[3:], "tilewright compile") == 0

    # How many registers and bytes it takes is the installed assembler's affair.
    def words(lines):
        return [re.sub(r"\d+( B)?", "N", each).split() for each in lines]

    assert words(capsys.readouterr().out.splitlines()) == words(expected)


def test_the_cache_holds_what_is_shown(example, capsys, monkeypatch):
    shown = next(block for block in blocks(PAGE, "") if block.startswith("$ tilewright cache"))
    line, *expected = shown.splitlines()
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(Path(expected[0].split()[1]).parent))
    compiled = next(block for block in blocks(PAGE, "") if block.startswith("$ "))
    assert command.run(compiled.splitlines()[0].split()[3:], "tilewright compile") == 0
    capsys.readouterr()
    assert cache.run(line.split()[3:], "tilewright cache") == 0

    # Dates and sizes are those of one run.
    def words(lines):
        return [re.sub(r"[\d.]+ k?B|\d{4}-\S+", "N", each).split() for each in lines]

    assert words(capsys.readouterr().out.splitlines()) == words(expected)


def test_every_flag_is_explained(capsys):
    command.run(["--help"], "tilewright compile")
    flags = set(re.findall(r"^  (--?[\w-]+)", capsys.readouterr().out, re.MULTILINE))
    page = (Path(__file__).parents[1] / PAGE).read_text()
    assert flags
    assert [flag for flag in flags if f"`{flag}" not in page] == []


def test_every_code_is_explained():
    page = (Path(__file__).parents[1] / PAGE).read_text()
    places = (compiling, describe, instructions, limits, lowering, messages)
    codes = {
        value
        for place in places
        for value in vars(place).values()
        if isinstance(value, str) and re.fullmatch(r"TW62\d\d", value)
    }
    assert len(codes) >= 7
    assert sorted(codes) == sorted(set(re.findall(r"\| (TW62\d\d) \|", page)))
