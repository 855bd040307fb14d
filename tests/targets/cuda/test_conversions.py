"""Conversions and arithmetic of small types, where C++ or ptxas would do something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.cuda.host_run import run_on_host
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer

SIZE = 256


def lowered(function: Any) -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80", wgmma=False).run(module, engine)
    engine.raise_if_errors()
    return module


def between(source: str, through: str, target: str) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), source), B: T.Tensor((SIZE,), target)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = T.cast(T.cast(A[i], through), target)

    return kernel


@pytest.mark.parametrize("pair", [("bfloat16", "float16"), ("float16", "bfloat16")])
@pytest.mark.parametrize("target", ["int32", "int8"])
def test_bf16_and_fp16_convert_through_float(pair: tuple[str, str], target: str) -> None:
    """ptxas 13.0 drops `cvt.rn.f16.bf16` before a conversion to an integer."""
    (kernel,) = kernels_of(lowered(between(*pair, target)))
    text = emit_kernel(kernel).text
    name = {"float16": "__half", "bfloat16": "__nv_bfloat16"}[pair[1]]
    assert f"{name}(float(" in text, text
    assert text.count(f"{name}(") == text.count(f"{name}(float("), text


def test_absolute_value_of_the_least_int8_wraps(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """C++ computes `abs` of a `signed char` as an `int`, which holds 128."""

    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), "int8"), B: T.Tensor((SIZE,), "int8")):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = T.abs(A[i]) >> 6

    a = np.arange(-128, 128).astype(np.int8)
    b = np.full_like(a, 99)
    run_on_host(lowered(kernel), [Buffer("A", a), Buffer("B", b)], tmp_path, monkeypatch)
    np.testing.assert_array_equal(b, np.abs(a) >> 6)
