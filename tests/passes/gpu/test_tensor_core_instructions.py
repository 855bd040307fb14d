"""``T.ptx_ldmatrix`` and ``T.ptx_mma``: kernels that keep fragments in registers themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, lowered, source_of, whole
from tilewright import T
from tilewright.compat.tilelang_intrinsics import (
    TensorCoreIntrinEmitter,
    get_swizzle_layout,
    make_mma_swizzle_layout,
)
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.cuda.nvrtc import compile_source

M, N, K, STEP = 64, 64, 64, 32


def matmul(dtype: str, total: str, a_transposed: bool, b_transposed: bool, columns: int) -> Any:
    emitter = TensorCoreIntrinEmitter(
        a_dtype=dtype,
        b_dtype=dtype,
        accum_dtype=total,
        a_transposed=a_transposed,
        b_transposed=b_transposed,
        block_row_warps=2,
        block_col_warps=64 // columns,
        warp_row_tiles=32,
        warp_col_tiles=columns,
        chunk=STEP,
    )
    a_tile = (STEP, M) if a_transposed else (M, STEP)
    b_tile = (N, STEP) if b_transposed else (STEP, N)

    @tw.jit
    def kernel(A, B):
        A: T.Tensor((K, M) if a_transposed else (M, K), dtype)
        B: T.Tensor((N, K) if b_transposed else (K, N), dtype)
        C = T.empty((M, N), total)
        with T.Kernel(1, threads=emitter.threads):
            a_shared = T.alloc_shared(a_tile, dtype)
            b_shared = T.alloc_shared(b_tile, dtype)
            c_shared = T.alloc_shared((M, N), total)
            a = T.alloc_local(emitter.warp_rows * emitter.local_size_a, dtype)
            b = T.alloc_local(emitter.warp_cols * emitter.local_size_b, dtype)
            c = T.alloc_local(emitter.warp_rows * emitter.warp_cols * emitter.local_size_out, total)
            T.annotate_layout(
                {each: make_mma_swizzle_layout(each) for each in (a_shared, b_shared)}
            )
            T.clear(c)
            for ko in T.Pipelined(K // STEP, num_stages=2):
                for i, j in T.Parallel(*a_tile):
                    a_shared[i, j] = A[
                        ko * STEP * int(a_transposed) + i, ko * STEP * int(not a_transposed) + j
                    ]
                for i, j in T.Parallel(*b_tile):
                    b_shared[i, j] = B[
                        ko * STEP * int(not b_transposed) + i, ko * STEP * int(b_transposed) + j
                    ]
                for ki in T.serial(STEP // emitter.micro_size_k):
                    emitter.ldmatrix_a(a, a_shared, ki)
                    emitter.ldmatrix_b(b, b_shared, ki)
                    emitter.mma(a, b, c)
            emitter.stmatrix(c, c_shared)
            T.copy(c_shared, C)
        return C

    return kernel


CASES = [
    ("float16", "float32", False, True, 32),
    ("float16", "float32", True, False, 32),
    ("bfloat16", "float32", False, False, 8),
    ("int8", "int32", False, True, 64),
]


@pytest.mark.parametrize("case", CASES)
def test_values_of_warps_that_multiply_themselves(case: Any) -> None:
    dtype, total, a_transposed, b_transposed, _ = case
    a = whole(1, *((K, M) if a_transposed else (M, K)), dtype=dtype)
    b = whole(2, *((N, K) if b_transposed else (K, N)), dtype=dtype)
    expected = (a.T if a_transposed else a).astype(np.float64) @ (
        b.T if b_transposed else b
    ).astype(np.float64)
    expected = expected.astype(total)
    kernel = matmul(*case)
    module, _ = lowered(kernel, a, b)
    np.testing.assert_array_equal(by_threads(kernel, module, (a, b), expected), expected)
    assert "mma.sync" in compile_source(source_of(module), "sm_90a").ptx


def test_a_swizzle_is_a_permutation_of_units_of_16_bytes() -> None:
    rows, columns = np.indices((16, 64))
    for width in (32, 64, 128):
        panel, row, column = get_swizzle_layout(rows, columns, 64, "float16", width)
        flat = (panel * 16 + row) * (width // 2) + column
        assert sorted(flat.ravel().tolist()) == list(range(16 * 64))
        assert (np.diff(column.reshape(16, 8, 8), axis=2) == 1).all()


def test_fragments_are_arrays_of_each_thread() -> None:
    @tw.jit
    def wrong(A):
        A: T.Tensor((16, 16), "float16")
        with T.Kernel(1, threads=32):
            s = T.alloc_shared((16, 16), "float16")
            f = T.alloc_fragment((16, 16), "float16")
            T.copy(A, s)
            T.ptx_ldmatrix(False, 4, s[T.get_thread_binding() % 16, 0], f[0, 0])

    with pytest.raises(CompileError, match=r"made by T\.alloc_local"):
        wrong(np.zeros((16, 16), np.float16))
    with pytest.raises(ValueError, match="multiple of 16, its columns of 8"):
        TensorCoreIntrinEmitter(warp_row_tiles=8)
