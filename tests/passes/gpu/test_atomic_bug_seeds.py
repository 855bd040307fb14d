"""Kernels of public reports about TileLang's atomics: orders, vectors, and who takes part.

As in `test_bug_seeds`, numbers are those of issues in tile-ai/tilelang, and kernels are our own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

ORDERS = [
    ("relaxed", False, False),
    ("acquire", False, True),
    ("release", True, False),
    ("acq_rel", True, True),
    ("seq_cst", True, True),
]
"""Orders, and whether what was before, or comes after, has to stay on its side of the update."""


@pytest.mark.parametrize("value", ["element", "expression"])
@pytest.mark.parametrize(("word", "start"), [("add", 0), ("max", -9), ("min", 9)])
def test_2959_each_thread_updates_a_buffer_of_one_element(word, start, value):
    """A tile is updated once by the block, but by a value of the thread's own by each of them."""
    update = getattr(T, f"atomic_{word}")

    @tw.jit
    def combined(X, Out):
        X: T.Tensor((128,), "int32")
        Out: T.Tensor((1,), "int32")
        with T.Kernel(1, threads=128):
            tid = T.get_thread_binding()
            update(Out, X[tid] if value == "element" else X[tid] + 0)

    x = np.random.default_rng(0).permutation(128).astype(np.int32) - 64
    combine = {"add": np.sum, "max": np.max, "min": np.min}[word]
    expected = np.array([combine(np.append(x, start))], np.int32)
    check(combined, x, np.array([start], np.int32), expected=expected, cubin=word == "add")


@pytest.mark.parametrize("blocks", [1, 3])
def test_2959_a_number_is_added_to_a_whole_buffer_once_by_each_block(blocks):
    @tw.jit
    def counted(X, Out):
        X: T.Tensor((4,), "float32")
        Out: T.Tensor((40,), "float32")
        with T.Kernel(blocks, threads=32) as block:
            T.atomic_add(Out, 2.0)
            T.atomic_add(Out[0:8], X[block] + 1.0)

    x, out = whole(5, 4, dtype="float32"), whole(6, 40, dtype="float32")
    expected = out + np.float32(2 * blocks)
    expected[:8] += (x[:blocks] + 1).sum()
    check(counted, x, out, expected=expected)


@pytest.mark.parametrize(("order", "before", "after"), ORDERS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_2688_a_tile_is_added_in_the_order_that_was_asked_for(dtype, order, before, after):
    @tw.jit
    def added(X, Out):
        X: T.Tensor((8, 64), dtype)
        Out: T.Tensor((8, 64), dtype)
        with T.Kernel(2, threads=32):
            tile = T.alloc_fragment((8, 64), dtype)
            T.copy(X, tile)
            T.atomic_add(Out, tile, memory_order=order)

    x, out = whole(1, 8, 64, dtype=dtype), whole(2, 8, 64, dtype=dtype)
    check(added, x, out, expected=out + 2 * x, cubin=order == "acq_rel")
    source = source_of(lowered(added, x, out)[0])
    update = r"(?:atomicAdd|tw::red_add_\w+<\d+>)\(.*;"
    fences = re.search(rf"(__threadfence\(\);)?\s*{update}\s*(__threadfence\(\);)?", source)
    assert fences and (bool(fences[1]), bool(fences[2])) == (before, after)


def test_3038_float32_is_added_to_shared_memory():
    """Vectors of float32 are added to global memory only: here it is one at a time."""

    @tw.jit
    def added(X):
        X: T.Tensor((256,), "float32")
        Y = T.empty((256,), "float32")
        with T.Kernel(1, threads=64):
            sums = T.alloc_shared((256,), "float32")
            T.clear(sums)
            for i in T.Parallel(256):
                T.atomic_add(sums[i], X[i])
            for i in T.Parallel(256):
                T.atomic_add(sums[255 - i], X[i])
            T.copy(sums, Y)
        return Y

    x = whole(3, 256, dtype="float32")
    check(added, x, expected=x + x[::-1])


PLACES: Mapping[str, Callable[[Any], Any]] = {
    "one for all": lambda i: 0,
    "one for two": lambda i: i // 2,
    "every other": lambda i: 2 * i,
    "off by one": lambda i: i + 1,
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("where", PLACES)
def test_3219_only_neighbours_that_begin_at_a_whole_vector_are_added_at_once(where, dtype):
    place = PLACES[where]

    @tw.jit
    def added(X, Out):
        X: T.Tensor((256,), dtype)
        Out: T.Tensor((512,), dtype)
        with T.Kernel(1, threads=64):
            mine = T.alloc_fragment((256,), dtype)
            T.copy(X, mine)
            for i in T.Parallel(256):
                T.atomic_add(Out[place(i)], mine[i])

    x = np.random.default_rng(4).integers(-1, 2, 256)
    expected = np.zeros(512)
    np.add.at(expected, [place(i) for i in range(256)], x)
    type = T.dtype(dtype).as_numpy()
    check(added, x.astype(type), np.zeros(512, type), expected=expected.astype(type))


@pytest.mark.parametrize("who", ["iterations", "threads"])
def test_2561_four_neighbouring_integers_are_added(who):
    @tw.jit
    def added(X, Out):
        X: T.Tensor((128,), "int32")
        Out: T.Tensor((128,), "int32")
        with T.Kernel(1, threads=32):
            if who == "threads":
                tx = T.get_thread_binding()
                T.atomic_addx4(Out[tx * 4], X[tx * 4])
            else:
                for i in T.Parallel(32):
                    T.atomic_addx4(Out[i * 4], X[i * 4])

    x, out = whole(7, 128, dtype="int32"), whole(8, 128, dtype="int32")
    check(added, x, out, expected=x + out)
