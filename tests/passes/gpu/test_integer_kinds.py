"""Truth values and unsigned integers, of which the IR knows the bits only: sums, extremes, shifts.

The tile level and the thread level both have to agree with NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.sampling import every
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

SHAPES = [(64, 64, 128), (37, 19, 96), (5, 300, 128)]
"""Rows, columns and threads: registers in whole, and some that hold nothing."""


def lowered(function: Any) -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module


def check(function: Any, given: np.ndarray, wanted: np.ndarray) -> None:
    """Run at both levels, with an output that holds the opposite."""
    at_tile_level = ~wanted
    tw.compile(function, target="numpy")(given, at_tile_level)
    np.testing.assert_array_equal(at_tile_level, wanted)
    at_thread_level = ~wanted
    out = Buffer("B", at_thread_level, initialised=False)
    compile_simt(lowered(function)).launch([Buffer("A", given), out])
    np.testing.assert_array_equal(at_thread_level, wanted)


def numbers(dtype: str, *shape: int, rare: bool = False) -> np.ndarray:
    """Half of them with the highest bit set; truth values are of one kind, but for a few."""
    rng = np.random.default_rng(sum(shape))
    if dtype == "bool":
        return rng.random(shape) < (0.01 if rare else 0.99)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


# -- reductions --------------------------------------------------------------------------------


def reduced(kind: str, dtype: str, memory: str, shape: tuple[int, int, int], axis: int) -> Any:
    rows, columns, threads = shape
    left = columns if axis == 0 else rows
    allocate = getattr(T, f"alloc_{memory}")

    @T.prim_func
    def main(A: T.Tensor((rows, columns), dtype), B: T.Tensor((left,), dtype)):
        with T.Kernel(1, threads=threads):
            values = allocate((rows, columns), dtype)
            result = allocate((left,), dtype)
            T.copy(A, values)
            getattr(T, f"reduce_{kind}")(values, result, dim=axis)
            T.copy(result, B)

    return main


KINDS: dict[str, Callable[..., Any]] = {
    "max": np.max,
    "min": np.min,
    "absmax": np.max,
    "sum": np.sum,
    "abssum": np.sum,
}
"""Of numbers without a sign, which are their own sizes."""


@pytest.mark.parametrize(
    ("kind", "dtype", "memory"),
    every(5, product(KINDS, ["bool", "uint8", "uint32"], ["fragment", "shared"])),
)
def test_reductions(kind: str, dtype: str, memory: str) -> None:
    for number, shape in enumerate(SHAPES):
        axis = number % 2
        given = numbers(dtype, *shape[:2], rare=kind == "max")
        wanted = KINDS[kind](given, axis=axis, **({"dtype": dtype} if "sum" in kind else {}))
        if dtype == "bool" and kind in ("max", "min"):
            assert 0 < wanted.sum() < len(wanted)
        check(reduced(kind, dtype, memory, shape, axis), given, wanted)


@pytest.mark.parametrize(("kind", "operator"), [("max", "|"), ("min", "&")])
def test_truth_values_are_combined_by_their_bits(kind: str, operator: str) -> None:
    (kernel,) = kernels_of(lowered(reduced(kind, "bool", "fragment", SHAPES[0], 1)))
    text = emit_kernel(kernel).text
    assert f" {operator} values[" in text
    assert f"{kind}(" not in text


def across(dtype: str) -> Any:
    """The largest of what 32 threads have, for each of two rows."""

    @T.prim_func
    def main(A: T.Tensor((2, 32), dtype), B: T.Tensor((2, 32), dtype)):
        with T.Kernel(1, threads=(32, 2)):
            k, row = T.get_thread_binding(0), T.get_thread_binding(1)
            mine = T.alloc_local((1,), dtype)
            most = T.alloc_local((1,), dtype)
            mine[0] = A[row, k]
            with T.attr(
                T.comm_reducer(lambda a, b: T.max(a, b), [T.cast(0, dtype)]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(
                    T.tvm_thread_allreduce(T.uint32(1), mine[0], True, most[0], k, dtype="handle")
                )
            B[row, k] = most[0]

    return main


@pytest.mark.parametrize("dtype", ["bool", "uint32", "int32"])
def test_the_largest_across_threads(dtype: str) -> None:
    given = numbers(dtype, 2, 32)
    if dtype == "bool":
        given[0] = False
    check(across(dtype), given, np.repeat(given.max(axis=1, keepdims=True), 32, axis=1))


# -- numbers that a literal meets --------------------------------------------------------------


def computed(dtype: str, function: Callable[[Any], Any]) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64,), dtype), B: T.Tensor((64,), dtype)):
        with T.Kernel(1, threads=64):
            for i in T.Parallel(64):
                B[i] = function(A[i])

    return main


EXPRESSIONS: dict[str, Callable[[Any], Any]] = {
    "x >> 5": lambda x: x >> 5,
    "x // 3": lambda x: x // 3,
    "x % 7": lambda x: x % 7,
    "100 >> (x % 7)": lambda x: 100 >> (x % 7),
    "(x - 1) >> 3": lambda x: (x - 1) >> 3,
    "~x >> 3": lambda x: ~x >> 3,
}


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int32"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_shifts_and_quotients_with_literals(name: str, dtype: str) -> None:
    given = numbers(dtype, 64)
    if name == "(x - 1) >> 3":
        given[given == np.iinfo(dtype).min] = 1  # what is below depends on the width of the sums
    # Numbers of Python take the type that they meet in NumPy too.
    check(computed(dtype, EXPRESSIONS[name]), given, EXPRESSIONS[name](given).astype(dtype))


def test_comparisons_of_unsigned_numbers_with_literals() -> None:
    given = numbers("uint32", 64)
    function = computed("uint32", lambda x: T.if_then_else(x > 5, x, 7))
    check(function, given, np.where(given > 5, given, np.uint32(7)))


def test_an_unsigned_shift_is_unsigned_in_cuda() -> None:
    (kernel,) = kernels_of(lowered(computed("uint32", lambda x: x >> 16)))
    assert "unsigned(A[tid]) >> 16u" in emit_kernel(kernel).text
    (kernel,) = kernels_of(lowered(computed("int32", lambda x: x >> 16)))
    assert "A[tid] >> 16;" in emit_kernel(kernel).text
