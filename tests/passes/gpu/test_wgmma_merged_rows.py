"""Matrices that TMA copied as a box of several dimensions are one operand of wgmma."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.dialects.nv import TmaLoadOp, WgmmaOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

IMAGES, SIDE, N = 2, 9, 64


@tw.jit
def shifted(X, B, columns, depth, stages):
    """Boxes of 2 x 4 x `columns` pixels, some of them outside the image, times B."""
    K = T.const("K")
    X: T.Tensor((IMAGES, SIDE, SIDE, K), "float16")
    B: T.Tensor((K, N), "float16")
    rows = 8 * columns
    C = T.empty((rows, N), "float32")
    with T.Kernel(1, threads=128):
        box = T.alloc_shared((IMAGES, 4, columns, depth), "float16")
        B_shared = T.alloc_shared((depth, N), "float16")
        out = T.alloc_fragment((rows, N), "float32")
        T.clear(out)
        for k in T.Pipelined(K // depth, num_stages=stages):
            T.copy(X[0:IMAGES, 1:5, 1 : columns + 1, k * depth : (k + 1) * depth], box)
            T.copy(B[k * depth, 0], B_shared)
            T.gemm(T.reshape(box, (rows, depth)), B_shared, out)
        T.copy(out, C)
    return C


def lowered(given: list[np.ndarray], **sizes: int) -> Any:
    engine = DiagnosticEngine()
    module = shifted.get_tir(*given, **sizes).module.clone()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module


@pytest.mark.parametrize(
    ("columns", "depth", "is_wide"),
    [
        (8, 64, True),
        (8, 32, True),  # a narrower swizzle
        (16, 64, True),
        (8, 128, False),  # two patterns a row: those of a box follow each other, not of the matrix
    ],
)
@pytest.mark.parametrize("stages", [0, 2])
def test_values(columns: int, depth: int, is_wide: bool, stages: int) -> None:
    rng = np.random.default_rng(2)
    x = rng.integers(-2, 3, (IMAGES, SIDE, SIDE, 128)).astype(np.float16)
    b = rng.integers(-2, 3, (128, N)).astype(np.float16)
    module = lowered([x, b], columns=columns, depth=depth, stages=stages)
    ops = list(module.walk())
    assert any(isinstance(op, WgmmaOp) for op in ops) == is_wide
    assert any(isinstance(op, TmaLoadOp) for op in ops) or not stages
    out = Buffer("C", np.full((8 * columns, N), np.nan, np.float32), initialised=False)
    kernel = compile_simt(module)
    kernel.launch([Buffer("X", x), Buffer("B", b), out], SimtOptions(schedules=2, seed=3))
    padded = np.zeros((IMAGES, 4, columns, 128))
    inside = x[:, 1:5, 1 : columns + 1]
    padded[:, :, : inside.shape[2]] = inside
    np.testing.assert_array_equal(out.array, padded.reshape(-1, 128) @ b.astype(np.float64))
