"""Random pipelined kernels whose tiles go to LDS directly on gfx950, against NumPy.

Element types, tiles, threads, stages and sizes vary; trip counts are compile-time constants, or
values that differ from block to block, also 0; loops are inside of others; tiles are operands of
GEMMs, or read by threads element by element. Values are small whole numbers: results are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tests.passes.amd.test_direct_copies import CHIP, TYPES, ops
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.dialects.amd.moves import LoadLdsOp
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt


def whole(rng: Any, shape: tuple[int, ...], dtype: str) -> Any:
    return rng.integers(-2, 3, shape).astype(TYPES[dtype])


def repeated_product(rng: Any) -> tuple[Any, list[Any], Any]:
    """A GEMM for each of several layers, in a loop around the pipelined one."""
    dtype = str(rng.choice([*TYPES]))
    size = np.dtype(TYPES[dtype]).itemsize
    threads = int(rng.choice([64, 128, 256]))
    depth = int(rng.choice([64, 128])) // size * 2
    block = int(rng.choice([64, 128])) if depth * size * 64 >= threads * 16 else 128
    layers, rows, columns = int(rng.integers(1, 3)), *(int(x) for x in rng.integers(1, 150, 2))
    k = int(rng.integers(1, 6 * depth * size // 16)) * 16 // size
    stages, first = int(rng.integers(2, 5)), int(rng.integers(0, 3))
    out = "int32" if dtype == "int8" else "float32"
    steps = -(-k // depth)

    @T.prim_func
    def gemm(
        A: T.Tensor((layers, rows, k), dtype),
        B: T.Tensor((layers, columns, k), dtype),
        C: T.Tensor((rows, columns), out),
    ):
        with T.Kernel(T.ceildiv(columns, block), T.ceildiv(rows, block), threads=threads) as (x, y):
            As = T.alloc_shared((block, depth), dtype)
            Bs = T.alloc_shared((block, depth), dtype)
            Cl = T.alloc_fragment((block, block), out)
            T.clear(Cl)
            for layer in T.serial(layers):
                for i in T.Pipelined(first, steps, num_stages=stages):
                    T.copy(A[layer, y * block, i * depth], As)
                    T.copy(B[layer, x * block, i * depth], Bs)
                    T.gemm(As, Bs, Cl, transpose_B=True)
            T.copy(Cl, C[y * block, x * block])

    a, b = whole(rng, (layers, rows, k), dtype), whole(rng, (layers, columns, k), dtype)
    used = [each[..., first * depth :].astype(np.int64) for each in (a, b)]
    return gemm, [a, b], np.einsum("lmk,lnk->mn", *used)


def product_up_to(rng: Any) -> tuple[Any, list[Any], Any]:
    """Each block multiplies another part of K, as a tensor says."""
    stages, blocks = int(rng.integers(2, 5)), 5
    depth = int(rng.choice([32, 64, 128]))
    ends = rng.integers(0, 7, blocks).astype(np.int32)
    starts = np.minimum(ends, rng.integers(0, 3, blocks)).astype(np.int32)

    @T.prim_func
    def gemm(
        A: T.Tensor((64, 6 * depth), "float16"),
        B: T.Tensor((64, 6 * depth), "float16"),
        starts: T.Tensor((blocks,), "int32"),
        ends: T.Tensor((blocks,), "int32"),
        C: T.Tensor((blocks, 64, 64), "float32"),
    ):
        with T.Kernel(blocks, threads=128) as x:
            As = T.alloc_shared((64, depth), "float16")
            Bs = T.alloc_shared((64, depth), "float16")
            Cl = T.alloc_fragment((64, 64), "float32")
            T.clear(Cl)
            for i in T.Pipelined(ends[x] - starts[x], num_stages=stages):
                T.copy(A[0, (starts[x] + i) * depth], As)
                T.copy(B[0, (starts[x] + i) * depth], Bs)
                T.gemm(As, Bs, Cl, transpose_B=True)
            T.copy(Cl, C[x, 0, 0])

    a, b = (whole(rng, (64, 6 * depth), "float16") for _ in range(2))
    parts = [slice(start * depth, end * depth) for start, end in zip(starts, ends, strict=True)]
    expected = [a[:, each].astype(np.int64) @ b[:, each].astype(np.int64).T for each in parts]
    return gemm, [a, b, starts, ends], np.stack(expected)


def sums(rng: Any) -> tuple[Any, list[Any], Any]:
    """Threads add up tiles; past the ends of the tensor they see zeros."""
    dtype = str(rng.choice(["float16", "float32"]))
    size = np.dtype(TYPES[dtype]).itemsize
    rows, columns = int(rng.integers(1, 200)), int(rng.integers(1, 60)) * 16 // size
    threads, stages = int(rng.choice([64, 128])), int(rng.integers(2, 5))
    width = 128 // size

    @T.prim_func
    def add(A: T.Tensor((rows, columns), dtype), S: T.Tensor((rows, width), "float32")):
        with T.Kernel(T.ceildiv(rows, 64), threads=threads) as x:
            tile = T.alloc_shared((64, width), dtype)
            total = T.alloc_fragment((64, width), "float32")
            T.clear(total)
            for i in T.Pipelined(T.ceildiv(columns, width), num_stages=stages):
                T.copy(A[x * 64, i * width], tile)
                for r, c in T.Parallel(64, width):
                    total[r, c] += T.cast(tile[r, width - 1 - c], "float32")
            T.copy(total, S[x * 64, 0])

    a = whole(rng, (rows, columns), dtype)
    padded = np.zeros((rows, -(-columns // width) * width))
    padded[:, :columns] = a
    return add, [a], padded.reshape(rows, -1, width).sum(1)[:, ::-1]


KINDS: tuple[Callable[[Any], tuple[Any, list[Any], Any]], ...] = (
    repeated_product,
    product_up_to,
    sums,
)
SEEDS = 300


def check(seed: int) -> bool:
    """Compare; whether there were direct copies."""
    rng = np.random.default_rng(seed)
    function, inputs, expected = KINDS[seed % len(KINDS)](rng)
    module = lowered(function.module, amd_pipeline(CHIP))
    kind = np.int32 if inputs[0].dtype == np.int8 else np.float32
    arrays = [*inputs, np.full(expected.shape, 99, kind)]
    buffers = [Buffer(f"t{index}", array) for index, array in enumerate(arrays)]
    unit = 64 if seed % 2 else None
    compile_simt(module).launch(buffers, SimtOptions(seed=seed, unit=unit))
    np.testing.assert_array_equal(arrays[-1], expected)
    return bool(ops(module, LoadLdsOp))


def test_sample() -> None:
    assert check(1)


@pytest.mark.slow
def test_many() -> None:
    direct = sum(check(seed) for seed in range(SEEDS))
    assert direct > SEEDS // 2
