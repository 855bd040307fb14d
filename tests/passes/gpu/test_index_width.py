"""Tensors of more than 2^31 elements: offsets are computed in 64 bits from the first product on."""

from __future__ import annotations

import re
from math import prod
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.cuda.arrays import DeviceArray
from tilewright.runtime.tile.gpu import CudaKernel
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

ROWS, COLUMNS = 1 << 15, 1 << 12
BLOCKS_PAST_32_BITS = 17  # of ROWS x COLUMNS elements each


@tw.jit(target="cuda:sm_90a")
def fixed(X, block=64):
    B = T.const("B")
    X: T.Tensor((B, ROWS, COLUMNS), "int8")
    Y = T.empty((B, ROWS, COLUMNS), "int8")
    with T.Kernel(COLUMNS // block, ROWS, B, threads=64) as (bx, by, bz):
        for i in T.Parallel(block):
            Y[bz, by, bx * block + i] = X[bz, by, bx * block + i] + 1
    return Y


@tw.jit(target="cuda:sm_90a")
def symbolic(X, block=64):
    B = T.dynamic("B")
    X: T.Tensor((B, ROWS, COLUMNS), "int8")
    with T.Kernel(B, threads=64) as bz:
        for i in T.Parallel(block):
            X[bz, ROWS - 1, COLUMNS - block + i] = bz + 1


@tw.jit(target="cuda:sm_90a", pass_configs={"tl.config_index_bitwidth": 64})
def told(X):
    n = T.dynamic("n")
    X: T.Tensor((n, 64), "float32")
    with T.Kernel(n, threads=64) as bx:
        for i in T.Parallel(64):
            X[bx, i] = 1


@tw.jit(target="cuda:sm_90a")
def outer(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "int8")
    Y = T.empty((n, n), "int8")
    with T.Kernel(n, threads=64) as bx:
        for i in T.Parallel(64):
            Y[bx, i] = X[i]
    return Y


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """A kernel that was compiled again for a large tensor stays so."""
    for function in (fixed, symbolic, told, outer):
        function.cache.clear()


def body(kernel: CompiledTileKernel) -> str:
    source = kernel.get_kernel_source()
    return source[source.index('extern "C"') :]


def has_narrow_products(text: str) -> bool:
    """Whether an index of 32 bits is named or multiplied."""
    return bool(re.search(r"const int \w+ =|\* \d+(?!\d|LL)", text))


def test_known_extents() -> None:
    small = fixed.compile(B=BLOCKS_PAST_32_BITS - 2)
    assert "long long" not in body(small)
    large = fixed.compile(B=BLOCKS_PAST_32_BITS)
    assert large.gpu is not None
    assert large.gpu.program.index_bits == 64  # NVRTC took the source
    assert f"(long long)(blockIdx.z) * {ROWS * COLUMNS}LL" in body(large)
    assert not has_narrow_products(body(large))


def test_an_extent_that_only_the_run_knows() -> None:
    kernel = symbolic.compile(np.zeros((1, ROWS, COLUMNS), np.int8))
    assert has_narrow_products(body(kernel))
    assert kernel.gpu is not None
    kernel.gpu.widen()
    assert kernel.gpu.program.index_bits == 64
    parameters = kernel.gpu.program.kernels["symbolic_kernel"].metadata.parameters
    assert "i32" not in parameters
    assert re.search(rf"bz \* {ROWS * COLUMNS}LL", body(kernel))
    assert not has_narrow_products(body(kernel))


def test_the_author_decides() -> None:
    kernel = told.compile(np.zeros((1, 64), np.float32))
    assert not has_narrow_products(body(kernel))


def array(*shape: int, outermost: int | None = None) -> DeviceArray:
    """Stands for an array that no machine of this test has the memory for."""
    made = object.__new__(DeviceArray)
    steps = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
    strides = (steps[0] if outermost is None else outermost, *steps[1:])
    facts = {"shape": shape, "strides": strides, "element": "i8", "element_bytes": 1, "device": 0}
    for name, value in {**facts, "address": 0}.items():
        object.__setattr__(made, name, value)
    return made


@pytest.mark.parametrize(
    ("function", "given", "sizes", "bits"),
    [
        (symbolic, (BLOCKS_PAST_32_BITS - 2, ROWS, COLUMNS), {}, 32),
        (symbolic, (BLOCKS_PAST_32_BITS, ROWS, COLUMNS), {}, 64),
        (outer, (46_340,), {"n": 46_340}, 32),  # the result has 46,340 squared
        (outer, (46_341,), {"n": 46_341}, 64),
    ],
)
def test_a_call_looks_at_all_its_tensors(function, given, sizes, bits, monkeypatch) -> None:
    assert bits_of_a_call(function, array(*given), sizes, monkeypatch) == bits


@pytest.mark.parametrize(("outermost", "bits"), [(2**30, 32), (2**31, 64)])
def test_a_call_looks_at_what_lies_between_rows(outermost, bits, monkeypatch) -> None:
    given = array(2, ROWS, COLUMNS, outermost=outermost)
    assert bits_of_a_call(symbolic, given, {}, monkeypatch) == bits


def bits_of_a_call(function, given: DeviceArray, sizes, monkeypatch) -> int:
    kernel = function.compile(np.zeros((1, *given.shape[1:]), np.int8))
    gpu = CudaKernel(kernel, kernel.gpu._settings)
    monkeypatch.setattr(
        "tilewright.runtime.tile.gpu.check_arguments", lambda *_, **__: SimpleNamespace(sizes=sizes)
    )
    monkeypatch.setattr(CudaKernel, "_with_outputs", lambda *_: ([], []))
    monkeypatch.setattr(CudaKernel, "device", SimpleNamespace(planned=lambda _: None))
    gpu._new_call([None], [given])
    return gpu.program.index_bits


def test_an_exported_function_refuses_what_it_cannot_address(tmp_path: Path) -> None:
    kernel = symbolic.compile(np.zeros((1, ROWS, COLUMNS), np.int8))
    refused = (
        "if (X_shape[0] * X_shape[1] * X_shape[2] > INT32_MAX) return CUDA_ERROR_INVALID_VALUE"
    )
    assert refused in kernel.export(tmp_path / "narrow").read_text()
    wide = told.compile(np.zeros((1, 64), np.float32))
    assert "INT32_MAX" not in wide.export(tmp_path / "wide").read_text()


@pytest.mark.slow  # the executor keeps a copy of what it is given, 2 GiB
def test_elements_behind_the_last_that_32_bits_tell_apart() -> None:
    kernel = symbolic.compile(np.zeros((1, ROWS, COLUMNS), np.int8))
    module, engine = kernel.prim_func.module.clone(), DiagnosticEngine()
    GpuPipeline(index_bits=64).run(module, engine)
    engine.raise_if_errors()
    count = BLOCKS_PAST_32_BITS
    tensor = np.zeros((count, ROWS, COLUMNS), np.int8)  # pages that nobody touches cost nothing
    compile_simt(module).launch([Buffer("X", tensor)], SimtOptions(checked=False))
    assert tensor.size > 2**31
    written = tensor[:, -1, -65:]
    np.testing.assert_array_equal(
        written[:, 1:], np.repeat((np.arange(count) + 1).astype(np.int8)[:, None], 64, axis=1)
    )
    assert not written[:, 0].any()
