"""Accesses that are narrower than 16 bytes are remarked on, with the reason and the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.narrow_accesses import NARROW
from tilewright.passes.gpu.pipeline import GpuPipeline


def pipelined(columns: Any) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((64, columns), "float16"),
        B: T.Tensor((columns, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(columns, 64), num_stages=3):
                T.copy(A[0, k * 64], a)
                T.copy(B[k * 64, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C)

    return main


def copied(columns: Any, first: int = 0) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, columns), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            values = T.alloc_fragment((64, 64), "float32")
            T.copy(A[0, first], values)
            T.copy(values, B)

    return main


def gathered() -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "float32"),
        rows: T.Tensor((64,), "int32"),
        B: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(64, 64):
                B[i, j] = A[rows[j], i]

    return main


def said(function: Any, target: str) -> list[str]:
    engine = DiagnosticEngine()
    GpuPipeline(target=target).run(function.module.clone(), engine)
    engine.raise_if_errors()
    return [each.message for each in engine.diagnostics if each.code == NARROW]


def test_an_asynchronous_copy_of_an_odd_row_is_remarked_on_once() -> None:
    # The pipeline writes the copy several times: before the loop, in it, and behind it.
    assert said(pipelined(101), "cuda:sm_80") == [
        "access to A not aligned: 8 elements (16 bytes) are read in two aligned accesses and "
        "shifted, 1 element at a time where the tensor ends: the stride of dimension 0 of "
        "A is 202 bytes, not a multiple of 16; pad it to 208 bytes (104 elements)"
    ]


def test_an_asynchronous_copy_of_a_row_of_a_multiple_of_eight_bytes_says_so() -> None:
    assert said(pipelined(100), "cuda:sm_80") == [
        "access to A not fully vectorised: copied 4 elements (8 bytes) at a time instead "
        "of 8 (16 bytes): the stride of dimension 0 "
        "of A is 200 bytes, not a multiple of 16; pad it to 208 bytes (104 elements)"
    ]


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_even_rows_are_not_remarked_on(target: str) -> None:
    assert said(pipelined(104), target) == []
    assert said(copied(64), target) == []


def test_a_row_that_the_run_measures_is_copied_both_ways() -> None:
    assert said(pipelined(T.dynamic("n")), "cuda:sm_80") == []


def test_an_odd_row_is_read_element_by_element() -> None:
    assert said(copied(67), "cuda:sm_90a") == [
        "access to A not fully vectorised: read 1 element (4 bytes) at a time instead "
        "of 4 (16 bytes): the stride of dimension 0 of A "
        "is 268 bytes, not a multiple of 16; pad it to 272 bytes (68 elements)"
    ]


def test_a_part_that_begins_at_an_odd_place_says_so() -> None:
    assert said(copied(128, first=3), "cuda:sm_90a") == [
        "access to A not fully vectorised: read 1 element (4 bytes) at a time instead "
        "of 4 (16 bytes): the index of the first element is not "
        "known to be a multiple of 4"
    ]


def test_a_stride_that_only_the_run_knows_says_so() -> None:
    assert said(copied(T.dynamic("n")), "cuda:sm_90a") == [
        "access to A vectorised under a run-time test: read 4 elements (16 bytes) at a time "
        "where all of them are inside and aligned, 1 elsewhere: the stride of dimension 0 of A is "
        "a run-time value that is not known to be a multiple of 4"
    ]


def test_what_is_gathered_could_not_be_wide() -> None:
    assert said(gathered(), "cuda:sm_90a") == []
