"""Element-wise arithmetic on int32, conversions, and further functions of floats."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from math import erf
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.oracles.tenstorrent_headers.call_roles import check_calls
from tests.oracles.tenstorrent_headers.vendor_headers import (
    VARIABLE,
    check_kernel,
    checkout,
)
from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.executors import in_both
from tilewright import T
from tilewright.dialects.tensix.chips import BLACKHOLE, WORMHOLE
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of

SHAPE = (33, 40)
Expression = Callable[[Any, Any, Any], Any]


def kernel(expression: Expression, dtype: str) -> Any:
    """C = expression(A, B, p) on int32 matrices, in the element type `dtype`."""

    @T.prim_func
    def kernel(
        A: T.Tensor(SHAPE, "int32"),
        B: T.Tensor(SHAPE, "int32"),
        C: T.Tensor(SHAPE, dtype),
        p: T.int32,
    ):
        with T.Kernel(2, 2) as (bx, by):
            a = T.alloc_shared((32, 32), "int32")
            b = T.alloc_shared((32, 32), "int32")
            c = T.alloc_fragment((32, 32), dtype)
            T.copy(A[by * 32, bx * 32], a)
            T.copy(B[by * 32, bx * 32], b)
            for i, j in T.Parallel(32, 32):
                c[i, j] = expression(a[i, j], b[i, j], p)
            T.copy(c, C[by * 32, bx * 32])

    return kernel


CASES: dict[str, tuple[str, Expression, Expression]] = {
    "add": ("int32", lambda a, b, p: a + b, lambda a, b, p: a + b),
    "sub": ("int32", lambda a, b, p: a - b, lambda a, b, p: a - b),
    "mul": ("int32", lambda a, b, p: a * b, lambda a, b, p: a * b),
    "constants": ("int32", lambda a, b, p: 3 * a - 7, lambda a, b, p: 3 * a - 7),
    "scalar": ("int32", lambda a, b, p: a * p + b, lambda a, b, p: a * p + b),
    "max": ("int32", lambda a, b, p: T.max(a, b), lambda a, b, p: np.maximum(a, b)),
    "min": ("int32", lambda a, b, p: T.min(a, 5), lambda a, b, p: np.minimum(a, 5)),
    "select": (
        "int32",
        lambda a, b, p: T.if_then_else(a < b, a, b * 2),
        lambda a, b, p: np.where(a < b, a, b * 2),
    ),
    "equal": (
        "float32",
        lambda a, b, p: T.if_then_else(a == b, 1.5, -2.0),
        lambda a, b, p: np.where(a == b, 1.5, -2.0),
    ),
    "cast": ("float32", lambda a, b, p: T.cast(a, "float32") / 4, lambda a, b, p: a / 4),
    "narrow": ("bfloat16", lambda a, b, p: T.cast(a, "bfloat16"), lambda a, b, p: a),
    "truncated": (
        "int32",
        lambda a, b, p: T.cast(T.cast(a, "float32") / 4, "int32"),
        lambda a, b, p: np.trunc(a / 4),
    ),
    "wraps": ("int32", lambda a, b, p: a * 1000003 * 4099, lambda a, b, p: a * 1000003 * 4099),
}


@pytest.mark.parametrize(
    ("name", "executor"), in_both(CASES, ("select", "scalar", "truncated", "max"))
)
def test_integers(name: str, executor: Executor) -> None:
    dtype, expression, expected = CASES[name]
    module, _ = compiled(kernel(expression, dtype).module, cores="2x2")
    artefact = replace(artefact_of(module), scalars={"p": -3})
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-20, 21, SHAPE).astype(np.int32) for _ in range(2))
    out = np.zeros(SHAPE, np.int32 if dtype == "int32" else np.float32)
    run = artefact.run({"A": a, "B": b, "C": out}, executor=executor)
    with np.errstate(over="ignore"):
        reference = np.asarray(expected(a, b, np.int32(-3)))
    np.testing.assert_array_equal(run.arrays["C"].astype(reference.dtype), reference)
    assert not check_calls(artefact.sources()["compute.cpp"])


@pytest.mark.parametrize("name", ["mul", "max", "select", "truncated"])
def test_the_vendors_headers_accept_the_calls(name: str) -> None:
    if VARIABLE not in os.environ:
        pytest.skip(f"{VARIABLE} is not set: nothing was checked against the real headers")
    dtype, expression, _ = CASES[name]
    module, _ = compiled(kernel(expression, dtype).module)
    program = artefact_of(module).program(with_sources=True)
    compute = next(each for each in program.kernels if each.name == "compute")
    for chip in (WORMHOLE, BLACKHOLE):
        assert check_kernel(compute, chip, (), checkout()).errors == ()


def test_integers_are_not_repeated_along_an_axis() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 32), "int32"), R: T.Tensor((32,), "int32")):
        with T.Kernel(1):
            a = T.alloc_shared((32, 32), "int32")
            r = T.alloc_shared((32,), "int32")
            T.copy(A, a)
            T.copy(R, r)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + r[j]
            T.copy(a, A)

    with pytest.raises(CompileError, match=r"TW7070.*'r' is repeated along an axis"):
        compiled(kernel.module)


FUNCTIONS: dict[str, tuple[Expression, Any]] = {
    "erf": (lambda a, b, p: T.erf(a), np.vectorize(erf)),
    "sin": (lambda a, b, p: T.sin(a), np.sin),
    "cos": (lambda a, b, p: T.cos(a), np.cos),
    "floor": (lambda a, b, p: T.floor(a), np.floor),
    "ceil": (lambda a, b, p: T.ceil(a), np.ceil),
    "gelu": (
        lambda a, b, p: 0.5 * a * (1 + T.erf(a * 0.70710678)),
        lambda a: 0.5 * a * (1 + np.vectorize(erf)(a * 0.70710678)),
    ),
}


@pytest.mark.parametrize(("name", "executor"), in_both(FUNCTIONS, ("gelu", "floor")))
def test_functions_of_floats(name: str, executor: Executor) -> None:
    expression, expected = FUNCTIONS[name]

    def of_float(a: Any, b: Any, p: Any) -> Any:
        return expression(T.cast(a, "float32") / 8, b, p)

    module, _ = compiled(kernel(of_float, "float32").module)
    a = np.random.default_rng(5).integers(-20, 21, SHAPE).astype(np.int32)
    arrays = {"A": a, "B": a, "C": np.zeros(SHAPE, np.float32)}
    artefact = artefact_of(module)
    run = artefact.run(arrays, executor=executor)
    np.testing.assert_allclose(run.arrays["C"], expected(a / 8), rtol=1e-5, atol=1e-6)
    assert not check_calls(artefact.sources()["compute.cpp"])


@tw.jit(target="tenstorrent:sim")
def positions(A, n: T.int32, block=32):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    where = T.empty((M, N), "int32")
    with T.Kernel(T.ceildiv(N, 2 * block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_shared((block, 2 * block), "float32")
        w = T.alloc_fragment((block, 2 * block), "int32")
        T.copy(A[by * block, bx * 2 * block], a)
        for i, j in T.Parallel(block, 2 * block):
            row, column = by * block + i, bx * 2 * block + j
            w[i, j] = T.if_then_else(column < n, row * 3 - 2 * column, -1)
            a[i, j] = a[i, j] * T.cast(column, "float32") + T.cast(by + i, "float32")
        T.copy(a, C[by * block, bx * 2 * block])
        T.copy(w, where[by * block, bx * 2 * block])
    return C, where


@pytest.mark.parametrize("executor", ["ir", "source"])
def test_positions_in_arithmetic(executor: str) -> None:
    a = np.random.default_rng(2).integers(-5, 6, (40, 70)).astype(np.float32)
    row, column = np.indices(a.shape)
    with tw.tenstorrent_running(executor=executor):
        found, where = positions(a, 33)
    np.testing.assert_array_equal(found, a * column + row // 32 + row % 32)
    np.testing.assert_array_equal(where, np.where(column < 33, row * 3 - 2 * column, -1))
