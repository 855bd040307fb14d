"""Loops in which the threads of a block fill a buffer together, and those in which some do not."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright import T
from tilewright.analysis.lifetimes.full_writes import fills
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.traversal import walk

THREADS, ROWS, COLUMNS = 64, 16, 32


def fills_the_buffer(kernel: Any) -> bool:
    """Whether the first loop over the stores of a kernel fills the buffer `s`."""
    ops = list(walk(kernel.module))
    (alloc,) = (op for op in ops if isinstance(op, AllocOp) and op.buffer_name == "s")
    loop = next(op for op in ops if isinstance(op, ForOp))
    return fills(loop, alloc.result)


def kernel_of(trips: int, step: int = 1, shift: int = 0, threads: int = THREADS) -> Any:
    """Thread `tx` writes 4 elements in each of `trips` iterations; 8 of them fill the buffer."""

    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(1, threads=threads):
            s = T.alloc_shared((ROWS, COLUMNS), "float32")
            tx = T.get_thread_binding()
            for i in T.serial(trips):
                for v in T.vectorized(4):
                    at = (i * THREADS + tx) * 4 * step + v + shift
                    s[at // COLUMNS, at % COLUMNS] = 1.0
            T.copy(s, A)

    return main


def test_every_element_has_a_thread_and_an_iteration() -> None:
    assert ROWS * COLUMNS == 2 * THREADS * 4
    assert fills_the_buffer(kernel_of(2))


@pytest.mark.parametrize(
    "given",
    [
        {"trips": 1},
        {"trips": 2, "shift": 4},
        {"trips": 2, "step": 2},
        {"trips": 2, "threads": 32},
    ],
    ids=["too few iterations", "past the end", "gaps", "too few threads"],
)
def test_elements_are_missing(given: dict[str, int]) -> None:
    assert not fills_the_buffer(kernel_of(**given))


def test_a_trip_count_of_the_run_may_be_zero() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32"), n: T.int32):
        with T.Kernel(1, threads=THREADS):
            s = T.alloc_shared((ROWS, COLUMNS), "float32")
            tx = T.get_thread_binding()
            for _ in T.serial(n):
                for v in T.vectorized(8):
                    at = tx * 8 + v
                    s[at // COLUMNS, at % COLUMNS] = 1.0
            T.copy(s, A)

    assert not fills_the_buffer(main)


def test_a_store_under_a_condition_may_not_happen() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(1, threads=THREADS):
            s = T.alloc_shared((ROWS, COLUMNS), "float32")
            tx = T.get_thread_binding()
            for v in T.serial(8):
                at = tx * 8 + v
                if A[0, 0] > 0.0:
                    s[at // COLUMNS, at % COLUMNS] = 1.0
            T.copy(s, A)

    assert not fills_the_buffer(main)


def test_threads_under_a_condition_are_not_all_threads() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(1, threads=THREADS):
            s = T.alloc_shared((ROWS, COLUMNS), "float32")
            tx = T.get_thread_binding()
            if tx < 32:
                for v in T.serial(8):
                    at = tx * 8 + v
                    s[at // COLUMNS, at % COLUMNS] = 1.0
            T.copy(s, A)

    assert not fills_the_buffer(main)


def test_other_iterations_of_another_loop_do_not_count() -> None:
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLUMNS), "float32")):
        with T.Kernel(1, threads=THREADS):
            s = T.alloc_shared((ROWS, COLUMNS), "float32")
            tx = T.get_thread_binding()
            for k in T.Pipelined(2, num_stages=0):
                for v in T.serial(4):
                    at = (k * THREADS + tx) * 4 + v
                    s[at // COLUMNS, at % COLUMNS] = 1.0
            T.copy(s, A)

    assert not fills_the_buffer(main)
