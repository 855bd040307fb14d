"""Blocks that access the same element of global memory: what is a race, and what orders them.

The wrong kernels in `tests/wrong_kernels` have the messages; here are the ways in which blocks are
ordered, each beside the same kernel without it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running
from tilewright.targets.numpy.api import NumpyFault

RACE = "race between blocks"


def raises() -> Any:
    return pytest.raises(NumpyFault, match=RACE)


@tw.jit
def adjacent(X, H, Y, barrier=True):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    H: T.Tensor((N,), "int32")
    Y: T.Tensor((N,), "int32")
    with T.Kernel(N, threads=32) as bx:
        H[bx] = X[bx]
        if barrier:
            T.sync_grid()
        Y[bx] = H[(bx + 1) % N]
        if barrier:
            T.sync_grid()
        H[(bx + 2) % N] = Y[bx]


def test_a_barrier_of_the_grid_orders_blocks():
    x, h, y = (np.arange(5, dtype=np.int32) for _ in range(3))
    with tile_running(schedules=3):
        adjacent(x, h, y)
    assert y.tolist() == [1, 2, 3, 4, 0]
    with raises():
        adjacent(x, h, y, barrier=False)


@tw.jit
def late_write(X, H, Y):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    H: T.Tensor((N,), "int32")
    Y: T.Tensor((N,), "int32")
    with T.Kernel(N, threads=32) as bx:
        H[bx] = X[bx]
        T.sync_grid()
        Y[bx] = H[(bx + 1) % N]
        H[bx] = 0


def test_what_follows_a_barrier_of_the_grid_is_not_ordered_by_it():
    arrays = [np.arange(5, dtype=np.int32) for _ in range(3)]
    with raises():
        late_write(*arrays)


@tw.jit
def two_kernels(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    Y: T.Tensor((N,), "int32")
    with T.Kernel(N, threads=32) as bx:
        X[bx] = X[bx] + 1
    with T.Kernel(N, threads=32) as bx:
        Y[bx] = X[N - 1 - bx]
        X[bx] = X[bx] + 0


def test_kernels_of_a_function_run_one_after_another():
    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    with raises():  # within the second kernel a block reads what another one writes
        two_kernels(x, y)

    @tw.jit
    def apart(X, Y):
        N = T.const("N")
        X: T.Tensor((N,), "int32")
        Y: T.Tensor((N,), "int32")
        with T.Kernel(N, threads=32) as bx:
            X[bx] = X[bx] + 1
        with T.Kernel(N, threads=32) as bx:
            Y[bx] = X[N - 1 - bx]

    x = np.arange(4, dtype=np.int32)
    apart(x, y)
    assert y.tolist() == [4, 3, 2, 1]


def _last_block(order: str) -> Callable[..., Any]:
    @tw.jit
    def last(X, Parts, Count, S):
        N = T.const("N")
        X: T.Tensor((N,), "int32")
        Parts: T.Tensor((N,), "int32")
        Count: T.Tensor((1,), "int32")
        S: T.Tensor((1,), "int32")
        with T.Kernel(N, threads=32) as bx:
            Parts[bx] = X[bx]
            before = T.atomic_add(Count[0], 1, memory_order=order, return_prev=True)
            if before == N - 1:
                for i in T.serial(N):
                    S[0] = S[0] + Parts[i]

    return last


@pytest.mark.parametrize(("order", "is_right"), [("acq_rel", True), ("seq_cst", True)])
def test_atomics_that_release_and_acquire_order_blocks(order: str, is_right: bool):
    s = np.zeros(1, np.int32)
    args = np.arange(6, dtype=np.int32), np.zeros(6, np.int32), np.zeros(1, np.int32), s
    _last_block(order)(*args)
    assert s.tolist() == [15]


@pytest.mark.parametrize("order", ["relaxed", "release", "acquire"])
def test_half_of_an_order_is_none(order: str):
    args = np.arange(6, dtype=np.int32), np.zeros(6, np.int32), np.zeros(1, np.int32)
    with raises():
        _last_block(order)(*args, np.zeros(1, np.int32))


@tw.jit
def write_after_release(Flag, Data, Out):
    N = T.const("N")
    Flag: T.Tensor((1,), "int32")
    Data: T.Tensor((N,), "int32")
    Out: T.Tensor((N,), "int32")
    with T.Kernel(2, threads=32) as bx:
        if bx == 0:
            T.atomic_store(Flag[0], 1, memory_order="release")
            Data[0] = 7
        else:
            if T.atomic_load(Flag[0], memory_order="acquire") == 1:
                Out[0] = Data[0]


def test_what_comes_after_a_release_is_not_handed_over():
    with raises():
        write_after_release(np.zeros(1, np.int32), np.zeros(2, np.int32), np.zeros(2, np.int32))


@tw.jit
def counted(X, H, is_atomic=True):
    N = T.const("N")
    X: T.Tensor((N,), "int32")
    H: T.Tensor((4,), "int32")
    with T.Kernel(N // 32, threads=32) as bx:
        for i in T.Parallel(32):
            T.atomic_add(H[X[bx * 32 + i] % 4], 1)
        if not is_atomic:
            H[0] = H[0] + 1


def test_atomics_do_not_race_with_each_other_but_with_plain_accesses():
    h = np.zeros(4, np.int32)
    counted(np.arange(128, dtype=np.int32), h)
    assert h.tolist() == [32] * 4
    with raises():
        counted(np.arange(128, dtype=np.int32), h, is_atomic=False)


def test_a_single_block_does_what_it_likes_and_checks_can_be_left_out():
    @tw.jit
    def running(X, blocks=1):
        N = T.const("N")
        X: T.Tensor((N,), "int32")
        with T.Kernel(blocks, threads=32):
            for i in T.serial(N - 1):
                X[i + 1] = X[i + 1] + X[i]

    x = np.ones(8, np.int32)
    running(x)
    assert x.tolist() == list(range(1, 9))
    with raises():
        running(x, blocks=2)
    with tile_running(check_races=False):
        running(x, blocks=2)


def test_a_view_of_other_elements_is_reported_as_not_analysed():
    @tw.jit
    def halves(X):
        N = T.const("N")
        X: T.Tensor((N,), "int32")
        with T.Kernel(2, threads=32) as bx:
            bits = T.view(X, (N * 2,), "int16")
            bits[bx] = T.cast(1, "int16")

    kernel = halves.compile(N=64)
    kernel(np.zeros(64, np.int32))
    assert kernel.report is not None
    (text,) = kernel.report.not_analysed
    assert text.startswith("races between blocks on X")
