"""Calls of `T` kernels that end where they would launch."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.trace_only import tracing_only


@tw.jit
def double(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(N):
            B[i] = A[i] * 2
    return B


def test_calls_are_told_and_arguments_checked():
    told = []
    with tracing_only(told.append):
        result = double(np.ones(8, np.float32))
        with pytest.raises(TypeError, match="float32"):
            double(np.ones(8, np.float64))
    assert result.shape == (8,)
    assert [each.name for each in told] == ["double"]


def test_afterwards_kernels_run_again():
    with pytest.raises(ZeroDivisionError), tracing_only(lambda kernel: None):
        1 / 0  # noqa: B018
    np.testing.assert_array_equal(double(np.full(8, 3, np.float32)), np.full(8, 6, np.float32))
