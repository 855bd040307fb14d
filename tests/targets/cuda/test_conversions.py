"""Conversions and arithmetic of small types, where C++ or ptxas would do something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.targets.cuda.host_run import run_on_host
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

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


def narrowing(source: str, target: str) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((SIZE,), source), B: T.Tensor((SIZE,), target)):
        with T.Kernel(1, threads=128):
            for i in T.Parallel(SIZE):
                B[i] = T.cast(A[i], target)

    return kernel


def spread(source: str, target: str) -> tuple[Any, Any]:
    """Floats that 32 bits hold and fewer do not, and the low bits of their integers."""
    top = {"float8_e4m3": 448, "float16": 65504}.get(source, 2**31 - 2**24)
    values = np.linspace(0 if target.startswith("u") else -top, top, SIZE)
    a = values.astype(T.dtype(source).as_numpy())
    return a, np.trunc(a.astype(np.float64)).astype(np.int64).astype(target)


@pytest.mark.parametrize("source", ["float8_e4m3", "float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("target", ["int8", "int16", "uint8", "uint16"])
def test_floats_out_of_range_keep_the_low_bits_of_32(source: str, target: str) -> None:
    """Casts of CUDA's small floats to int8 saturate, where those of `float` do not."""
    kernel = narrowing(source, target)
    a, expected = spread(source, target)
    b = np.zeros(SIZE, target)
    tw.compile(kernel, target="numpy")(a, b)
    np.testing.assert_array_equal(b, expected)
    module = lowered(kernel)
    threads = np.ones(SIZE, target)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", threads)])
    np.testing.assert_array_equal(threads, expected)
    (function,) = kernels_of(module)
    text = emit_kernel(function).text
    assert ("float(" in text) == (T.dtype(source).bits < 32), text


@pytest.mark.parametrize(("source", "target"), [("float16", "int8"), ("float32", "int16")])
def test_text_of_floats_out_of_range_keeps_the_low_bits(
    source: str, target: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, expected = spread(source, target)
    b = np.zeros(SIZE, target)
    module = lowered(narrowing(source, target))
    run_on_host(module, [Buffer("A", a), Buffer("B", b)], tmp_path, monkeypatch)
    np.testing.assert_array_equal(b, expected)


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
