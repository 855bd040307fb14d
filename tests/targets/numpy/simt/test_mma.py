"""MMAs of every kind, with operands of every layout, are exact.

Values are small whole numbers, so that no order of adding up can hide a wrong element.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

DTYPES: dict[str, Any] = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "int8": np.int8,
}
HOPPER, AMPERE = GpuPipeline(), GpuPipeline(target="cuda:sm_80", wgmma=False)


def product(
    m: int, n: int, k: int, block_k: int, dtype: str, trans_a: bool, trans_b: bool
) -> PrimFunc:
    sums = "int32" if "int" in dtype else "float32"
    a_shape, b_shape = ((k, m) if trans_a else (m, k)), ((n, k) if trans_b else (k, n))
    a_tile = (block_k, m) if trans_a else (m, block_k)
    b_tile = (n, block_k) if trans_b else (block_k, n)

    @T.prim_func
    def kernel(A: T.Tensor(a_shape, dtype), B: T.Tensor(b_shape, dtype), C: T.Tensor((m, n), sums)):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared(a_tile, dtype)
            B_shared = T.alloc_shared(b_tile, dtype)
            C_local = T.alloc_fragment((m, n), sums)
            T.clear(C_local)
            for step in T.Pipelined(T.ceildiv(k, block_k), num_stages=2):
                if trans_a:
                    T.copy(A[step * block_k, 0], A_shared)
                else:
                    T.copy(A[0, step * block_k], A_shared)
                if trans_b:
                    T.copy(B[0, step * block_k], B_shared)
                else:
                    T.copy(B[step * block_k, 0], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_A=trans_a, transpose_B=trans_b)
            T.copy(C_local, C)

    return kernel


def run(
    pipeline: GpuPipeline, m: int, n: int, k: int, block_k: int, dtype: str, *trans: bool
) -> set[str]:
    """Multiply and compare; the instructions that did it."""
    rng = np.random.default_rng(0)
    a = rng.integers(-3, 4, (m, k)).astype(DTYPES[dtype])
    b = rng.integers(-3, 4, (k, n)).astype(DTYPES[dtype])
    c = np.full((m, n), 99, np.int32 if dtype == "int8" else np.float32)
    module = lowered(product(m, n, k, block_k, dtype, *trans).module, pipeline)
    given = [np.ascontiguousarray(x.T if t else x) for x, t in zip((a, b), trans, strict=True)]
    buffers = [Buffer(name, array) for name, array in zip("ABC", (*given, c), strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(schedules=2))
    np.testing.assert_array_equal(c, a.astype(np.int64) @ b.astype(np.int64))
    return {op.name for op in walk(module)}


@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("block_k", [16, 64])
def test_halves_on_hopper(block_k: int, trans_a: bool, trans_b: bool) -> None:
    used = run(HOPPER, 64, 64, 128, block_k, "float16", trans_a, trans_b)
    assert {"nv.wgmma", "nv.tma_load"} <= used


@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("trans_a", [False, True])
def test_halves_on_ampere(trans_a: bool, trans_b: bool) -> None:
    used = run(AMPERE, 32, 64, 64, 32, "float16", trans_a, trans_b)
    assert {"nv.mma", "nv.ldmatrix", "nv.async_move"} <= used


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float8_e4m3fn", "int8"])
def test_other_types_on_hopper(dtype: str) -> None:
    assert "nv.wgmma" in run(HOPPER, 64, 32, 128, 64, dtype, False, True)


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int8"])
def test_other_types_on_ampere(dtype: str) -> None:
    assert "nv.mma" in run(AMPERE, 64, 32, 128, 64, dtype, False, True)


@pytest.mark.parametrize(("m", "n", "k"), [(64, 176, 64), (128, 80, 48), (64, 8, 32)])
def test_extents_that_are_no_powers_of_two(m: int, n: int, k: int) -> None:
    assert "nv.wgmma" in run(HOPPER, m, n, k, 16, "float16", False, True)
