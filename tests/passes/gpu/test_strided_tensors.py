"""Tensors with strides of their own: declared as numbers, or known to the run only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

ROWS, COLUMNS = 64, 128
STEP, OTHER = T.dynamic("step"), T.dynamic("other")
STRIDES: dict[str, tuple[Any, Any]] = {
    "contiguous": (COLUMNS, 1),
    "padded": (COLUMNS + 8, 1),
    "padded by one": (COLUMNS + 1, 1),
    "every other column": (2 * COLUMNS, 2),
    "transposed": (1, ROWS),
    "rows of the run": (STEP, 1),
    "both of the run": (STEP, OTHER),
}
NUMBERS = {STEP: 3 * COLUMNS + 2, OTHER: 3}
"""What the run says."""
each_stride = pytest.mark.parametrize("name", STRIDES)


def laid_out(name: str, values: np.ndarray) -> np.ndarray:
    """The same values with other strides, in memory that is full of something else."""
    steps = [NUMBERS.get(each, each) for each in STRIDES[name]]
    reach = 1 + sum((extent - 1) * step for extent, step in zip(values.shape, steps, strict=True))
    memory = np.full(reach, 99, values.dtype)
    size = values.itemsize
    found = np.lib.stride_tricks.as_strided(memory, values.shape, [step * size for step in steps])
    found[...] = values
    return found


def lowered(function: Any, target: str) -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline(target=target).run(module, engine)
    engine.raise_if_errors()
    return module


def run(module: Any, arrays: Sequence[np.ndarray]) -> None:
    names = "ABC"
    given = [Buffer(name, each) for name, each in zip(names, arrays, strict=False)]
    compile_simt(module).launch(given)


def copied(strides: tuple[Any, Any], *, is_source: bool) -> Any:
    here = T.StridedTensor((ROWS, COLUMNS), strides, "float16")
    there = T.Tensor((ROWS, COLUMNS), "float16")

    @T.prim_func
    def main(A: here if is_source else there, B: there if is_source else here):
        with T.Kernel(2, threads=128) as bx:
            values = T.alloc_fragment((ROWS, 64), "float16")
            T.copy(A[0, bx * 64], values)
            T.copy(values, B[0, bx * 64])

    return main


def product(strides: tuple[Any, Any]) -> Any:
    @T.prim_func
    def main(
        A: T.StridedTensor((ROWS, COLUMNS), strides, "float16"),
        B: T.Tensor((COLUMNS, 64), "float16"),
        C: T.Tensor((ROWS, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((ROWS, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            sums = T.alloc_fragment((ROWS, 64), "float32")
            T.clear(sums)
            for k in T.Pipelined(COLUMNS // 32, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, sums)
            T.copy(sums, C)

    return main


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(-4, 5, shape).astype(np.float16)


@each_stride
@pytest.mark.parametrize("is_source", [True, False], ids=["read", "written"])
def test_copies(name: str, is_source: bool) -> None:
    function, values = copied(STRIDES[name], is_source=is_source), numbers(ROWS, COLUMNS)
    module = lowered(function, "cuda:sm_90a")
    strided = laid_out(name, values if is_source else np.zeros_like(values))
    source, target = (strided, np.zeros_like(values)) if is_source else (values, strided)
    run(module, [source, target])
    np.testing.assert_array_equal(target, values)
    target[...] = 0
    tw.compile(function, target="numpy")(source, target)
    np.testing.assert_array_equal(target, values)


@each_stride
@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_products_in_pipelined_loops(name: str, target: str) -> None:
    a, b = numbers(ROWS, COLUMNS), numbers(COLUMNS, 64)
    out = np.full((ROWS, 64), np.nan, np.float32)
    run(lowered(product(STRIDES[name]), target), [laid_out(name, a), b, out])
    np.testing.assert_array_equal(out, a.astype(np.float32) @ b.astype(np.float32))


def test_the_addresses_in_cuda() -> None:
    def text(name: str) -> str:
        (kernel,) = kernels_of(lowered(copied(STRIDES[name], is_source=True), "cuda:sm_90a"))
        return emit_kernel(kernel).text

    assert "uint4*>(A + " in text("padded")
    assert f"* {COLUMNS + 8}" in text("padded")
    assert "uint4*>(A + " not in text("every other column")
    assert "* A_stride + " in text("rows of the run")
