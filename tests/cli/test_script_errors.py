"""Calls of `T` kernels that cannot be, as the command line shows them: one message, no frames."""

from __future__ import annotations

import sys

import pytest

from tilewright.cli import main
from tilewright.targets.cuda import nvrtc as nvrtc_module
from tilewright.targets.cuda import nvrtc_library

SCRIPT = """\
import numpy as np
import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[-1])
def made(n):
    @T.prim_func
    def scale(A: T.Tensor((n, 64), "float16"), B: T.Tensor((n, 64), "float16")):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(n, 64):
                B[i, j] = A[i, j] * 2.0
    return scale


@tw.jit
def eager(A, block=64):
    M, N = T.const("M N")
    A: T.Tensor((M, N), "float16")
    B = T.empty((M, N), "float16")
    with T.Kernel(M, threads=64) as bx:
        for i in T.Parallel(block):
            B[bx, i] = A[bx, i] * 2.0
    return B


class OnDevice:
    shape, dtype = (64, 64), np.dtype("float16")
    __cuda_array_interface__ = {
        "shape": (64, 64), "typestr": "<f2", "data": (4096, False), "version": 3
    }


a = np.ones((64, 64), np.float16)
"""
LINE = SCRIPT.count("\n") + 1
RUN, COMPILE = ("run",), ("compile", "--target", "cuda:sm_90a")

MISTAKES = {
    "made(64)(a.astype(np.float32))": (
        "TW6030",
        "scale.A has dtype float32, but it is declared with dtype float16: convert the argument, "
        "or declare it as T.Tensor(..., 'float32')",
    ),
    "made(64)(a[:32])": ("TW6030", "scale.A has shape[0] = 32, but 64 is expected"),
    "made(64)(a[0])": (
        "TW6030",
        "scale.A has rank 1, shape (64,), but it is declared with rank 2, shape (64, 64)",
    ),
    "made(64)(a, a)": (
        "TW6030",
        "scale takes 1 arguments (A) (B is allocated by the call), got 2",
    ),
    "made(64)(OnDevice())": (
        "TW6030",
        "scale.A: cannot copy __main__.OnDevice from the device to the host: pass a NumPy "
        "array, a CuPy array or a torch tensor",
    ),
    "made()": (
        "TW6030",
        "made(n) is missing a value for n: pass n=...",
    ),
    "made(64, m=3)": ("TW6030", "made(n) got an unexpected keyword argument 'm'"),
    "eager(a.astype(np.float32))": (
        "TW6030",
        "eager.A has dtype float32, but it is declared with dtype float16: convert the argument, "
        "or declare it as T.Tensor(..., 'float32')",
    ),
    "eager(a[0])": (
        "TW1032",
        "eager.A has 1 dimensions (64,), but it is declared with 2: (M, N)",
    ),
    "eager.compile()": (
        "TW1031",
        "eager is compiled for sizes, and M, N are missing: eager.compile(M=..., N=...), or pass "
        "tensors for A",
    ),
    "eager.compile(M=64, block=32)": (
        "TW1031",
        "eager is compiled for sizes, and N is missing: eager.compile(M=64, N=...), or pass "
        "tensors for A",
    ),
    "eager.compile(M=64, K=3)": (
        "TW6030",
        "'K' is neither a parameter nor a size of eager; parameters: A, block; sizes: M, N",
    ),
}


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Runs a command on the script, which ends with a call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(*arguments: str, call: str) -> tuple[int, str, str]:
        (tmp_path / "script.py").write_text(f"{SCRIPT}{call}\n")
        try:
            code = main.run([*arguments, "script.py"])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return code, *capsys.readouterr()

    return run


