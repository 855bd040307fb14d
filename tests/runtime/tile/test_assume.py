"""A GPU relies on ``T.assume``: a checked run on the CPU looks whether it holds."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.tile import TileFault, TileOptions, compile_tile_module

X = np.arange(128, dtype=np.float32)


@tw.jit
def shifted(X, off: T.int32):
    X: T.Tensor((128,), "float32")
    Y = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        T.assume(off % 4 == 0, "off is a {multiple}")
        for i in T.Parallel(64):
            Y[i] = X[off + i]
    return Y


@tw.jit
def gathered(X, index):
    X: T.Tensor((128,), "float32")
    index: T.Tensor((64,), "int32")
    Y = T.empty((64,), "float32")
    with T.Kernel(2, threads=32) as bx:
        T.assume((index[0] >= 0) & (index[0] < 5 + bx * 100))
        for i in T.Parallel(32):
            if i > 3:
                s = index[bx * 32 + i]
                T.assume(s < 100)
                Y[bx * 32 + i] = X[s]
            else:
                Y[bx * 32 + i] = 0
    return Y


@T.prim_func
def sized(A: T.Tensor((T.dynamic("M"),), "float32"), B: T.Tensor((T.dynamic("M"),), "float32")):
    M = A.shape[0]
    T.assume(M % 8 == 0)
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            if i < M:
                B[i] = A[i]


def test_an_assumption_that_does_not_hold_is_reported_with_its_values() -> None:
    with pytest.raises(TileFault) as fault:
        shifted(X, 3)
    text = str(fault.value)
    assert "error[TW6124]: T.assume does not hold: off is a {multiple}" in text
    assert 'T.assume(off % 4 == 0, "off is a {multiple}")' in text
    assert "off is 3" in text
    np.testing.assert_array_equal(shifted(X, 8), X[8:72])


def test_an_assumption_about_an_element_is_looked_at_in_every_iteration() -> None:
    index = np.arange(64, dtype=np.int32)[::-1].copy() % 5
    expected = np.where(np.arange(64) % 32 > 3, X[index], 0)
    np.testing.assert_array_equal(gathered(X, index), expected)
    index[2] = 120  # of an iteration that does not come there
    np.testing.assert_array_equal(gathered(X, index), expected)
    index[42] = 120
    with pytest.raises(TileFault, match=r"T\.assume does not hold") as fault:
        gathered(X, index)
    for part in ("block (1, 0, 0)", "s is 120", "in iteration (10) of T.Parallel"):
        assert part in str(fault.value)
    index[0] = 5
    with pytest.raises(TileFault, match=r"T\.assume does not hold") as fault:
        gathered(X, index)
    assert str(fault.value).count("an element of index is 5") == 1


def test_an_assumption_about_an_extent_is_looked_at_before_the_kernel() -> None:
    kernel = tw.compile(sized, target="numpy")
    kernel(X[:24], np.zeros(24, np.float32))
    with pytest.raises(TileFault, match=r"TW6124.*T.assume does not hold"):
        kernel(X[:21], np.zeros(21, np.float32))


def test_an_unchecked_run_does_not_look_at_assumptions() -> None:
    out = np.zeros(21, np.float32)
    given = [Buffer("A", X[:21].copy()), Buffer("B", out)]
    compile_tile_module(sized.module).launch(given, TileOptions(checked=False))
    np.testing.assert_array_equal(out, X[:21])
