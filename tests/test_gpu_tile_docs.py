"""What `docs/gpu.md` says of kernels of `T` is what happens."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from tilewright.cli import compile as command
from tilewright.passes.gpu import insert_expect_tx, lower_l2_policy, lower_tmem
from tilewright.runtime.tile.pass_configs import PassConfigKey, gpu_settings

from .test_docs import blocks

PAGE = "docs/gpu.md"
TEXT = (Path(__file__).parents[1] / PAGE).read_text()
SECTION = TEXT[TEXT.index("## Kernels of `T`") : TEXT.index("## Layouts of `T` kernels")]


@pytest.fixture
def example(tmp_path, monkeypatch):
    (source,) = [each for each in blocks(PAGE, "python") if each.startswith("# add.py")]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "add.py").write_text(source)
    return tmp_path / "add.py"


def test_the_example_prints_the_cuda_that_is_shown(example, capsys, request):
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    (shown,) = blocks(PAGE, "cuda")
    if request.config.getoption("--update-golden"):
        path = Path(__file__).parents[1] / PAGE
        path.write_text(path.read_text().replace(shown, printed))
        shown = printed
    assert printed == shown


def test_the_command_prints_the_table(example, capsys):
    (shown,) = [each for each in blocks(PAGE, "") if each.startswith("$ tilewright compile add.py")]
    line, *expected = shown.splitlines()
    assert command.run(line.split()[3:], "tilewright compile") == 0

    # How many registers, bytes and milliseconds it takes is the installed compiler's affair.
    def words(lines):
        return [re.sub(r"\b\d+\b( B| ms)?", "N", each).split() for each in lines]

    assert words(capsys.readouterr().out.splitlines()) == words(expected)


class Noting(dict[str, object]):
    """Settings that remember what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: set[str] = set()

    def get(self, key, default=None):
        self.asked.add(str(key.value if isinstance(key, PassConfigKey) else key))
        return default


def test_the_settings_are_those_that_are_read():
    settings = Noting()
    gpu_settings(settings, "sm_90a")
    rows = [line for line in SECTION.splitlines() if line.startswith("| `tl.")]
    assert settings.asked == {
        key for row in rows for key in re.findall(r"`((?:tl|tir)\.\w+)`", row)
    }


def test_every_stage_and_every_code_is_named():
    command_section = TEXT[TEXT.index("## tilewright compile") : TEXT.index("## The disk")]
    for stage in command._STAGES["cuda"]:
        assert f"`{stage}`" in command_section
    places = (insert_expect_tx, lower_l2_policy, lower_tmem)
    codes = {
        value
        for place in places
        for value in vars(place).values()
        if isinstance(value, str) and re.fullmatch(r"TW\d{4}", value)
    }
    assert codes == set(re.findall(r"TW\d{4}", SECTION))
