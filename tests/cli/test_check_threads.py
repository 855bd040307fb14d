"""``tilewright run`` and ``check --target hip:...``: the code of threads, executed on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli import main
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import StoreOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.amd.pipeline import AmdPipeline

KERNEL = """\
import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def backwards(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")

    with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
        tile = T.alloc_shared((128,), "float32")
        for i in T.Parallel(128):
            tile[i] = A[bx * 128 + i]
        for i in T.Parallel(128):
            B[bx * 128 + i] = tile[127 - i]
    return B


a = np.arange(256, dtype=np.float32)
b = backwards(a)
print("first", b[0], "last", b[-1])
"""


LARGE = """\
import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def squared(A):
    A: T.Tensor((64, 576), "float16")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((64, 576), "float16")
        total = T.alloc_fragment((64, 64), "float32")
        T.copy(A, tile)
        T.gemm(tile, tile, total, transpose_B=True, clear_accum=True)
        T.copy(total, C)
    return C


a = (np.arange(64 * 576) % 5 - 2).astype(np.float16).reshape(64, 576)
c = squared(a)
print("error", np.abs(c - a.astype(np.float32) @ a.astype(np.float32).T).max())
"""
"""A tile of 73728 B, which is filled in parts: the form that fits is the one that is run."""


@pytest.fixture
def script(tmp_path: Path) -> str:
    file = tmp_path / "backwards.py"
    file.write_text(KERNEL)
    return str(file)


def without(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the compiler forget the last op of a kind."""
    run: Callable[..., None] = AmdPipeline.run

    def forgetful(self: AmdPipeline, module: ModuleOp, engine: DiagnosticEngine) -> None:
        run(self, module, engine)
        *_, last = (op for op in walk(module) if isinstance(op, kind))
        last.detach()

    monkeypatch.setattr(AmdPipeline, "run", forgetful)


def test_the_code_of_threads_is_run_and_compared(
    script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["check", script, "--target", "hip:gfx942", "--schedules", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == "first 127.0 last 128.0\n"
    assert err.splitlines()[-2:] == [
        "tilewright check: backwards: thread code of hip:gfx942: 6 blocks in 3 schedules, largest "
        "difference from the tile level 0.0e+00",
        "tilewright check: 1 launch of 1 kernel, 2 programs: no fault",
    ]


@pytest.mark.parametrize("target", ["hip:gfx1100", "cuda:sm_80"])
def test_run_takes_gpus_too(script: str, target: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["run", "--target", target, script]) == 0
    out, err = capsys.readouterr()
    assert out == "first 127.0 last 128.0\n"
    assert err == ""


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_kernel_that_fits_in_another_form_is_run_in_it(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "squared.py"
    file.write_text(LARGE)
    assert main.run([command, "--target", "hip:gfx942", str(file)]) == 0
    assert capsys.readouterr().out == "error 0.0\n"


def test_a_barrier_that_is_missing_in_the_thread_code_is_a_fault(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main.run(["check", script]) == 0  # nothing is wrong with the kernel as written
    without(BarrierOp, monkeypatch)
    assert main.run(["check", script, "--target", "hip:gfx942"]) == 1
    err = capsys.readouterr().err
    assert "data race" in err
    assert "backwards.py:" in err
    assert "fault in backwards" in err


def test_a_store_that_is_missing_in_the_thread_code_is_noticed(
    script: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    without(StoreOp, monkeypatch)
    assert main.run(["check", script, "--target", "hip:gfx1201"]) == 1
    assert "backwards: wrong result: B[0] is nan, 127 at the tile level" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "hip:mi300", "K"], "unknown target 'hip:mi300': expected hip or an arch"),
        (
            ["--target", "hip", "--executor", "ir", "K"],
            "--executor applies to --target tenstorrent",
        ),
        (["--target", "hip:gfx942", "-"], "--target applies to Python files only"),
        (["--target", "hip:gfx942", "E"], "--target hip:gfx942: the script ran no kernel"),
    ],
)
def test_what_does_not_fit_together(
    arguments: list[str],
    message: str,
    script: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "empty.py").write_text("")
    files = {"K": script, "E": str(tmp_path / "empty.py")}
    assert main.run(["check", *(files.get(each, each) for each in arguments)]) == 2
    assert message in capsys.readouterr().err
