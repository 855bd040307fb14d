"""``tilewright compile --target tenstorrent:...``: five files per kernel, or none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from tilewright.cli import compile as command
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.lower_tt_intrinsics import LowerTtIntrinsics
from tilewright.passes.tenstorrent.split_tt_kernels import SplitTtKernels
from tilewright.passes.tenstorrent.tensorize_tt import TensorizeTt

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T

@tw.jit
def shift(X, amount=1.0):
    m, n = T.const("m, n")
    X: T.Tensor((m, n), "float32")
    Y = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
        x = T.alloc_shared((32, 32), "float32")
        T.copy(X[by * 32, bx * 32], x)
        for i, j in T.Parallel(32, 32):
            x[i, j] = {expression}
        T.copy(x, Y[by * 32, bx * 32])
    return Y

shift(np.ones((64, 40), np.float32))
"""
FILES = ["compute.cpp", "main.cpp", "reader.cpp", "tt.plan.json", "writer.cpp"]


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "shift.py"
    path.write_text(SCRIPT.format(expression="x[i, j] + 1.0"))
    return path


def test_five_files(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    arguments = [str(script), "--target", "tenstorrent:wormhole", "-o", str(out)]
    assert command.run(arguments, "compile") == 0
    assert sorted(each.name for each in out.iterdir()) == FILES
    before = {name: (out / name).read_bytes() for name in FILES}
    plan = json.loads(before["tt.plan.json"])
    assert plan["arch"] == "wormhole_b0"
    assert plan["grid"] == {"x": 2, "y": 2, "z": 1, "total_tiles": 4}
    assert plan["cores"]["active"] == 4
    assert "4/56" in capsys.readouterr().out
    assert command.run(arguments, "compile") == 0
    assert before == {name: (out / name).read_bytes() for name in FILES}


@pytest.mark.parametrize("broken", [TensorizeTt, SplitTtKernels, LowerTtIntrinsics])
def test_ir_that_a_pass_breaks_is_an_internal_error_with_its_name(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], broken: Any
) -> None:
    run = broken.run

    def misplace(self: Any, module: ModuleOp, engine: DiagnosticEngine) -> None:
        """The pass, and then an op after the ops that use its result."""
        run(self, module, engine)
        ops = [op for op in walk(module) if op.name.startswith(("tensix.", "arith.", "tile."))]
        moved = next(op for op in ops if any(result.uses for result in op.results))
        last = moved.parent_block().last_op  # pyright: ignore[reportOptionalMemberAccess]
        moved.detach()
        last.parent.insert_op_before(moved, last)  # pyright: ignore[reportOptionalMemberAccess]

    monkeypatch.setattr(broken, "run", misplace)
    assert command.run([str(script), "--target", "tenstorrent:wormhole"], "compile") == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "error[TW9002]" in err and "does not dominate this use" in err
    assert f"the pass '{broken.name}' left this IR" in err


def test_one_stage(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(script), "--target", "tenstorrent:blackhole", "--stage"]
    assert command.run([*arguments, "compute"], "compile") == 0
    assert "add_unary_tile(0, " in capsys.readouterr().out
    assert command.run([*arguments, "ptx"], "compile") == 2
    assert "'ptx' is not one of tile, tensix, reader" in capsys.readouterr().err


def test_nothing_is_written_if_it_does_not_compile(
    script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(SCRIPT.format(expression="T.sinh(x[i, j])"))
    out = tmp_path / "out"
    arguments = [str(script), "--target", "tenstorrent:wormhole", "-o", str(out)]
    assert command.run(arguments, "compile") == 1
    assert not out.exists()
    error = capsys.readouterr().err
    assert "error[TW7070]" in error
    assert "shift.py:14" in error


def test_settings_of_the_command_line(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [str(script), "--target", "tenstorrent:sim", "--stage", "plan", "--set"]
    settings = "tt.schedule.order=hilbert,tt.core_grid=1x1"
    assert command.run([*arguments, settings], "compile") == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["schedule"]["order"] == "hilbert"
    assert plan["cores"]["assignments"][0]["blocks"] == [0, 2, 3, 1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("tt.schedule.ordr=hilbert", "did you mean 'tt.schedule.order'?"),
        ("hilbert", "expected KEY=VALUE"),
        ("tl.enable_fast_math=1", "expected KEY=VALUE with one of tt.core_grid"),
        ("tt.l1_budget=much", "expected an integer"),
    ],
)
def test_settings_that_do_not_exist(
    settings: str, message: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(script), "--target", "tenstorrent:sim", "--set", settings]
    assert command.run(arguments, "compile") == 2
    assert message in capsys.readouterr().err
