"""What `docs/hip.md` shows is what happens; counts of registers and times may differ."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from tests.passes.amd.test_direct_copies import product
from tests.targets.hip.support import needs_clang
from tests.test_docs import blocks
from tilewright.cli.main import run
from tilewright.ir.codes.registry import CODES
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip import clang
from tilewright.targets.hip.compile import lower_module

PAGE = "docs/hip.md"
TEXT = (Path(__file__).parents[1] / PAGE).read_text()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    source, _ = blocks(PAGE, "python")
    file = tmp_path / source.splitlines()[0].removeprefix("# ")
    file.write_text(source)
    return file


def test_the_example_prints_what_the_page_shows(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runpy.run_path(str(script))
    assert capsys.readouterr().out == blocks(PAGE, "")[0]


@needs_clang
def test_the_example_compiles_as_the_page_shows(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, head, row = blocks(PAGE, "")[1].splitlines()
    out = tmp_path / "build"
    assert run(["compile", str(script), "--target", "hip:gfx942", "--remarks", "-o", str(out)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].split() == head.split()
    found, expected = (re.sub(r"\d+ ms", "ms", each).split() for each in (printed[1], row))
    assert found[:2] == expected[:2]
    # Spills, scratch memory, LDS and threads.
    assert found[5:12] == expected[5:12]
    names = set(re.findall(r"`(gemm_relu\S*\.(?:mlir|hip|s|hsaco|json))`", TEXT))
    assert names == {each.name for each in out.iterdir()}
    shown, _ = blocks(PAGE, "cpp")
    call = re.search(r"tw::mfma\w+\(C_local", shown)
    assert call is not None
    assert call[0] in (out / "gemm_relu_kernel.hip").read_text()


def test_direct_copies_are_as_the_page_shows() -> None:
    _, shown = blocks(PAGE, "cpp")
    module = product(128, 128, 512, block=128, threads=256).module
    (source,) = lower_module(module, AmdPipeline(target="hip:gfx950")).sources
    calls = re.findall(r"tw::\w+(?:<\d+>)?\(", shown)
    assert calls == [
        *("tw::load_lds<16>(", "tw::rsrc("),
        *("tw::wait_loads<8>(", "tw::sync_local_keeping_copies("),
    ]
    assert all(call in source.text for call in calls)


def test_the_code_of_threads_runs_as_the_page_shows(
    script: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", list(sys.argv))
    command, out, *lines = blocks(PAGE, "")[2].splitlines()
    assert command == "$ tilewright check gemm_relu.py --target hip:gfx942 --schedules 1"
    assert run(["check", str(script), *command.split()[4:]]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"{out}\n"
    assert printed.err.splitlines() == lines


@needs_clang
def test_the_bytes_of_a_code_object_are_where_the_page_says(script: Path) -> None:
    script.write_text(script.read_text().replace("@tw.jit", '@tw.jit(target="hip:gfx942")'))
    scope = runpy.run_path(str(script))
    _, snippet = blocks(PAGE, "python")
    exec(compile(snippet, "snippet", "exec"), scope)
    assert scope["code"].code_object.startswith(b"\x7fELF")


def test_chips_are_those_of_the_table() -> None:
    shown = re.findall(r"^\| `hip:(\w+)` .*? \| (\d+) \| (\d+) B \|", TEXT, re.M)
    assert shown == [(c.name, str(c.wave), str(c.lds_bytes)) for c in CHIPS.values()]


def test_codes_exist() -> None:
    assert set(re.findall(r"TW\d{4}", TEXT)) <= CODES.keys()


def test_the_options_are_those_that_are_given() -> None:
    assert f"`{' '.join(clang.COMMON)}`" in TEXT


def test_the_message_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clang, "installed", lambda: ())
    monkeypatch.delenv(clang.VARIABLE, raising=False)
    clang.clang_for.cache_clear()
    with pytest.raises(clang.HipCompilerMissing) as error:
        clang.clang_for("gfx942")
    assert blocks(PAGE, "")[3] == f"tilewright compile: {error.value}\n"
