"""Image patches that TMA copies as boxes, and those that threads copy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import source_of, whole
from tilewright import T
from tilewright.analysis.copies.image_patches import Patches
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt


def _convolution(
    images: int, size: tuple[int, int, int], window: tuple[int, int, int, int], rows: int
) -> Any:
    """`size` is height, width and channels, `window` its width, stride, dilation and padding."""
    (height, width, channels), (taps, stride, dilation, pad) = size, window
    down, across = (
        (each + 2 * pad - dilation * (taps - 1) - 1) // stride + 1 for each in (height, width)
    )
    positions, columns, filters = images * down * across, 16, 16

    @T.prim_func
    def convolution(
        data: T.Tensor((images, height, width, channels), "float16"),
        weights: T.Tensor((taps * taps * channels, filters), "float16"),
        out: T.Tensor((positions, filters), "float32"),
    ):
        with T.Kernel(T.ceildiv(positions, rows), threads=128) as block:
            patches = T.alloc_shared((rows, columns), "float16")
            kernel = T.alloc_shared((columns, filters), "float16")
            total = T.alloc_fragment((rows, filters), "float32")
            T.clear(total)
            for k in T.Pipelined(taps * taps * channels // columns, num_stages=2):
                T.im2col(data, patches, block, k, taps, stride, dilation, pad)
                T.copy(weights[k * columns, 0], kernel)
                T.gemm(patches, kernel, total)
            T.copy(total, out[block * rows, 0])

    return tw.jit(out_idx=[-1])(lambda: convolution)()


def _expected(data: np.ndarray, weights: np.ndarray, window: tuple[int, int, int, int]) -> Any:
    taps, stride, dilation, pad = window
    images, height, width, channels = data.shape
    padded = np.pad(data.astype(np.float32), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    reach = dilation * (taps - 1) + 1
    down, across = ((each + 2 * pad - reach) // stride + 1 for each in (height, width))
    total = np.zeros((images, down, across, weights.shape[1]), np.float32)
    filters = weights.astype(np.float32).reshape(taps, taps, channels, -1)
    for y in range(taps):
        for x in range(taps):
            top, left = y * dilation, x * dilation
            seen = padded[:, top : top + down * stride : stride]
            total += seen[:, :, left : left + across * stride : stride] @ filters[y, x]
    return total.reshape(-1, weights.shape[1])


CASES = {
    "part of a line": (2, (3, 128, 16), (3, 1, 1, 1), 64, True),
    "whole lines": (3, (4, 32, 32), (3, 1, 1, 1), 64, True),
    "whole images": (3, (4, 8, 16), (1, 1, 1, 0), 64, True),
    "dilated": (1, (8, 32, 16), (3, 1, 2, 2), 64, True),
    "a stride": (1, (16, 32, 16), (3, 2, 1, 1), 64, False),
    "lines that end inside": (2, (8, 24, 16), (3, 1, 1, 1), 64, False),
}


def _lowered(kernel: Any) -> tuple[Any, DiagnosticEngine]:
    module, engine = kernel.prim_func.module.clone(), DiagnosticEngine(minimum=Severity.REMARK)
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module, engine


def _run(module: Any, data: np.ndarray, weights: np.ndarray, like: np.ndarray) -> np.ndarray:
    out = np.full_like(like, -77)
    given = {"data": data, "weights": weights, "out": out}
    compile_simt(module).launch([Buffer(name, each) for name, each in given.items()])
    return out


@pytest.mark.parametrize("name", CASES)
def test_values_of_tiles_and_of_threads(name: str) -> None:
    images, size, window, rows, is_bulk = CASES[name]
    data, weights = whole(1, images, *size), whole(2, window[0] ** 2 * size[2], 16)
    kernel = _convolution(images, size, window, rows)
    expected = _expected(data, weights, window)
    np.testing.assert_array_equal(kernel(data, weights), expected)
    module, engine = _lowered(kernel)
    np.testing.assert_array_equal(_run(module, data, weights, expected), expected)
    assert ("tw::tma_load(patches" in source_of(module)) == is_bulk
    assert ("TW4021" in [each.code for each in engine.diagnostics]) != is_bulk


def test_a_tile_that_is_no_box_has_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a box where lines end inside of the tile, rows are those of another position."""
    images, size, window, rows, _ = CASES["lines that end inside"]
    monkeypatch.setattr(Patches, "box", (1, 1, rows, 16))
    data, weights = whole(1, images, *size), whole(2, window[0] ** 2 * size[2], 16)
    module, _ = _lowered(_convolution(images, size, window, rows))
    expected = _expected(data, weights, window)
    assert (_run(module, data, weights, expected) != expected).any()
