"""MMAs into tensor memory, with operands and results of every layout, are exact."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.tensor_memory_kernels import Gemm, run_chain, run_gemm
from tilewright.targets.numpy.simt import SimtOptions

CASES = [
    Gemm(),
    Gemm(n=256, k=64),
    Gemm(m=64, n=32),
    Gemm(dtype="bf16", a_along_m=True),
    Gemm(b_along_n=True),
    Gemm(n=128, a_along_m=True, b_along_n=True),
    Gemm(swizzle=64, block_k=32, k=64),
    Gemm(swizzle=32, block_k=16, k=32),
    Gemm(swizzle=32, block_k=16, k=32, n=32, a_along_m=True, b_along_n=True),
    Gemm(swizzle=0, block_k=32, k=64, n=32),
    Gemm(swizzle=0, block_k=32, k=64, n=32, a_along_m=True, b_along_n=True),
    Gemm(dtype="f32", block_k=32, k=64),
    Gemm(dtype="f8E4M3FN", block_k=128),
    Gemm(dtype="f8E5M2", block_k=64, swizzle=64),
    Gemm(dtype="f8E4M3FN", block_k=64, n=128, a_along_m=True, b_along_n=True),
    Gemm(dtype="i8", block_k=128, n=32),
    Gemm(result="f16"),
    Gemm(dtype="f8E4M3FN", block_k=128, scaled=True),
    Gemm(m=256, n=64, group=2),
    Gemm(m=128, n=64, group=2),
    Gemm(m=256, n=256, k=64, group=2, b_along_n=True),
    Gemm(m=128, n=128, k=64, group=2, dtype="bf16", a_along_m=True, b_along_n=True),
]


def _marked(gemm: Gemm) -> object:
    """Large tiles take a second each."""
    is_large = gemm.n == 256 or (gemm.n == 128 and gemm.group == 1)
    return pytest.param(gemm, marks=pytest.mark.slow) if is_large else gemm


@pytest.mark.parametrize("gemm", [_marked(each) for each in CASES], ids=str)
def test_gemms(gemm: Gemm) -> None:
    found, expected = run_gemm(gemm, SimtOptions(schedules=2, unit=32))
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_results_become_an_operand() -> None:
    found, expected = run_chain(SimtOptions(schedules=4, unit=32))
    np.testing.assert_array_equal(found.astype(np.float64), expected)
