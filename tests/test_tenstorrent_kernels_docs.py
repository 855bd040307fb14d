"""What `docs/tenstorrent.md` shows is what happens."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.test_docs import ROOT, blocks
from tilewright.cli import check, memory, run
from tilewright.cli import compile as compile_command
from tilewright.dialects.tensix.chips import CHIPS
from tilewright.ir.codes.registry import CODES
from tilewright.runtime.tile.pass_configs import PassConfigKey
from tilewright.targets.tenstorrent.execution import Check

PAGE = "docs/tenstorrent.md"
TEXT = (ROOT / PAGE).read_text()
TARGET = ["--target", "tenstorrent:wormhole"]
COMMANDS = {
    "check": check.run,
    "compile": compile_command.run,
    "memory": memory.run,
    "run": run.run,
}


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for source in blocks(PAGE, "python"):
        Path(source.splitlines()[0].removeprefix("# ")).write_text(source)
    return Path("gemm_relu.py")


def _shown(beginning: str) -> Sequence[str]:
    (block,) = [each for each in blocks(PAGE, "") if each.startswith(beginning)]
    return block.splitlines()


@pytest.mark.parametrize("name", ["check", "compile"])
def test_commands_print_what_is_shown(
    name: str, example: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    command, *expected = _shown(f"$ tilewright {name}")
    assert example.is_file()
    assert COMMANDS[name](command.split()[3:], f"tilewright {name}") == 0
    out, err = capfd.readouterr()
    times = re.compile(r" +(\d+ ms|passes)$")  # a busy machine needs more digits
    lines = [times.sub("", line) for line in [*out.splitlines(), *err.splitlines()]]
    assert lines == [times.sub("", line) for line in expected]
    if name == "compile":
        files = re.findall(r"^\| `([\w.]+\.(?:cpp|json))` \|", TEXT, re.MULTILINE)
        assert sorted(each.name for each in Path("build").iterdir()) == sorted(files)
        (shown,) = blocks(PAGE, "cpp")
        assert shown in Path("build/compute.cpp").read_text()


def test_a_grid_with_too_few_rows(example: Path, capfd: pytest.CaptureFixture[str]) -> None:
    example.write_text(
        example.read_text().replace("T.ceildiv(M, block)", "T.ceildiv(M, 2 * block)")
    )
    assert run.run([*TARGET, str(example)], "run") == 1
    shown = "\n".join(_shown("gemm_relu.py:10"))
    assert capfd.readouterr().err.replace(f"{Path.cwd()}/", "").rstrip("\n") == shown


def test_a_missing_barrier(example: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert example.is_file()
    assert run.run(["broken.py"], "run") == 0
    shown = "\n".join(_shown("gemm_relu.py:22"))
    found = capfd.readouterr().out.replace(f"{Path.cwd()}/", "")
    assert found.removeprefix("relative error 0.0017\n").rstrip("\n") == shown


def test_multicast(example: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert example.is_file()
    assert run.run(["multicast.py"], "run") == 0
    assert capfd.readouterr().out.splitlines()[-2:] == _shown("off: 1024 pages read")


def test_tensors_in_l1(example: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert example.is_file()
    assert run.run(["shards.py"], "run") == 0
    assert capfd.readouterr().out.splitlines()[-1:] == _shown("DRAM: 512 pages read")
    Path("mlp.py").write_text((ROOT / "examples" / "tile" / "mlp.py").read_text())
    assert run.run(["hidden.py"], "run") == 0
    assert capfd.readouterr().out.splitlines() == _shown("1x4, H in dram")


def test_diagrams(example: Path) -> None:
    assert example.is_file()
    for line in _shown("tilewright run"):
        _, name, *arguments = line.split()
        assert COMMANDS[name](arguments, name) == 0
    assert "Timeline: gemm_relu, core (0,0)" in Path("out.html").read_text()
    assert Path("l1.svg").read_text().startswith("<?xml")


def test_the_table_of_targets() -> None:
    for name, chip in CHIPS.items():
        grids = ", ".join(f"{x}x{y}" for x, y in (chip.grid, chip.largest_grid))
        row = (
            f"| {grids} | {chip.cb_budget_bytes} B | {chip.circular_buffers} | {chip.dram_banks} |"
        )
        assert f"| `tenstorrent:{name}` {row}" in TEXT


def test_settings_and_codes_exist_and_are_complete() -> None:
    keys = {key.value for key in PassConfigKey if key.value.startswith("tt.")}
    section = TEXT[TEXT.index("Settings, in `pass_configs`") :]
    assert set(re.findall(r"^\| `(tt\.[\w.]+)` \|", section, re.MULTILINE)) == keys
    found = set(re.findall(r"TW7\d{3}", TEXT))
    known = set(CODES)
    assert found <= known
    assert {code for code in known if code.startswith("TW70")} <= found
    checks = sorted(each.code for each in Check)
    assert f"the codes {checks[0]} to {checks[-1]}" in TEXT


def _compiling() -> list[str]:
    section = TEXT[TEXT.index("Of `examples/tile`") : TEXT.index("The others are refused:")]
    return re.findall(r"`(\w+)\.py`", section)


REFUSED = dict(re.findall(r"^\| `(\w+)\.py` \| (TW\d{4}) \|", TEXT, re.MULTILINE))
"""By the table of refused examples."""


def test_every_example_compiles_or_is_refused() -> None:
    names = {each.stem for each in (ROOT / "examples" / "tile").glob("*.py")}
    names = {each for each in names if not each.startswith("blackwell_")}
    assert names == {*_compiling(), *REFUSED}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_a_code_and_a_line(
    name: str, example: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example.is_file()
    file = ROOT / "examples" / "tile" / f"{name}.py"
    assert compile_command.run([*TARGET, "-o", "out", str(file)], "compile") == 1
    assert re.match(rf"\S+{name}\.py:\d+:\d+: error\[{REFUSED[name]}\]", capsys.readouterr().err)
    assert not Path("out").exists()
