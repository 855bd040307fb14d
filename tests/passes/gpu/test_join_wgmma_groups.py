"""GEMMs that follow each other are waited for once, and give what they gave before."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

TILE, STEPS = 64, 5


@tw.jit
def chained(A, K, P, V):
    """Scores of two parts, and two results of them, in a pipelined loop."""
    A: T.Tensor((TILE, TILE), "float16")
    K: T.Tensor((STEPS, TILE, TILE), "float16")
    P: T.Tensor((STEPS, TILE, TILE), "float16")
    V: T.Tensor((STEPS, TILE, TILE), "float16")
    Out = T.empty((TILE, TILE), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((TILE, TILE), "float16")
        K_shared = T.alloc_shared((TILE, TILE), "float16")
        P_shared = T.alloc_shared((TILE, TILE), "float16")
        V_shared = T.alloc_shared((TILE, TILE), "float16")
        scores = T.alloc_fragment((TILE, TILE), "float32")
        weights = T.alloc_fragment((TILE, TILE), "float16")
        out = T.alloc_fragment((TILE, TILE), "float32")
        T.copy(A, A_shared)
        T.clear(out)
        for k in T.Pipelined(STEPS, num_stages=2):
            T.copy(K[k, :, :], K_shared)
            T.copy(P[k, :, :], P_shared)
            T.clear(scores)
            T.gemm(A_shared, K_shared, scores)
            T.gemm(P_shared, A_shared, scores)
            for i, j in T.Parallel(TILE, TILE):
                weights[i, j] = T.cast(T.max(scores[i, j], 0), "float16")
            T.copy(V[k, :, :], V_shared)
            T.gemm(weights, V_shared, out)
            T.gemm(A_shared, K_shared, out)
        T.copy(out, Out)
    return Out


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    shapes = [(TILE, TILE), *[(STEPS, TILE, TILE)] * 3]
    return [rng.integers(-1, 2, shape).astype(np.float16) for shape in shapes]


def expected(a: np.ndarray, k: np.ndarray, p: np.ndarray, v: np.ndarray) -> np.ndarray:
    a, k, p, v = (each.astype(np.float64) for each in (a, k, p, v))
    return sum(np.maximum(a @ k[n] + p[n] @ a, 0) @ v[n] + a @ k[n] for n in range(STEPS))  # pyright: ignore[reportReturnType]


def lowered(*left_out: str) -> Any:
    engine = DiagnosticEngine()
    module = chained.get_tir(*arguments()).module.clone()
    GpuPipeline(leave_out=left_out).run(module, engine)
    engine.raise_if_errors()
    return module


def waits(module: Any) -> int:
    return sum(isinstance(op, WgmmaWaitOp) for op in module.walk())


def test_values_are_the_same_with_fewer_waits() -> None:
    passes = ("overlap-wgmma", "sink-wgmma-waits")
    assert waits(lowered(*passes)) == 3  # the release of V stays between the last two
    assert waits(lowered(*passes, "join-wgmma-groups")) == 4
    for left_out in (passes, ()):
        given = arguments()
        out = Buffer("Out", np.full((TILE, TILE), np.nan, np.float32), initialised=False)
        buffers = [Buffer(name, each) for name, each in zip("AKPV", given, strict=True)]
        compile_simt(lowered(*left_out)).launch([*buffers, out], SimtOptions(schedules=2, seed=7))
        np.testing.assert_array_equal(out.array, expected(*given))
