"""GEMMs into tensor memory run later than they are issued: what does not wait is reported."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy.tile import TileFault


def gemm(fault: str) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((2, 64, 32), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64, 32), "float16")
            acc = T.alloc_tmem((64, 64), "float32")
            out = T.alloc_fragment((64, 64), "float32")
            done = T.alloc_barrier(1)
            for k in T.serial(2):
                T.copy(A[k, :, :], S)
                if fault == "never committed":
                    T.tcgen05_gemm(S, S, acc, transpose_B=True, clear_accum=k == 0)
                else:
                    cleared = False if fault == "not cleared" else k == 0
                    T.tcgen05_gemm(S, S, acc, transpose_B=True, mbar=done, clear_accum=cleared)
                if fault == "wrong phase":
                    T.mbarrier_wait_parity(done, (k + 1) % 2)
                elif fault not in ("no wait", "never committed"):
                    T.mbarrier_wait_parity(done, k % 2)
            T.copy(acc, out)
            T.copy(out, C)

    return main


def run(fault: str) -> tuple[np.ndarray, np.ndarray]:
    a = np.random.default_rng(0).integers(-2, 3, (2, 64, 32)).astype(np.float16)
    result = np.zeros((64, 64), np.float32)
    tw.compile(gemm(fault))(a, result)
    wide = a.astype(np.float32)
    return result, sum(each @ each.T for each in wide)


def test_a_gemm_that_is_waited_for() -> None:
    result, expected = run("")
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("no wait", "while an asynchronous operation still reads it"),
        ("wrong phase", "T.mbarrier_wait_parity(done[0], 0) before this"),
        ("never committed", "nothing signals its completion"),
        ("not cleared", "uninitialised"),
    ],
)
def test_faults_are_reported(fault: str, message: str) -> None:
    with pytest.raises(TileFault) as found:
        run(fault)
    assert message in str(found.value)
