"""GEMMs whose operands are sub-tiles of shared buffers: `wgmma` where whole patterns are meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, whole
from tilewright import T

F16, F32 = "float16", "float32"


def _kernel(a_shape: Any, b_shape: Any, multiply: Any) -> Any:
    @tw.jit
    def kernel(A, B):
        A: T.Tensor(a_shape, F16)
        B: T.Tensor(b_shape, F16)
        C = T.empty((64, 64), F32)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared(a_shape, F16)
            b = T.alloc_shared(b_shape, F16)
            c = T.alloc_fragment((64, 64), F32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            multiply(a, b, c)
            T.copy(c, C)
        return C

    return kernel


def columns(a: Any, b: Any, c: Any) -> None:
    T.gemm(a[:, :64], b[:, 128:192], c, transpose_B=True)
    T.gemm(a[:, 64:], b[:, :128], c, transpose_B=True)


def rows(a: Any, b: Any, c: Any) -> None:
    T.gemm(a[64:128, :], b[8:72, :], c, transpose_B=True)


def transposed(a: Any, b: Any, c: Any) -> None:
    T.gemm(a[32:64, 64:128], b[16:48, 64:128], c, transpose_A=True)


def one_of_several(a: Any, b: Any, c: Any) -> None:
    T.gemm(a[1, :, 64:128], b[2, 64:128, :], c)


CASES: dict[str, tuple[Any, Any, Any, Any]] = {
    "columns": (
        (64, 192),
        (64, 192),
        columns,
        lambda a, b: a[:, :64] @ b[:, 128:].T + a[:, 64:] @ b[:, :128].T,
    ),
    "rows": ((192, 64), (80, 64), rows, lambda a, b: a[64:128] @ b[8:72].T),
    "transposed": (
        (64, 128),
        (64, 192),
        transposed,
        lambda a, b: a[32:64, 64:].T @ b[16:48, 64:128],
    ),
    "one of several": (
        (2, 64, 128),
        (3, 128, 64),
        one_of_several,
        lambda a, b: a[1, :, 64:] @ b[2, 64:],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_whole_patterns_are_read_by_wgmma(name: str) -> None:
    a_shape, b_shape, multiply, formula = CASES[name]
    a, b = whole(1, *a_shape), whole(2, *b_shape)
    expected = formula(a.astype(np.float32), b.astype(np.float32))
    engine = check(_kernel(a_shape, b_shape, multiply), a, b, expected=expected)
    assert not any("wgmma not used" in each.message for each in engine.diagnostics)


def unaligned(a: Any, b: Any, c: Any) -> None:
    T.gemm(a[:, 32:96], b[:, :64], c, transpose_B=True)


def test_other_sub_tiles_are_read_by_threads() -> None:
    a, b = whole(3, 64, 192), whole(4, 64, 192)
    expected = a[:, 32:96].astype(np.float32) @ b[:, :64].astype(np.float32).T
    engine = check(_kernel(a.shape, b.shape, unaligned), a, b, expected=expected)
    found = [each.message for each in engine.diagnostics if "wgmma not used" in each.message]
    assert len(found) == 1 and "whole patterns of 8 x 64 elements" in found[0]
