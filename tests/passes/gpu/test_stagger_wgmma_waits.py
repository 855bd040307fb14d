"""Waits for GEMMs move to where results are accessed; values stay what they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

TILE, STEPS = 64, 3


@tw.jit
def two_results(A, B, C, D, is_specialized):
    """As in the backward pass of attention: two GEMMs, a function of both, two GEMMs of that."""
    A: T.Tensor((TILE, TILE), "float16")
    B: T.Tensor((STEPS, TILE, TILE), "float16")
    C: T.Tensor((STEPS, TILE, TILE), "float16")
    D: T.Tensor((STEPS, TILE, TILE), "float32")
    Out = T.empty((2, TILE, TILE), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((TILE, TILE), "float16")
        B_shared = T.alloc_shared((TILE, TILE), "float16")
        C_shared = T.alloc_shared((TILE, TILE), "float16")
        W_shared = T.alloc_shared((TILE, TILE), "float16")
        left = T.alloc_fragment((TILE, TILE), "float32")
        right = T.alloc_fragment((TILE, TILE), "float32")
        part = T.alloc_fragment((TILE, TILE), "float32")
        weights = T.alloc_fragment((TILE, TILE), "float16")
        both = T.alloc_fragment((TILE, TILE), "float16")
        firsts = T.alloc_fragment((TILE, TILE), "float32")
        others = T.alloc_fragment((TILE, TILE), "float32")
        T.copy(A, A_shared)
        T.clear(firsts)
        T.clear(others)
        for k in T.Pipelined(STEPS, num_stages=2 if is_specialized else 0):
            T.copy(B[k, :, :], B_shared)
            T.copy(C[k, :, :], C_shared)
            T.gemm(A_shared, B_shared, left, clear_accum=True)
            T.gemm(A_shared, C_shared, right, clear_accum=True)
            for i, j in T.Parallel(TILE, TILE):
                weights[i, j] = T.cast(T.max(left[i, j], 0), "float16")
            for i, j in T.Parallel(TILE, TILE):
                both[i, j] = T.cast(T.min(right[i, j], left[i, j]), "float16")
            T.gemm(weights, C_shared, firsts)
            T.copy(both, W_shared)
            T.gemm(W_shared, A_shared, part, transpose_A=True, clear_accum=True)
            T.gemm(both, B_shared, others)
            T.copy(part, D[k, :, :])
        T.copy(firsts, Out[0, :, :])
        T.copy(others, Out[1, :, :])
    return Out


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    shapes = [(TILE, TILE), *[(STEPS, TILE, TILE)] * 2]
    return [rng.integers(-1, 2, shape).astype(np.float16) for shape in shapes]


def expected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    a, b, c = (each.astype(np.float64) for each in (a, b, c))
    left, right = a @ b, a @ c
    both = np.minimum(left, right)
    out = np.stack([(np.maximum(left, 0) @ c).sum(0), (both @ b).sum(0)])
    return out, both.swapaxes(1, 2) @ a


def lowered(is_specialized: bool, *left_out: str) -> Any:
    engine = DiagnosticEngine()
    given = [*arguments(), np.zeros((STEPS, TILE, TILE), np.float32)]
    module = two_results.get_tir(*given, is_specialized=is_specialized).module.clone()
    GpuPipeline(leave_out=left_out).run(module, engine)
    engine.raise_if_errors()
    return module


def counts(module: Any) -> list[int]:
    """What each wait of the module leaves in flight."""
    return [op.count for op in module.walk() if isinstance(op, WgmmaWaitOp)]


def test_waits_leave_later_gemms_in_flight() -> None:
    assert counts(lowered(True)) == [1, 0, 1, 0]
    assert counts(lowered(True, "stagger-wgmma-waits")) == [0, 0, 0]


@pytest.mark.parametrize("is_specialized", [True, False])
@pytest.mark.parametrize("left_out", [(), ("stagger-wgmma-waits",)])
def test_values_are_the_same(is_specialized: bool, left_out: tuple[str, ...]) -> None:
    given = arguments()
    part = np.full((STEPS, TILE, TILE), np.nan, np.float32)
    out = Buffer("Out", np.full((2, TILE, TILE), np.nan, np.float32), initialised=False)
    buffers = [Buffer(name, each) for name, each in zip("ABC", given, strict=True)]
    parts = Buffer("D", part, initialised=False)
    kernel = compile_simt(lowered(is_specialized, *left_out))
    kernel.launch([*buffers, parts, out], SimtOptions(schedules=2, seed=7))
    outputs, of_parts = expected(*given)
    np.testing.assert_array_equal(out.array, outputs)
    np.testing.assert_array_equal(part, of_parts)
