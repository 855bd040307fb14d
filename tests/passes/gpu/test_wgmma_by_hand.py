"""`T.wgmma_gemm` and `T.wait_wgmma`: accumulators are the threads' again once the wait is over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.dialects.nv import WgmmaFenceOperandOp, WgmmaWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.ir.verify import verify
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

F16, F32 = "float16", "float32"


def _run(kernel: Any, *arrays: np.ndarray, roles: bool) -> Any:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    GpuPipeline(warp_specialize=roles).run(module, engine)
    engine.raise_if_errors()
    verify(module, engine)
    engine.raise_if_errors()
    arguments = [Buffer(name, each) for name, each in zip("ABCD", arrays, strict=False)]
    compile_simt(module).launch(arguments, SimtOptions(seed=3))
    return module


def _whole(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float16)


@pytest.mark.parametrize("roles", [True, False])
@pytest.mark.parametrize("steps", [1, 3])
def test_a_user_defined_wait_did_not_return_the_accumulator(steps: int, roles: bool) -> None:
    depth = 32 * steps

    @T.prim_func
    def main(
        A: T.Tensor((64, depth), F16), B: T.Tensor((depth, 64), F16), C: T.Tensor((64, 64), F32)
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), F16)
            b = T.alloc_shared((32, 64), F16)
            c = T.alloc_fragment((64, 64), F32)
            T.clear(c)
            for k in T.serial(steps):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.wgmma_gemm(a, b, c)
                T.wait_wgmma(0)
            T.copy(c, C)

    a, b, c = _whole(0, 64, depth), _whole(1, depth, 64), np.zeros((64, 64), np.float32)
    _run(main, a, b, c, roles=roles)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def test_a_wait_for_all_but_one_group_returns_the_first_accumulator_only() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), F16),
        B: T.Tensor((64, 64), F16),
        C: T.Tensor((64, 64), F32),
        D: T.Tensor((64, 64), F32),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), F16)
            b = T.alloc_shared((64, 64), F16)
            first = T.alloc_fragment((64, 64), F32)
            second = T.alloc_fragment((64, 64), F32)
            T.clear(first)
            T.clear(second)
            T.copy(A, a)
            T.copy(B, b)
            T.wgmma_gemm(a, b, first)
            T.wgmma_gemm(b, a, second)
            T.wait_wgmma(1)
            T.copy(first, C)
            T.wait_wgmma(0)
            T.copy(second, D)

    a, b = _whole(2, 64, 64), _whole(3, 64, 64)
    c, d = np.zeros((64, 64), np.float32), np.zeros((64, 64), np.float32)
    module = _run(main, a, b, c, d, roles=False)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    np.testing.assert_array_equal(d, b.astype(np.float32) @ a.astype(np.float32))
    one, other = (op for op in walk(module) if isinstance(op, WgmmaWaitOp))
    assert isinstance(one.next_op, WgmmaFenceOperandOp)
    assert not isinstance(one.next_op.next_op, WgmmaFenceOperandOp)
    assert isinstance(other.next_op, WgmmaFenceOperandOp)


def test_reading_a_group_in_flight_is_still_an_error() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), F16), C: T.Tensor((64, 64), F32)):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), F16)
            c = T.alloc_fragment((64, 64), F32)
            T.clear(c)
            T.copy(A, a)
            T.wgmma_gemm(a, a, c)
            T.wait_wgmma(1)
            T.copy(c, C)

    engine = DiagnosticEngine()
    GpuPipeline().run(main.module.clone(), engine)
    assert engine.error_count
