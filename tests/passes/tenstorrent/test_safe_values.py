"""What kernels read outside of a tensor that has a safe value."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import T


@tw.jit(target="tenstorrent:wormhole")
def copied(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B: T.Tensor((64, 64), "float32")
    with T.Kernel(2, 2, threads=128) as (bx, by):
        T.annotate_safe_value({A: 7.0})
        tile = T.alloc_fragment((32, 32), "float32")
        T.copy(A[by * 32, bx * 32], tile)
        T.copy(tile, B[by * 32, bx * 32])


@tw.jit(target="tenstorrent:wormhole")
def loaded(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B: T.Tensor((64, 64), "float32")
    with T.Kernel(2, 2, threads=128) as (bx, by):
        T.annotate_safe_value({A: 7.0})
        for i, j in T.Parallel(32, 32):
            B[by * 32 + i, bx * 32 + j] = A[by * 32 + i, bx * 32 + j]


@pytest.mark.parametrize("kernel", [copied, loaded])
@pytest.mark.parametrize("shape", [(1, 1), (40, 50), (64, 33), (64, 64)])
def test_elements_outside_are_the_safe_value(kernel, shape: tuple[int, int]) -> None:
    a = np.random.default_rng(1).standard_normal(shape, dtype=np.float32)
    b = np.full((64, 64), 99, np.float32)
    kernel(a, b)
    expected = np.full((64, 64), 7, np.float32)
    expected[: shape[0], : shape[1]] = a
    np.testing.assert_array_equal(b, expected)