@pytest.mark.parametrize("verb", [RUN, COMPILE], ids=["run", "compile"])
@pytest.mark.parametrize("call", MISTAKES)
def test_a_mistake_is_one_message(command, verb, call):
    code, out, err = command(*verb, call=call)
    number, message = MISTAKES[call]
    assert (code, out) == (1, "")
    head, excerpt, mark = err.splitlines()
    assert head.endswith(f"script.py:{LINE}:1: error[{number}]: {message}")
    assert excerpt == f"  {LINE} | {call}"
    assert mark.endswith(f"^{'~' * (len(call) - 1)}")


def test_the_frames_are_shown_when_they_are_asked_for(command):
    code, _, err = command("run", "--traceback", call="made(64)(a[0])")
    assert code == 1
    assert err.startswith("Traceback (most recent call last):\n")
    assert "error[TW6030]: scale.A has rank 1" in err


def test_a_mistake_after_a_kernel_was_called_is_told_too(command):
    code, out, err = command(*COMPILE, call="made(64)(a); made(64)(a[0])")
    assert code == 0
    assert "scale_kernel" in out
    assert "error[TW6030]: scale.A has rank 1" in err
    assert err.endswith("ended with ValueError: its kernels were compiled, not run\n")


def test_kernels_that_are_only_defined_say_how_they_get_their_sizes(command):
    code, _, err = command(*COMPILE, call="pass")
    assert code == 2
    assert err == (
        "tilewright compile: script.py called no T kernel and launched no tl or tlx kernel, so nothing "
        "was compiled: it defines made(n), eager(A, block=64) and calls none of them: add a call, made(...) or "
        "made.compile(...), which sets the sizes\n"
    )


@pytest.mark.parametrize(
    "call",
    ["eager.compile(M=64, N=64)", "kernel = tw.compile(made.get_tir(64), out_idx=-1)", "made(64)"],
)
def test_kernels_that_the_script_compiles_are_compiled(command, call):
    code, out, err = command(*COMPILE, call=call)
    assert (code, err) == (0, "")
    assert [row.split()[0] for row in out.splitlines()] == [
        "kernel",
        "eager_kernel" if "eager" in call else "scale_kernel",
    ]


@pytest.fixture
def without_nvrtc(monkeypatch):
    """Finds no compiler, neither in a package nor by NVIDIA's search."""
    monkeypatch.setattr(nvrtc_library, "packaged", lambda: None)
    monkeypatch.setitem(sys.modules, "cuda.pathfinder", None)
    monkeypatch.setattr(nvrtc_module, "nvrtc", nvrtc_library.nvrtc.__wrapped__)


PLAIN = """\
@T.prim_func
def twice(x: T.Tensor((64,), "float32"), y: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            y[i] = x[i] * 2.0
"""


NOT_INSTALLED = (
    "NVRTC, which compiles kernels for NVIDIA GPUs, is not installed: "
    "pip install 'tilewright[cuda]'"
)


@pytest.mark.usefixtures("without_nvrtc")
@pytest.mark.parametrize("command", [RUN, ("check",)])
def test_a_missing_compiler_is_reported_at_the_line_of_the_script(tmp_path, capsys, command):
    """Python's own library is between the compiler and the script: it caches the program."""
    file = tmp_path / "k.py"
    file.write_text(f"{SCRIPT}{PLAIN}tw.compile(twice, target='cuda:sm_90a')\n")
    line = LINE + PLAIN.count("\n")
    assert main.run([*command, str(file)]) == 2
    assert capsys.readouterr().err == (f"tilewright {command[0]}: {file}:{line}: {NOT_INSTALLED}\n")


@pytest.mark.usefixtures("without_nvrtc")
def test_a_script_prints_the_source_of_a_kernel_without_a_compiler(tmp_path, capsys):
    file = tmp_path / "k.py"
    file.write_text(
        f"{SCRIPT}{PLAIN}"
        "from tilewright.runtime.tile.jit import traced_tile\n"
        "print(traced_tile(twice, target='cuda:sm_90a').get_kernel_source())\n"
    )
    assert main.run(["run", str(file)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith('extern "C" __global__ void'), err
    assert "x[tid] * 2.0f" in out
