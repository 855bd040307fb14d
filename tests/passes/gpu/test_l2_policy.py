"""Hints about the L2 cache reach the instructions, and change no results."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.artefact import Program
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.header import definitions
from tilewright.targets.cuda.header.hints import ACCESSES, POLICIES
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt


def product(ratios: dict[str, float], size: int = 128, eviction: str | None = None) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float16"),
        B: T.Tensor((size, size), "float16"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(T.ceildiv(size, 64), T.ceildiv(size, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.annotate_l2_hit_ratio({{"A": A, "B": B, "C": C}[k]: v for k, v in ratios.items()})
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, 32), num_stages=2):
                T.copy(A[by * 64, k * 32], a, eviction_policy=eviction)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return main


def scaled(hinted: bool) -> Any:
    """Elements of a column are no neighbours, so each of them is an access of its own."""

    @T.prim_func
    def main(A: T.Tensor((96, 3), "float16"), B: T.Tensor((96, 3), "float16")):
        with T.Kernel(1, threads=96):
            if hinted:
                T.annotate_l2_hit_ratio({A: 0.5, B: 0.5})
            for i in T.Parallel(96):
                B[i, 2] = A[i, 1] * 2

    return main


def ptx(program: Program, arch: str) -> str:
    (kernel,) = program.kernels.values()
    return compile_source(kernel.source, arch).ptx


def policies(text: str) -> list[str]:
    return re.findall(r"createpolicy\.(\S+)", text)


def test_the_copy_engine_gets_the_policy_of_a_tensor():
    text = ptx(compile_module(product({"B": 0.75}).module, "sm_90a"), "sm_90a")
    assert policies(text) == ["fractional.L2::evict_last.L2::evict_first.b64"]
    loads = re.findall(r"cp\.async\.bulk\.tensor\.2d\.shared\S+", text)
    assert {each.endswith(".L2::cache_hint") for each in loads} == {True, False}
    assert "st.global.L2::cache_hint" not in text


@pytest.mark.parametrize("size", [128, 100])
def test_threads_get_it_where_they_copy(size):
    program = compile_module(product({"A": 0.5, "C": 1.0}, size).module, "sm_80")
    text = ptx(program, "sm_80")
    assert policies(text) == ["fractional.L2::evict_last.L2::evict_first.b64"] * 2
    copies = re.findall(r"cp\.async\.c[ag]\.shared\.global\S*", text)
    assert {each.endswith(".L2::cache_hint") for each in copies} == {True, False}
    assert re.search(r"st\.global\.L2::cache_hint\.(v\d\.)?b32", text)
    assert program.source.count("tw::l2_evict_last(0.5f)") == 1
    assert program.source.count("tw::l2_evict_last(1.0f)") == 1


def test_single_elements_get_it():
    text = ptx(compile_module(scaled(True).module, "sm_90a"), "sm_90a")
    assert "ld.global.L2::cache_hint.b16" in text
    assert "st.global.L2::cache_hint.b16" in text


def test_the_author_may_say_it_of_one_copy():
    text = ptx(compile_module(product({"A": 1.0}, 128, "evict_first").module, "sm_90a"), "sm_90a")
    assert policies(text) == ["fractional.L2::evict_first.b64"]


def test_kernels_without_hints_have_none():
    source = compile_module(product({}).module, "sm_90a").source
    assert not re.search(r"l2_evict|cache_hint|_hinted", source)


def ran(func: Any, arch: str) -> list[np.ndarray]:
    """What the thread level makes of numbers, and the tile level for comparison."""
    engine = DiagnosticEngine()
    module = func.module.clone()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    rng = np.random.default_rng(3)
    arrays = [
        rng.integers(-2, 3, tuple(param.shape)).astype(param.dtype.as_numpy())
        for param in func.params
    ]
    wanted = [each.copy() for each in arrays]
    wanted[-1][...] = arrays[-1][...] = 7
    tw.compile(func, target="numpy")(*wanted)
    buffers = [Buffer(param.name, each) for param, each in zip(func.params, arrays, strict=True)]
    compile_simt(module).launch(buffers, SimtOptions())
    return [arrays[-1], wanted[-1]]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "func", [product({"A": 0.5, "B": 1.0, "C": 0.25}, 100), scaled(True)], ids=["product", "scaled"]
)
def test_results_are_the_same(func, arch):
    found, wanted = ran(func, arch)
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_all_functions_are_cuda(arch):
    """Also those that few kernels come to; what tiles need is there from Hopper on."""
    calls = [
        *(f"tw::load_hinted<{bytes}>(to, from, p);" for bytes in (1, 2, 4, 8, 16)),
        *(f"tw::store_hinted<{bytes}>(from, to, p);" for bytes in (1, 2, 4, 8, 16)),
        "tw::store_hinted<double>((double*)from, tw::load_hinted((const double*)from, p), p);",
        *(
            f"tw::cp_async_hinted<{bytes}>(tw::shared_address(smem), from, 3, q);"
            for bytes in (4, 8, 16)
        ),
    ]
    if arch == "sm_90a":
        calls += [
            "tw::bulk_load_hinted(smem, from, 64, bar, p);",
            "tw::bulk_store_hinted(from, smem, 64, p);",
        ]
        for rank in range(1, 6):
            at = ", ".join("0" * rank)
            calls += [
                f"tw::tma_load_hinted(smem, &map, bar, p, {at});",
                f"tw::tma_load_multicast_hinted(smem, &map, bar, 3, p, {at});",
                f"tw::tma_store_hinted(&map, smem, q, {at});",
                *(
                    f"tw::tma_reduce_{kind}_hinted(&map, smem, q, {at});"
                    for kind in ("add", "min", "max", "and", "or", "xor")
                ),
            ]
    used = [name for name in (*POLICIES, *ACCESSES) if any(f"::{name}" in each for each in calls)]
    source = definitions([*POLICIES, *used, "tensor_map", "Barrier"], {}) + "\n".join(
        [
            'extern "C" __global__ void k(void* from, const __grid_constant__ tw::TensorMap map) {',
            "  __shared__ alignas(128) char smem[64]; __shared__ tw::Barrier bar[1];",
            "  alignas(16) char to[16]; long long p = tw::l2_evict_last(0.5f);",
            "  long long q = tw::l2_evict_first(1.0f);",
            *calls,
            "}",
        ]
    )
    text = compile_source(source, arch).ptx
    assert len(re.findall(r"L2::cache_hint", text)) == len(calls) + 1
