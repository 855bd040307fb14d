"""``run``, ``check``, ``analyze``, ``memory`` and ``layout``: tile IR, and `tl` kernels raised to tiles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tilewright.cli import main

SCRIPT = """
import numpy as np
import tilewright as tw
from tilewright import tl


@tw.jit
def scale(x_ptr, out_ptr, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * step + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


@tw.jit
def dots(x_ptr, out_ptr, K, BLOCK: tl.constexpr):
    rows, steps = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK)):
        at = k * BLOCK
        a = tl.load(x_ptr + rows * K + (at + steps), mask=at + steps < K, other=0.0)
        total += tl.dot(a, tl.trans(a))
    tl.store(out_ptr + rows * BLOCK + steps, total)


x, out = np.ones(1000, np.float32), np.zeros(1000, np.float32)
scale[(8,)](x, out, 1000, STEP, BLOCK=128)
dots[(1,)](np.ones((32, 72), np.float16), np.zeros((32, 32), np.float32), 72, BLOCK=32)
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(SCRIPT.replace("STEP", "128"))
    return path


@pytest.fixture
def text(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The kernel `scale` as IR on tiles."""
    path = tmp_path / "scale.mlir"
    arguments = ("--target", "cuda:sm_90a", "--stage", "tile")
    assert run("compile", *arguments, f"{script}:scale") == 0
    path.write_text(capsys.readouterr().out)
    return path


def run(*arguments: object) -> int:
    return main.run([str(each) for each in arguments])


ARGUMENTS = ("--arg", "x_ptr=f32[1000]:arange", "--arg", "n=1000", "--arg", "step=128")


def test_tile_ir_runs(text: Path, tmp_path: Path) -> None:
    done = tmp_path / "done.npz"
    given = (*ARGUMENTS, "--arg", "out_ptr=f32[1000]:7", "--out", done)
    assert run("run", text, "--grid", "7", *given) == 0
    out = np.load(done)["out_ptr"]
    np.testing.assert_array_equal(out[:896], 2 * np.arange(896))
    assert (out[896:] == 7).all()


def test_tile_ir_is_checked(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = (*ARGUMENTS, "--arg", "out_ptr=f32[990]:empty")
    assert run("check", text, "--grid", "8", *given) == 1
    assert "error[TW6101]: write to out_ptr[990]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--arg", "n=1000"), "@scale has 7 arguments, 3 of them without a value"),
        (("--arg", "x_ptr=f16[1000]"), "x_ptr is f32 in the kernel, not f16"),
    ],
)
def test_arguments_of_tile_ir(
    text: Path, given: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("run", text, *given) == 2
    assert message in capsys.readouterr().err


TENSOR = """
#global = #tile.space<global>
func.func @k(%A: memref<2x?xf32, #global>) attributes {tile.entry} {
  tile.kernel (%b) in (1) threads(32) {
    %v = arith.constant 3.0 : f32
    tile.fill %A, %v : memref<2x?xf32, #global>, f32
  }
  func.return
}
"""


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["A=f32[3,4]"], "A has shape [2,?] in the kernel, not [3,4]"),
        (["A=f32[8]"], "A has shape [2,?] in the kernel, not [8]"),
    ],
)
def test_shapes_and_grids_of_tensors(
    tmp_path: Path, given: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.mlir"
    file.write_text(TENSOR)
    assert run("run", file, "--arg", *given) == 2
    assert message in capsys.readouterr().err
    assert run("run", file, "--arg", "A=f32[2,5]:zeros", "--grid", "2") == 2
    assert "--grid: a tile kernel computes its own grid" in capsys.readouterr().err
    assert run("run", file, "--arg", "A=f32[2,5]:zeros") == 0
    assert "10 of 10 changed; 3 to 3" in capsys.readouterr().out


def test_tile_ir_is_analysed(text: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--grid", "8", "--arg", "n=1000", "--arg", "step=128", "--check", "bounds,race")
    sizes = ("--buffer", "x_ptr=4000", "--buffer", "out_ptr=3996")
    assert run("analyze", text, *given, *sizes) == 1
    out = capsys.readouterr().out
    assert "(load) stays inside %x_ptr (4000 of 4000 bytes)" in out
    assert "bounds: refuted" in out
    assert run("analyze", text, *given, *sizes[:-1], "out_ptr=4000") == 0
    assert run("analyze", text, *given[:4], "--arg", "step=127", *given[-2:]) == 1
    assert "race: refuted" in capsys.readouterr().out


@pytest.mark.parametrize(("step", "code"), [(128, 0), (127, 1)])
def test_the_kernels_of_a_script_are_analysed_as_raised(
    script: Path, step: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(SCRIPT.replace("STEP", str(step)))
    assert run("analyze", "--check", "race,bounds", "--target", "cuda:sm_90a", script) == code
    out = capsys.readouterr().out
    assert "race: proved (intervals): no conflict between programs in %out (store)" in out
    assert ("race: refuted" in out) == bool(code)
    assert "not analysed" not in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--target", "triton:sm_90", "k.py"), "not raised to tiles for 'triton:sm_90'"),
        (("--target", "cuda:sm_90a", "k.mlir"), "--target applies to Python files only"),
        (("--target", "gpu", "k.py"), "--target: unknown target 'gpu'"),
    ],
)
def test_targets_of_analyses(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("analyze", *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("target", "shown"), [("cuda:sm_90a", "sm_90"), ("hip:gfx942", "gfx942")])
def test_the_shared_memory_of_a_script(
    script: Path, target: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("memory", script, "--target", target) == 0
    out = capsys.readouterr().out
    assert f"shared memory of @scale on {shown}: 0 of" in out
    assert "plain allocations" in out  # the operand of `dots`
    assert "x 2048 bytes" in out


def test_flags_for_ir_text_do_not_apply_to_scripts(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("memory", script, "--target", "cuda:sm_90a", "--merge") == 2
    assert "--merge is about memory as it is written" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942", "hip"])
def test_the_layouts_of_a_script(
    script: Path, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("layout", "--target", target, f"{script}:dots") == 0
    out = capsys.readouterr().out
    assert out.startswith(f"dots for {target if target != 'hip' else 'hip:gfx942'}, 128 threads")
    assert "32x32 of f32" in out.replace(" x ", "x")
    assert run("layout", f"{script}:none") == 2
    assert "called no kernel 'none'; it called dots, scale" in capsys.readouterr().err
