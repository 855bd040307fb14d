"""Tensors whose outer extents are run-time values: rows of static length are moved whole."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

F16 = "float16"


@tw.jit
def gathered(A, Rows):
    batch, rows = T.dynamic("batch, rows")
    A: T.Tensor((batch, rows, 64), F16)
    Rows: T.Tensor((batch, 32), "int32")
    C = T.empty((batch, 32, 64), F16)
    with T.Kernel(batch, threads=128) as b:
        s = T.alloc_shared((32, 64), F16)
        for i, j in T.Parallel(32, 64):
            s[i, j] = A[b, Rows[b, i], j]
        T.copy(s, C[b, 0, 0])
    return C


@tw.jit
def pipelined(A):
    batch, rows = T.dynamic("batch, rows")
    A: T.Tensor((batch, rows, 64), F16)
    C = T.empty((batch, rows, 64), F16)
    with T.Kernel(batch, threads=128) as b:
        s = T.alloc_shared((32, 64), F16)
        f = T.alloc_fragment((32, 64), F16)
        for k in T.Pipelined(T.ceildiv(rows, 32), num_stages=2):
            T.copy(A[b, k * 32, 0], s)
            for i, j in T.Parallel(32, 64):
                f[i, j] = s[i, j] + s[i, 63 - j]
            T.copy(f, C[b, k * 32, 0])
    return C


def test_gathered_rows_are_read_16_bytes_at_a_time() -> None:
    a = whole(1, 3, 50, 64)
    indices = (whole(2, 3, 32, dtype="int32") * 7 % 50).astype("int32")
    expected = a[[[0], [1], [2]], indices]
    engine = check(gathered, a, indices, expected=expected)
    assert not [each.message for each in engine.diagnostics if each.code == "TW3010"]


@pytest.mark.parametrize("rows", [64, 45])
def test_tiles_are_copied_by_tma(rows: int) -> None:
    a = whole(1, 3, rows, 64)
    check(pipelined, a, expected=a + a[..., ::-1])
    text = source_of(lowered(pipelined, a)[0])
    assert "cp.async.bulk.tensor.3d.shared" in text
