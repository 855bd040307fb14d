"""`T` kernels for Blackwell give the same values as whole tiles and thread by thread."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.examples.tile_examples import load
from tests.targets.numpy.simt.blackwell_kernels import (
    chained_gemms,
    few_rows,
    released_early,
    scaled_gemm,
    several_matrices,
    specialised_gemm,
    stored_in_branches,
)
from tests.targets.numpy.simt.simt_support import example_results, lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.simt import Buffer, compile_simt

BF16, FP8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn


def small(rng: np.random.Generator, *shape: int, dtype: Any = BF16) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype(dtype)


def both(kernel: Any, arguments: list[np.ndarray]) -> None:
    """Run the tile level, then the thread level; the last argument is the result."""
    *inputs, expected = arguments
    result = np.zeros_like(expected)
    compiled = tw.compile(kernel)
    compiled(*inputs, result)
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))
    module = lowered(compiled.prim_func.module.clone(), GpuPipeline(target="cuda:sm_100a"))
    result = np.zeros_like(expected)
    names = [each.name for each in compiled.params]
    buffers = [Buffer(*each) for each in zip(names, [*inputs, result], strict=True)]
    compile_simt(module).launch(buffers)
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("pair", [False, True])
def test_warp_specialised_gemms(pair: bool) -> None:
    rng = np.random.default_rng(1)
    a, b = small(rng, 256, 192), small(rng, 192, 128)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    both(specialised_gemm(256, 128, 192, pair=pair), [a, b, expected])


def test_wide_results_leave_in_parts() -> None:
    rng = np.random.default_rng(2)
    a, b = small(rng, 128, 64), small(rng, 64, 256)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    both(specialised_gemm(128, 256, 64, block_N=256), [a, b, expected])


@pytest.mark.parametrize("out", [BF16, np.float32])
def test_results_that_are_held_while_the_next_gemm_runs(out: Any) -> None:
    """As bf16 a row of 256 columns is converted when it is read, and stored in four parts."""
    rng = np.random.default_rng(11)
    a, b = small(rng, 3, 128, 64), small(rng, 64, 256)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(out)
    kernel = released_early(3, out="bfloat16" if out is BF16 else "float32")
    both(kernel, [a, b, expected])
    if out is BF16:
        program = compile_module(tw.compile(kernel).prim_func.module, "sm_100a")
        (compiled,) = program.kernels.values()
        assert compiled.metadata.spill_bytes == 0


def test_several_matrices_of_tensor_memory() -> None:
    a = np.random.default_rng(19).standard_normal((3, 128, 32)).astype(np.float32)
    both(several_matrices(3, 32, 16), [a, a])


@pytest.mark.parametrize("accum", ["float16", "float32"])
@pytest.mark.parametrize(("columns", "threads"), [(64, 128), (256, 256), (80, 128)])
def test_results_of_few_rows(columns: int, threads: int, accum: str) -> None:
    """A thread gets 4 columns of 16 bits in turn: `tcgen05.ld` packs pairs, then distributes."""
    rng = np.random.default_rng(columns)
    a, b = small(rng, 64, 64, dtype=np.float16), small(rng, 64, columns, dtype=np.float16)
    i, j = np.indices((64, columns))
    expected = a.astype(np.float32) @ b.astype(np.float32) + i % 8 * 2 + j % 16
    both(few_rows(columns, threads, accum), [a, b, expected.astype(accum)])


@pytest.mark.parametrize("out", [BF16, np.float32])
def test_branches_read_the_columns_that_they_store(out: Any) -> None:
    """Rows of 256 columns do not fit the registers that a thread has across a branch."""
    rng = np.random.default_rng(17)
    a, b = small(rng, 200, 64), small(rng, 64, 256)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(out)
    kernel = stored_in_branches(200, out="bfloat16" if out is BF16 else "float32")
    both(kernel, [a, b, expected])
    program = compile_module(tw.compile(kernel).prim_func.module, "sm_100a")
    assert program.spill_bytes == 0
    assert program.registers < 200


def test_a_product_is_the_operand_of_the_next() -> None:
    rng = np.random.default_rng(3)
    a, b, d = small(rng, 128, 64), small(rng, 64, 64), small(rng, 64, 32)
    first = (a.astype(np.float32) @ b.astype(np.float32).T).astype(BF16)
    expected = first.astype(np.float32) @ d.astype(np.float32)
    both(chained_gemms(128, 64, 64, 32), [a, b, d, expected])


def test_block_scales() -> None:
    rng = np.random.default_rng(4)
    m, n, k = 128, 128, 640
    a, b = small(rng, m, k, dtype=FP8), small(rng, n, k, dtype=FP8)
    groups = -(-k // 512)
    exponents = [rng.integers(125, 130, (rows, groups * 4)) for rows in (m, n)]
    words = [_packed(each) for each in exponents]
    factors = [np.repeat(2.0 ** (each - 127.0), 128, axis=1)[:, :k] for each in exponents]
    expected = ((a.astype(np.float64) * factors[0]) @ (b.astype(np.float64) * factors[1]).T).astype(
        np.float32
    )
    both(scaled_gemm(m, n, k), [a, b, *words, expected])


@pytest.mark.parametrize("fours", ["A", "B", "AB"])
def test_elements_of_4_bits_are_expanded(fours: str) -> None:
    """TMA distributes 8 bytes over 16, and the tensor cores read them there."""
    rng = np.random.default_rng(5)
    m, n, k = 128, 128, 256
    operands: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for side, rows in zip("AB", (m, n), strict=True):
        if side in fours:
            bytes_ = rng.integers(0, 256, (rows, k // 2), dtype=np.uint8)
            codes = np.stack([bytes_ & 15, bytes_ >> 4], -1).reshape(rows, k)
            operands.append(bytes_)
            values.append(codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64))
        else:
            operands.append(small(rng, rows, k, dtype=FP8))
            values.append(operands[-1].astype(np.float64))
    exponents = [rng.integers(125, 130, (rows, 4)) for rows in (m, n)]
    words = [_packed(each) for each in exponents]
    factors = [np.repeat(2.0 ** (each - 127.0), 128, axis=1)[:, :k] for each in exponents]
    expected = ((values[0] * factors[0]) @ (values[1] * factors[1]).T).astype(np.float32)
    kernel = scaled_gemm(m, n, k, fours=fours)
    both(kernel, [*operands, *words, expected])
    program = compile_module(tw.compile(kernel).prim_func.module, "sm_100a")
    assert program.spill_bytes == 0
    (compiled,) = program.kernels.values()
    maps = [each.fp4_padded for each in compiled.metadata.tensor_maps]
    assert sum(maps) == len(fours)


def test_only_tensor_cores_see_expanded_elements() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 128), "float4_e2m1fn"), B: T.Tensor((128, 128), "uint8")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((128, 128), "float4_e2m1_unpacked")
            done = T.alloc_barrier(128)
            T.tma_copy(A, tile, barrier=done)
            T.mbarrier_arrive(done)
            T.mbarrier_wait_parity(done, 0)
            for i, j in T.Parallel(128, 128):
                B[i, j] = T.reinterpret(tile[i, j], "uint8")

    with pytest.raises(CompileError, match=r"TW6017.*float4_e2m1_unpacked"):
        tw.compile(main)


def _packed(exponents: np.ndarray) -> np.ndarray:
    """Four bytes along K in a word; words of one group of K after the other."""
    rows, count = exponents.shape
    parts = exponents.astype(np.uint32).reshape(rows, count // 4, 4)
    words = sum(parts[..., byte] << np.uint32(8 * byte) for byte in range(4))
    return np.ascontiguousarray(np.asarray(words, np.uint32).T).reshape(-1)


def test_the_example_is_right_as_tiles_and_thread_by_thread() -> None:
    """Sums of tiles and of instructions round in another order."""
    found, exact = load("blackwell_gemm").example(np.random.default_rng(0))
    threads = example_results(load("blackwell_gemm"), GpuPipeline(target="cuda:sm_100a"))
    for each in (found, threads[0]):
        assert np.abs(np.asarray(each, np.float64) - exact).max() <= 3e-2
