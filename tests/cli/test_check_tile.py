"""What ``tilewright check`` says of kernels of `T` beyond what a run does."""

import sys

import numpy as np
import pytest

from tilewright.cli import main

HEAD = """\
import numpy as np
import tilewright as tw
from tilewright import T
"""

PART = (
    HEAD
    + """

@tw.jit
def part(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(N // 32, threads=32) as bx:
        for i in T.Parallel(32):
            Y[bx * 32 + i] = X[bx * 32 + i]


x = np.ones(100, np.float32)
"""
)


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Runs ``tilewright check`` on a text; returns the exit code and what was said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tilewright"])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def run(text: str, verb: str = "check") -> tuple[int, str]:
        path = tmp_path / "script.py"
        path.write_text(text, encoding="utf-8")
        return main.run([verb, str(path)]), capsys.readouterr().err

    return run


@pytest.mark.parametrize("made", ["np.empty_like(x)", "np.empty(100, np.float32)"])
def test_elements_of_an_empty_array_that_nothing_writes_are_reported_at_the_end(check, made: str):
    code, err = check(f"{PART}y = {made}\npart(x, y)\n")
    assert code == 1
    assert "script.py:7:1: error[TW6129]: no block writes Y[96], and the caller left" in err
    assert "4 of 100 elements of Y are uninitialised after the launch" in err
    assert err.endswith("1 launch of 1 kernel, 3 programs: 1 report\n")
    assert check(f"{PART}y = {made}\npart(x, y)\n", "run") == (0, "")


@pytest.mark.parametrize(
    "rest",
    [
        "y = np.zeros(100, np.float32)\npart(x, y)",
        "y = np.empty(100, np.float32)\ny[:] = 2\npart(x, y)",
        "y = np.empty(100, np.float32)\npart(x, y)\ny[96:] = 0",
        "y = np.empty(100, np.float32)\npart(x, y)\npart(x[:32], y[68:])",
        "y = np.empty(96, np.float32)\npart(x[:96], y)",
    ],
    ids=["zeros", "filled before", "filled behind", "two launches", "all of it"],
)
def test_what_the_script_or_another_launch_fills_is_not_reported(check, rest: str):
    code, err = check(f"{PART}{rest}\n")
    assert (code, err.splitlines()[-1].rpartition(": ")[2]) == (0, "no fault")


def test_a_kernel_that_reads_an_empty_array_is_reported(check):
    code, err = check(f"{PART}part(np.empty(100, np.float32), x)\n")
    assert code == 1
    assert "error[TW6107]: read of uninitialised X[0]" in err


def test_a_script_gets_its_own_numpy_back(check):
    before = np.empty, np.empty_like
    check(f"{PART}part(x, np.zeros_like(x))\n")
    assert (np.empty, np.empty_like) == before


LARGE = (
    HEAD
    + """

@tw.jit
def large(X):
    M = T.const("M")
    X: T.Tensor((M, 512), "float32")
    Y = T.empty((M, 512), "float32")
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((M, 512), "float32")
        T.copy(X, tile)
        BARRIER
        T.copy(tile, Y)
    return Y


large(np.ones((128, 512), np.float32))
"""
)


def test_shared_memory_beyond_the_chip_is_reported_without_a_gpu(check):
    text = LARGE.replace("        BARRIER\n", "")
    code, err = check(text)
    assert code == 1
    assert "error[TW5001]: shared memory exceeded: 262144 B needed" in err
    assert "checked for sm_90a, which is assumed where no target is given" in err
    assert err.endswith("tilewright check: fault in large\n")
    assert check(text, "run") == (0, "")


def test_shared_memory_that_is_not_known_is_listed(check):
    """A kernel that cannot be compiled for the chip has no shared memory to speak of."""
    loop = "for i in T.Parallel(T.if_then_else(X[0, 0] > 0, 4, 8)):\n            tile[i, 0] = 1"
    code, err = check(LARGE.replace("BARRIER", loop))
    assert code == 0
    assert "tilewright check: not analysed: the shared memory of large on sm_90a: " in err


ROLES = (
    HEAD
    + """

@tw.jit
def handed_on(X):
    X: T.Tensor((64,), "float32")
    Y = T.empty((64,), "float32")
    with T.Kernel(1, threads=256):
        s = T.alloc_shared((64,), "float32")
        full = T.alloc_barrier(128)
        T.clear(s)
        with T.ws(1):
            for i in T.Parallel(64):
                s[i] = X[i]
            T.barrier_arrive(full)
        with T.ws(0):
            WAIT
            for i in T.Parallel(64):
                Y[i] = s[i]
    return Y


handed_on(np.zeros(64, np.float32))
"""
)


def test_roles_that_nothing_orders_are_reported_though_their_values_agree(check):
    code, err = check(ROLES.replace("WAIT", "pass"))
    assert code == 1
    assert (
        "error[TW4052]: data race: nothing orders the read of s[0:64] by T.ws(0) after the write of "
        "s[0:64] by T.ws(1)\n" in err
    )
    assert "the write is here" in err
    assert (
        "help: call T.mbarrier_wait_parity(full[0], 0) in T.ws(0) before this: T.ws(1) arrives on "
        "full[0] after its write" in err
    )
    code, err = check(ROLES.replace("WAIT", "T.barrier_wait(full, 0)"))
    assert (code, "no fault" in err) == (0, True)
