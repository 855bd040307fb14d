"""Conversions to fewer bits inside expressions: values are rounded where the kernel converts them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.passes.tenstorrent.execution import executed
from tilewright import T
from tilewright.dialects.tensix.blocks import ElementwiseOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.passes.tenstorrent.fuse_elementwise import FuseElementwise
from tilewright.passes.tenstorrent.pipeline import TenstorrentPipeline

A = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
TYPES = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16}


def rounded(dtype: str) -> Any:
    return A.astype(TYPES[dtype]).astype(np.float32)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_error_of_a_cast_inside_an_expression(dtype: str) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((64, 32), T.float32), Y: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            x = T.alloc_fragment((32, 32), T.float32)
            T.copy(X[by * 32, 0], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = (x[i, j] - T.cast(T.cast(x[i, j], dtype), T.float32)) * 4096
            T.copy(x, Y[by * 32, 0])

    (found,) = executed(kernel.module, [A, None], cores="2x1").outputs
    np.testing.assert_array_equal(found, (A - rounded(dtype)) * 4096)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_error_of_a_copy_to_a_narrower_buffer(dtype: str) -> None:
    @T.prim_func
    def kernel(X: T.Tensor((64, 32), T.float32), Y: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            x = T.alloc_fragment((32, 32), T.float32)
            y = T.alloc_fragment((32, 32), dtype)
            T.copy(X[by * 32, 0], x)
            for i, j in T.Parallel(32, 32):
                y[i, j] = x[i, j] * 3
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] * 3 - y[i, j]
            T.copy(x, Y[by * 32, 0])

    (found,) = executed(kernel.module, [A, None], cores="2x1").outputs
    exact = A * np.float32(3)
    np.testing.assert_array_equal(found, exact - exact.astype(TYPES[dtype]).astype(np.float32))


def test_exponents_of_two_widths_are_refused() -> None:
    """The vendor's host refuses circular buffers of float16 beside bfloat16."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 32), T.bfloat16), Y: T.Tensor((64, 32), T.float16)):
        with T.Kernel(2) as by:
            x = T.alloc_fragment((32, 32), T.bfloat16)
            y = T.alloc_fragment((32, 32), T.float16)
            T.copy(X[by * 32, 0], x)
            T.copy(x, y)
            T.copy(y, Y[by * 32, 0])

    with pytest.raises(CompileError, match=r"TW7021.*'y' has float16 tiles and 'x' bfloat16"):
        executed(kernel.module, [A.astype(ml_dtypes.bfloat16), None], cores="2x1")


def test_packing_rounds_what_only_maxima_follow() -> None:
    """``max(bf16(x), 0)``, stored as bf16, needs no conversion before the last one."""

    @T.prim_func
    def kernel(X: T.Tensor((64, 32), T.float32), Y: T.Tensor((64, 32), T.bfloat16)):
        with T.Kernel(2) as by:
            x = T.alloc_fragment((32, 32), T.float32)
            y = T.alloc_fragment((32, 32), T.bfloat16)
            T.copy(X[by * 32, 0], x)
            T.copy(x, y)
            for i, j in T.Parallel(32, 32):
                y[i, j] = T.max(y[i, j], 0)
            T.copy(y, Y[by * 32, 0])

    (found,) = executed(kernel.module, [A, None], cores="2x1").outputs
    np.testing.assert_array_equal(found, np.maximum(A.astype(ml_dtypes.bfloat16), 0))
    (one,) = _elementwise(kernel.module)
    assert len(one.outputs) == 1


def _elementwise(module: Any) -> list[ElementwiseOp]:
    """The element-wise ops after they were merged and split."""
    found = module.clone()
    passes = TenstorrentPipeline("tenstorrent:sim", cores="2x1").passes()
    last = next(n for n, each in enumerate(passes) if isinstance(each, FuseElementwise))
    for each in passes[: last + 1]:
        each.run(found, DiagnosticEngine())
    return [op for op in found.walk() if isinstance(op, ElementwiseOp)]
