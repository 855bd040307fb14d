"""Parts that begin where a thread's number says: each thread moves, fills and updates its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, check, lowered, whole
from tilewright import T


@tw.jit
def copied(X, Y):
    X: T.Tensor((32, 8), "float16")
    Y: T.Tensor((32, 8), "float16")
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        T.copy(X[tx, 0:8], Y[tx, 0:8])


@tw.jit
def through_shared_memory(X, Y):
    """A whole buffer and a line would be for the copy engine."""
    X: T.Tensor((32, 8), "float16")
    Y: T.Tensor((32, 8), "float16")
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        staged = T.alloc_shared((32, 8), "float16")
        T.copy(X[tx : tx + 1, 0:8], staged[tx : tx + 1, 0:8])
        T.copy(staged[tx : tx + 1, 0:8], Y[tx : tx + 1, 0:8])


@tw.jit
def filled(X, Y):
    X: T.Tensor((32, 8), "float16")
    Y: T.Tensor((32, 8), "float16")
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        T.fill(Y[tx, 0:8], X[tx, 0])
        T.copy(X[tx, 1:8], Y[tx, 1:8])


@tw.jit
def updated(X, Y):
    X: T.Tensor((32, 8), "float16")
    Y: T.Tensor((32, 8), "float16")
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        T.clear(Y[tx, 0:8])
        T.atomic_addx2(Y[tx, 0], X[tx, 0])
        T.atomic_addx2(Y[tx, 2], X[tx, 2])
        T.atomic_addx4(Y[tx, 4], X[tx, 4])


@tw.jit
def updated_from_memory_of_its_own(X, Y):
    X: T.Tensor((32, 8), "float16")
    Y: T.Tensor((32, 8), "float16")
    with T.Kernel(1, threads=32):
        tx = T.get_thread_binding()
        mine = T.alloc_local((8,), "float16")
        T.copy(X[tx, 0:8], mine)
        T.clear(Y[tx, 0:8])
        T.atomic_add(Y[tx, 0:8], mine)


@pytest.mark.parametrize(
    "kernel", [copied, through_shared_memory, filled, updated, updated_from_memory_of_its_own]
)
def test_each_thread_has_a_line(kernel: Any) -> None:
    x, y = whole(0, 32, 8), np.full((32, 8), 9, np.float16)
    module, _ = lowered(kernel, x, y)
    np.testing.assert_array_equal(by_threads(kernel, module, (x, y), y), x)


@pytest.mark.parametrize("who", ["threads", "iterations"])
def test_each_updates_neighbours_at_the_level_of_tiles(who: str) -> None:
    @tw.jit
    def added(X, Y):
        X: T.Tensor((32, 8), "float16")
        Y: T.Tensor((32, 8), "float16")
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            if who == "threads":
                T.atomic_add(Y[tx, 0:8], X[tx, 0:8])
            else:
                for i in T.Parallel(32):
                    T.atomic_addx4(Y[i, 0], X[i, 0])
                    T.atomic_addx4(Y[i, 4], X[i, 4])

    x, y = whole(1, 32, 8), whole(2, 32, 8)
    check(added, x, y, expected=x + y)
