"""GEMMs on CUDA cores whose sums replace one of their operands: all of it is read first."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, whole
from tilewright import T

SIZE = 12


@pytest.mark.parametrize("clear", [True, False])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("sides", ["B", "A", "AB"])
def test_an_operand_is_the_accumulator(sides: str, turned: bool, clear: bool) -> None:
    @tw.jit
    def multiplied(X, Y):
        X: T.Tensor((SIZE, SIZE), "float32")
        Y: T.Tensor((SIZE, SIZE), "float32")
        Z = T.empty((SIZE, SIZE), "float32")
        with T.Kernel(1, threads=64):
            x = T.alloc_shared((SIZE, SIZE), "float32")
            sums = T.alloc_fragment((SIZE, SIZE), "float32")
            T.copy(X, x)
            T.copy(Y, sums)
            left, right = (sums if each in sides else x for each in "AB")
            T.gemm(left, right, sums, clear_accum=clear, transpose_B=turned)
            T.copy(sums, Z)
        return Z

    x, y = (whole(seed, SIZE, SIZE, dtype="float32") for seed in (1, 2))
    left, right = (y if each in sides else x for each in "AB")
    expected = left @ (right.T if turned else right) + (0 if clear else y)
    check(multiplied, x, y, expected=expected, cubin=False)


def test_powers_in_a_loop() -> None:
    @tw.jit
    def power(X):
        X: T.Tensor((SIZE, SIZE), "float32")
        Z = T.empty((SIZE, SIZE), "float32")
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((SIZE, SIZE), "float32")
            sums = T.alloc_fragment((SIZE, SIZE), "float32")
            T.copy(X, x)
            T.copy(X, sums)
            for _ in T.serial(3):
                T.gemm(x, sums, sums, clear_accum=True)
            T.copy(sums, Z)
        return Z

    x = whole(5, SIZE, SIZE, dtype="float32")
    check(power, x, expected=x @ x @ x @ x, cubin=False)
