"""Shared buffers that are seen as elements of another type have a plain layout."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, product, whole
from tilewright import T


@pytest.mark.parametrize("rows", [64, 32])
def test_an_operand_of_a_gemm_is_written_as_pairs(rows):
    """Swizzled for the instruction, it could not be seen as words (TW2022)."""

    @tw.jit
    def multiplied(A, B):
        A: T.Tensor((rows, 32), "int32")
        B: T.Tensor((64, 64), "float16")
        C = T.empty((rows, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((rows, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((rows, 64), "float32")
            words = T.view(a, (rows, 32), "int32")
            for i, j in T.Parallel(rows, 32):
                words[i, j] = A[i, j]
            T.copy(B, b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = whole(0, rows, 64), whole(1, 64, 64)
    check(multiplied, a.view(np.int32), b, expected=product(a, b))


def test_what_tma_stores_is_seen_as_bytes():
    @tw.jit
    def stored(A, Out):
        A: T.Tensor((64, 64), "float16")
        Out: T.Tensor((64, 64), "float16")
        Bytes = T.empty((64, 128), "uint8")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            seen = T.view(a, (64, 128), "uint8")
            T.copy(A, a)
            T.copy(a, Out)
            for i, j in T.Parallel(64, 128):
                Bytes[i, j] = seen[i, j]
        return Bytes

    a = whole(2, 64, 64)
    check(stored, a, np.zeros_like(a), expected=a.view(np.uint8).reshape(64, 128))
