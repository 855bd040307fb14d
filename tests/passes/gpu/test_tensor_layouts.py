"""Layouts that users give tensors in global memory determine where elements are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T
from tilewright.dialects.tile.layout_bounds import offsets_of, physical_box
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.ir.diagnostics import CompileError


def fragments(b: Any, l: Any, h: Any, d: Any) -> list[Any]:  # noqa: E741
    """The order of the accumulators of an MMA: a warp accesses 32 contiguous elements."""
    return [b, l // 8, h, d // 8, d % 2, 4 * (l % 8) + (d % 8) // 2]


def heads_first(b: Any, l: Any, h: Any, d: Any) -> list[Any]:  # noqa: E741
    return [b, h, l, d]


def stored(function: Any, array: np.ndarray) -> np.ndarray:
    """The memory of a tensor whose logical elements are `array`."""
    made = np.empty(array.size, array.dtype)
    made[offsets_of(LayoutMap.from_function(array.shape, function))] = array
    return made.reshape(array.shape)


SHAPE = (2, 48, 3, 16)


def reading(function: Any, rows: int = 32) -> Any:
    @tw.jit
    def main(X):
        X: T.Tensor(SHAPE, "float32")
        Y = T.empty(SHAPE, "float16")
        with T.Kernel(T.ceildiv(48, rows), 3, 2, threads=64) as (bx, by, bz):
            T.annotate_layout({X: T.Layout(SHAPE, function)})
            T.copy(
                X[bz, bx * rows : (bx + 1) * rows, by, :],
                Y[bz, bx * rows : (bx + 1) * rows, by, :],
            )
        return Y

    return main


def adding(function: Any) -> Any:
    @tw.jit
    def main(X, Y):
        X: T.Tensor(SHAPE, "float32")
        Y: T.Tensor(SHAPE, "float32")
        with T.Kernel(3, 2, threads=64) as (by, bz):
            T.annotate_layout({Y: T.Layout(SHAPE, function)})
            for i, j in T.Parallel(48, 16):
                T.atomic_add(Y[bz, i, by, j], X[bz, i, by, j])

    return main


@pytest.mark.parametrize("function", [fragments, heads_first])
@pytest.mark.parametrize("rows", [16, 32])  # 32 do not divide 48 rows: guards use logical indices
def test_reads(function: Any, rows: int) -> None:
    x = whole(1, *SHAPE, dtype="float32")
    check(reading(function, rows), stored(function, x), expected=x.astype(np.float16))


@pytest.mark.parametrize("function", [fragments, heads_first])
def test_updates(function: Any) -> None:
    x, y = whole(2, *SHAPE, dtype="float32"), whole(3, *SHAPE, dtype="float32")
    check(adding(function), x, stored(function, y), expected=stored(function, x + y))


def test_rows_that_stay_contiguous_are_accessed_in_vectors() -> None:
    x = whole(4, *SHAPE, dtype="float32")
    module, _ = lowered(reading(heads_first), x)
    assert "reinterpret_cast<const uint4*>(X +" in source_of(module)
    module, _ = lowered(adding(heads_first), x, x)
    assert "red_add_f32<16>" in source_of(module)


def test_a_layout_that_needs_more_memory_is_an_error() -> None:
    def padded(b: Any, l: Any, h: Any, d: Any) -> list[Any]:  # noqa: E741
        return [b, l // 32, h, d, l % 32]

    with pytest.raises(CompileError, match=r"addresses 6144 elements \(2, 2, 3, 16, 32\), but"):
        lowered(reading(padded), whole(5, *SHAPE, dtype="float32"))


def test_a_copy_in_a_pipelined_loop_is_refused_or_right() -> None:
    @tw.jit
    def main(X):
        X: T.Tensor((64, 64), "float16")
        Y = T.empty((64, 64), "float16")
        with T.Kernel(1, threads=128):
            T.annotate_layout({X: T.Layout((64, 64), lambda i, j: [j // 8, i, j % 8])})
            staged = T.alloc_shared((16, 64), "float16")
            for k in T.Pipelined(4, num_stages=2):
                T.copy(X[k * 16 : k * 16 + 16, :], staged)
                T.copy(staged, Y[k * 16 : k * 16 + 16, :])
        return Y

    x = whole(6, 64, 64)
    try:
        lowered(main, x)
    except CompileError as error:
        assert "has a layout of its own" in str(error)
        return
    order = lambda i, j: [j // 8, i, j % 8]  # noqa: E731
    check(main, stored(order, x), expected=x)


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_for_every_element(seed: int) -> None:
    random = np.random.default_rng(seed)
    extents = tuple(int(each) for each in random.integers(1, 9, 3) * 4)
    c, d = int(random.integers(2, 5)), int(random.integers(1, 4))
    found = LayoutMap.from_function(
        extents, lambda i, j, k: [(i * d + j) // c, (k ^ (i % 4)), (j + 2 * k) % c, 7 - i % 3]
    )
    points = np.indices(extents)
    box = physical_box(found)
    assert box is not None
    for size, each in zip(box, found.evaluate(*points), strict=True):
        assert np.min(each) >= 0 and np.max(each) < size
