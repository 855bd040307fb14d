"""Which buffers are private to the turns of the loops around them."""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import Any

import pytest

from tilewright import T
from tilewright.analysis.lifetimes.privatization import private_buffers
from tilewright.dialects.tile import KernelOp

ROWS = 32


def kernel(body: Any) -> Any:
    """A kernel whose loop over tiles does `body` with a buffer, a tensor and the turn."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, ROWS), "float32"), n: T.int32):
        with T.Kernel(1, threads=64):
            held = T.alloc_shared((ROWS, ROWS), "float32")
            for turn in T.serial(n):
                body(held, A, turn)

    return main


def is_private(main: Any) -> bool:
    (found,) = [op for op in main.module.walk() if isinstance(op, KernelOp)]
    return [op.buffer_name for op in private_buffers(found)] == ["held"]


@T.macro
def filled_first(held, A, turn):
    T.copy(A, held)
    T.copy(held, A)


@T.macro
def filled_by_every_iteration(held, A, turn):
    for i, j in T.Parallel(ROWS, ROWS):
        held[i, j] = A[i, j]
    T.copy(held, A)


@T.macro
def filled_in_both_branches(held, A, turn):
    if turn % 2 == 0:
        T.copy(A, held)
    else:
        T.clear(held)
    T.copy(held, A)


@T.macro
def filled_and_read_in_an_inner_loop(held, A, turn):
    for _ in T.serial(turn):
        T.copy(A, held)
        T.copy(held, A)


@T.macro
def changed_in_an_inner_loop(held, A, turn):
    T.copy(A, held)
    for _ in T.serial(turn):
        for i, j in T.Parallel(ROWS, ROWS):
            held[i, j] = held[i, j] + 1.0
    T.copy(held, A)


@pytest.mark.parametrize(
    "body",
    [
        filled_first,
        filled_by_every_iteration,
        filled_in_both_branches,
        filled_and_read_in_an_inner_loop,
        changed_in_an_inner_loop,
    ],
)
def test_private(body: Any) -> None:
    assert is_private(kernel(body))


@T.macro
def read_first(held, A, turn):
    T.copy(held, A)
    T.copy(A, held)


@T.macro
def half_filled(held, A, turn):
    T.copy(A[0 : ROWS // 2, :], held[0 : ROWS // 2, :])
    T.copy(held, A)


@T.macro
def some_elements_written(held, A, turn):
    for i, j in T.Parallel(ROWS, ROWS):
        if A[i, j] > 0.0:
            held[i, j] = A[i, j]
    T.copy(held, A)


@T.macro
def diagonal_written(held, A, turn):
    for i in T.Parallel(ROWS):
        held[i, i] = A[i, i]
    T.copy(held, A)


@T.macro
def filled_in_one_branch(held, A, turn):
    if turn % 2 == 0:
        T.copy(A, held)
    T.copy(held, A)


@T.macro
def filled_in_a_loop_that_may_have_no_turn(held, A, turn):
    for _ in T.serial(turn):
        T.copy(A, held)
    T.copy(held, A)


@T.macro
def filled_by_some_threads(held, A, turn):
    if T.get_thread_binding() < 32:
        T.copy(A, held)
        T.copy(held, A)


@T.macro
def added_to(held, A, turn):
    for i, j in T.Parallel(ROWS, ROWS):
        held[i, j] = held[i, j] + A[i, j]


@pytest.mark.parametrize(
    "body",
    [
        read_first,
        half_filled,
        some_elements_written,
        diagonal_written,
        filled_in_one_branch,
        filled_in_a_loop_that_may_have_no_turn,
        filled_by_some_threads,
        added_to,
    ],
)
def test_not_private(body: Any) -> None:
    assert not is_private(kernel(body))


def test_what_is_read_behind_the_loop_is_not():
    @T.prim_func
    def main(A: T.Tensor((ROWS, ROWS), "float32"), n: T.int32):
        with T.Kernel(1, threads=64):
            held = T.alloc_shared((ROWS, ROWS), "float32")
            T.clear(held)
            for _ in T.serial(n):
                T.copy(A, held)
            T.copy(held, A)

    assert not is_private(main)
