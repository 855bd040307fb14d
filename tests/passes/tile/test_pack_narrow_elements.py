"""Elements of 4 bits, against NumPy's own: on tiles, by threads, and as code that NVRTC compiles."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.runtime.memory_maps.tiles import shared_memory_maps
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.simt import Buffer, compile_simt

KINDS = ("float4_e2m1fn", "int4", "uint4")
PIPELINES = (
    GpuPipeline(target="cuda:sm_90a"),
    GpuPipeline(target="cuda:sm_80"),
    AmdPipeline(target="hip:gfx942"),
)


def elements(bytes_: np.ndarray, dtype: str) -> np.ndarray:
    """Two numbers of each byte, the lower half first."""
    halves = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(*bytes_.shape[:-1], -1)
    return halves.view(getattr(ml_dtypes, dtype))


def packed(values: np.ndarray) -> np.ndarray:
    codes = values.view(np.uint8) & 15
    return codes[..., 0::2] | codes[..., 1::2] << 4


def some(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def at_all_levels(kernel: Any, *arguments: np.ndarray) -> list[np.ndarray]:
    """The arguments after a run on tiles; threads of three GPUs must leave the same."""
    compiled = tw.compile(kernel)
    found = [each.copy() for each in arguments]
    compiled(*found)
    names = [each.name for each in compiled.params]
    for pipeline in PIPELINES:
        module = lowered(compiled.prim_func.module.clone(), pipeline)
        copies = [each.copy() for each in arguments]
        buffers = [Buffer(name, each) for name, each in zip(names, copies, strict=True)]
        compile_simt(module).launch(buffers)
        for one, other in zip(found, copies, strict=True):
            np.testing.assert_array_equal(one, other)
    return found


# -- conversions -----------------------------------------------------------------------------------


def converting(source: str, target: str, columns: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, columns), source), B: T.Tensor((4, columns), target)):
        with T.Kernel(1, threads=32):
            tile = T.alloc_shared((4, columns), source)
            T.copy(A, tile)
            T.copy(tile, B)

    return main


@pytest.mark.parametrize("target", ["float16", "bfloat16", "float32", "int32"])
@pytest.mark.parametrize("source", KINDS)
def test_elements_become_others(source: str, target: str) -> None:
    a = some(1, 4, 32)
    a[0] = np.arange(32) * 0x11 % 256  # each code once at least
    expected = elements(a, source).astype(np.float32)
    result = np.zeros((4, 64), T.dtype(target).as_numpy())
    _, found = at_all_levels(converting(source, target, 64), a, result)
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(result.dtype))


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32"])
def test_floats_are_rounded_to_the_nearest(source: str) -> None:
    """All of 16 bits, and the limits between two codes with what is next to them."""
    dtype = T.dtype(source).as_numpy()
    if source == "float32":
        limits = np.array([0, 0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6, 7, np.inf], np.float32)
        near = [limits, np.nextafter(limits, np.float32(9)), np.nextafter(limits, np.float32(-9))]
        values = np.concatenate([*near, *(-each for each in near), [1e30, -1e30]])
        values = np.pad(values, (0, -len(values) % 8)).astype(np.float32)
    else:
        values = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    values = values.reshape(4, -1)
    is_nan = np.isnan(values.astype(np.float32))
    known = np.where(is_nan, 0, values.astype(np.float32))
    expected = known.astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    expected[is_nan] = 7  # as GPUs convert it; NumPy has no rule
    compiled = tw.compile(converting(source, "float4_e2m1fn", values.shape[1]))
    result = np.zeros((4, values.shape[1] // 2), np.uint8)
    compiled(values, result)
    np.testing.assert_array_equal(elements(result, "uint4").view(np.uint8), expected)


def test_computing_rounds_after_each_operation() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 8), "float4_e2m1fn"), B: T.Tensor((8, 8), "float4_e2m1fn")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(8, 8):
                B[i, j] = T.if_then_else(A[i, j] > B[i, j], A[i, j] * B[i, j], A[i, j] - B[i, j])

    a, b = some(2, 8, 4), some(3, 8, 4)
    _, found = at_all_levels(main, a, b)
    one, other = (elements(each, "float4_e2m1fn").astype(np.float32) for each in (a, b))
    expected = np.where(one > other, one * other, one - other).astype(ml_dtypes.float4_e2m1fn)
    np.testing.assert_array_equal(
        elements(found, "float4_e2m1fn").astype(np.float32), expected.astype(np.float32)
    )


# -- copies ----------------------------------------------------------------------------------------


def tiled(dtype: str, rows: int, first: int, width: int) -> Any:
    """Columns from `first` on, through shared memory and registers, to columns from 0 on."""

    @T.prim_func
    def main(A: T.Tensor((rows, 64), dtype), B: T.Tensor((rows, 64), dtype)):
        with T.Kernel(T.ceildiv(rows, 16), threads=64) as bx:
            tile = T.alloc_shared((16, width), dtype)
            held = T.alloc_fragment((16, width), dtype)
            T.copy(A[bx * 16 : bx * 16 + 16, first : first + width], tile)
            T.copy(tile, held)
            T.copy(held, B[bx * 16 : bx * 16 + 16, 0:width])

    return main


@settings(max_examples=12, deadline=None)
@given(
    dtype=st.sampled_from(KINDS),
    rows=st.integers(1, 40),
    first=st.integers(0, 16).map(lambda each: 2 * each),
    width=st.sampled_from([2, 8, 32]),
)
def test_columns_are_copied(dtype: str, rows: int, first: int, width: int) -> None:
    a, b = some(rows, rows, 32), some(first, rows, 32)
    expected = elements(b, dtype).copy()
    expected[:, :width] = elements(a, dtype)[:, first : first + width]
    _, found = at_all_levels(tiled(dtype, rows, first, width), a, b)
    np.testing.assert_array_equal(found, packed(expected))


def test_tensors_are_copied_as_bytes_and_cleared() -> None:
    @T.prim_func
    def main(A: T.Tensor((20, 32), "int4"), B: T.Tensor((20, 32), "int4")):
        with T.Kernel(2, threads=32) as bx:
            T.fill(B[bx * 16 : bx * 16 + 16, 0:16], -3)
            T.copy(A[bx * 16 : bx * 16 + 16, 0:16], B[bx * 16 : bx * 16 + 16, 16:32])

    a = some(5, 20, 16)
    _, found = at_all_levels(main, a, np.zeros_like(a))
    np.testing.assert_array_equal(found[:, :8], 0xDD)
    np.testing.assert_array_equal(found[:, 8:], a[:, :8])


def test_a_product_of_int4() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((96, 128), "int4"),
        B: T.Tensor((64, 128), "int4"),
        C: T.Tensor((96, 64), "int32"),
    ):
        with T.Kernel(T.ceildiv(96, 64), threads=128) as by:
            A_shared = T.alloc_shared((64, 64), "int4")
            B_shared = T.alloc_shared((64, 64), "int4")
            sums = T.alloc_fragment((64, 64), "int32")
            T.clear(sums)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 64], A_shared)
                T.copy(B[0, k * 64], B_shared)
                T.gemm(A_shared, B_shared, sums, transpose_B=True)
            T.copy(sums, C[by * 64, 0])

    a, b = some(6, 96, 64), some(7, 64, 64)
    *_, found = at_all_levels(main, a, b, np.zeros((96, 64), np.int32))
    one, other = (elements(each, "int4").astype(np.int32) for each in (a, b))
    np.testing.assert_array_equal(found, one @ other.T)
    program = compile_module(tw.compile(main).prim_func.module, "sm_90a")
    assert program.spill_bytes == 0
    assert "wgmma" in program.source


# -- single elements -------------------------------------------------------------------------------


def test_iterations_store_both_halves_of_a_byte() -> None:
    """No byte is read to be changed: the result has no value before."""

    @T.prim_func
    def main(A: T.Tensor((8, 32), "uint4"), B: T.Tensor((32, 8), "uint4")):
        with T.Kernel(1, threads=32):
            for j, i in T.Parallel(32, 8):
                B[j, i] = A[i, j] + 1

    a = some(8, 8, 16)
    compiled = tw.compile(main, out_idx=-1)
    expected = packed((elements(a, "uint4").view(np.uint8) + 1).T.copy())
    np.testing.assert_array_equal(compiled(a), expected)
    at_all_levels(main, a, np.zeros((32, 4), np.uint8))


def test_one_thread_changes_halves() -> None:
    @T.prim_func
    def main(A: T.Tensor((16,), "int32"), B: T.Tensor((64,), "float4_e2m1fn")):
        with T.Kernel(1, threads=32):
            if T.get_thread_binding() == 0:
                for k in T.serial(16):
                    B[A[k]] = T.cast(-1.5, "float4_e2m1fn")
                for k in T.serial(8):
                    B[8 * k + 1] = T.cast(3.0, "float4_e2m1fn")

    places = np.random.default_rng(9).permutation(64)[:16].astype(np.int32)
    b = some(10, 32)
    _, found = at_all_levels(main, places, b)
    expected = elements(b, "float4_e2m1fn").copy()
    expected[places], expected[1::8] = -1.5, 3.0
    np.testing.assert_array_equal(found, packed(expected))


def refusal(kernel: Any) -> str:
    with pytest.raises(CompileError) as caught:
        tw.compile(kernel)(np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8))
    assert "TW6017" in str(caught.value)
    return str(caught.value)


def test_two_threads_do_not_store_halves_of_a_byte() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 16), "int4"), B: T.Tensor((8, 16), "int4")):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(8, 16):
                B[i, (j + 1) % 16] = A[i, j]

    assert "elements of 4 bits of B: its iterations store single elements" in refusal(main)


def test_copies_begin_with_whole_bytes() -> None:
    @T.prim_func
    def main(A: T.Tensor((8, 16), "int4"), B: T.Tensor((8, 16), "int4")):
        with T.Kernel(8, threads=32) as bx:
            held = T.alloc_fragment((8, 4), "int4")
            T.copy(A[0, bx], held)
            T.copy(held, B[0, 0])

    assert "elements of 4 bits of A: the first column of the copy" in refusal(main)


# -- arguments -------------------------------------------------------------------------------------


@T.prim_func
def doubled(A: T.Tensor((T.dynamic("m"), T.dynamic("n")), "int4"), B: T.Tensor((8,), "int32")):
    with T.Kernel(1, threads=32):
        m, n = A.shape
        B[0] = m
        B[1] = n
        B[2] = A[m - 1, n - 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, ml_dtypes.int4])
def test_sizes_count_elements(dtype: Any) -> None:
    a = some(11, 3, 5)
    last = int(elements(a, "int4")[-1, -1])
    given_ = elements(a, "int4") if dtype is ml_dtypes.int4 else a.view(dtype)
    result = np.zeros(8, np.int32)
    tw.compile(doubled)(given_, result)
    assert result[:3].tolist() == [3, 10, last]


def test_arrays_with_an_element_in_each_byte_are_written_back() -> None:
    a, b = elements(some(12, 20, 16), "int4"), np.zeros((20, 32), ml_dtypes.int4)

    @T.prim_func
    def main(A: T.Tensor((20, 32), "int4"), B: T.Tensor((20, 32), "int4")):
        with T.Kernel(1, threads=32):
            T.copy(A, B)

    tw.compile(main)(a, b)
    np.testing.assert_array_equal(a.astype(np.int8), b.astype(np.int8))


def test_other_arrays_are_refused() -> None:
    with pytest.raises(TypeError, match=r"pass bytes \(int8, uint8\) with two elements each"):
        tw.compile(doubled)(np.zeros((3, 5), np.int16), np.zeros(8, np.int32))


def test_strides_count_elements() -> None:
    @T.prim_func
    def main(
        A: T.StridedTensor((4, 16), (T.dynamic("s"), 1), "uint4"), B: T.Tensor((4, 16), "int32")
    ):
        with T.Kernel(1, threads=32):
            for i, j in T.Parallel(4, 16):
                B[i, j] = T.cast(A[i, j], "int32")

    whole, result = some(13, 8, 8), np.zeros((4, 16), np.int32)
    tw.compile(main)(whole[::2], result)
    np.testing.assert_array_equal(result, elements(whole[::2], "uint4").astype(np.int32))


@tw.jit
def widened(A):
    A: T.Tensor((64, 64), "int4")
    C = T.empty((64, 64), "int32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((64, 64), "int4")
        T.copy(A, S)
        for i, j in T.Parallel(64, 64):
            C[i, j] = T.cast(S[i, j], "int32")
    return C


def test_an_array_of_another_type_is_refused_for_its_type() -> None:
    with pytest.raises(TypeError, match="dtype float32, but it is declared with dtype int4"):
        widened(np.zeros((64, 64), np.float32))


def test_a_memory_map_counts_a_byte_for_an_element_in_shared_memory() -> None:
    module = widened.get_tir(np.zeros((64, 32), np.uint8)).module
    (found,) = shared_memory_maps(module)
    assert found.used == 64 * 64
