"""``tilewright compile`` and ``check`` for targets that `tl` kernels are raised to tiles for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tilewright.cli import main

KERNELS = """
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@tw.jit
def indirect(table_ptr):
    x_ptr = tl.load(table_ptr + tl.arange(0, 2)).to(tl.pointer_type(tl.int32))
    tl.store(x_ptr, 0)


x, out, table = np.ones(1000, np.float32), np.zeros(1000, np.float32), np.zeros(1, np.int64)
scale[(8,)](x, out, 1000, 2.0, BLOCK=128)
"""
INDIRECT = "indirect[(1,)](table)\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    return path


def run(*arguments: object) -> int:
    return main.run([str(each) for each in arguments])


def test_the_table_and_json(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compile", script, "--target", "cuda:sm_80") == 0
    titles, row = capsys.readouterr().out.splitlines()
    assert titles.split()[:4] == ["kernel", "target", "registers", "spilled"]
    assert row.split()[:2] == ["scale_kernel", "sm_80"]
    assert run("compile", script, "--target", "cuda:sm_80", "--json") == 0
    (described,) = json.loads(capsys.readouterr().out)
    assert described["threads"] == 128
    assert described["registers"] > 0


@pytest.mark.parametrize(
    ("target", "stage", "holds"),
    [
        ("cuda:sm_90a", "tile", "tile.kernel"),
        ("cuda:sm_90a", "cuda", "const float* __restrict__"),
        ("hip:gfx942", "hip", "__global__"),
    ],
)
def test_stages(
    target: str, stage: str, holds: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("compile", script, "--target", target, "--stage", stage) == 0
    assert holds in capsys.readouterr().out


def test_files(script: Path, tmp_path: Path) -> None:
    assert run("compile", script, "--target", "cuda:sm_90a", "-o", tmp_path / "made") == 0
    names = sorted(each.name for each in (tmp_path / "made").iterdir())
    assert names == [
        "scale.thread.mlir",
        "scale.tile.mlir",
        *(f"scale_kernel.{suffix}" for suffix in ("cu", "cubin", "json", "ptx")),
    ]


@pytest.mark.parametrize(
    ("target", "other"),
    [
        ("cuda:sm_90a", ", or use target 'triton:sm_90'"),
        ("hip:gfx942", ", or use target 'triton:gfx942'"),
        ("tenstorrent:wormhole", ""),
    ],
)
def test_a_refusal_is_an_error_and_nothing_is_written(
    target: str, other: str, script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(KERNELS + INDIRECT)
    assert run("compile", script, "--target", target, "-o", tmp_path / "made") == 1
    error = capsys.readouterr().err
    assert f"error[TW8030]: indirect cannot be compiled for {target}" in error
    assert f"note: help: change what the remarks name{other}\n" in error
    assert (
        "kernels.py:15:13: remark[TW8012]: not raised to tiles: each element has an address of its "
        "own (tt.int_to_ptr)\n"
    ) in error
    assert "x_ptr = tl.load(table_ptr + tl.arange(0, 2)).to(tl.pointer_type(tl.int32))" in error
    assert not (tmp_path / "made").exists()


def test_only_the_named_kernel_is_raised(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(KERNELS + INDIRECT)
    assert run("compile", f"{script}:scale", "--target", "cuda:sm_80") == 0
    assert "scale_kernel" in capsys.readouterr().out
    assert run("compile", f"{script}:other", "--target", "cuda:sm_80") == 2
    assert "called no kernel 'other'; it called indirect, scale" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_check_runs_the_threads(
    target: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(KERNELS + "assert (out == 2).all()\n")
    assert run("check", "--target", target, "--schedules", "2", script) == 0
    error = capsys.readouterr().err
    assert f"scale: thread code of {target}: 16 blocks in 2 schedules, largest difference" in error
    assert "from the pointer level 0.0e+00" in error
    assert "1 launch of 1 kernel, 16 programs: no fault" in error


def test_check_compares_with_the_pointer_level(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fault injection: raising that loses an element is found."""
    from tilewright.runtime.pointer import raised

    honest = raised.host_memory

    def shorter(param, value):
        return 999 if param.name == "n" else honest(param, value)

    monkeypatch.setattr(raised, "host_memory", shorter)
    assert run("check", "--target", "cuda:sm_90a", "--schedules", "1", script) == 1
    assert "out_ptr[999] is 0, 2 at the pointer level" in capsys.readouterr().err


def test_check_shows_a_refusal(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(KERNELS + INDIRECT)
    assert run("check", "--target", "cuda:sm_90a", script) == 1
    assert "error[TW8030]: indirect cannot be compiled" in capsys.readouterr().err
