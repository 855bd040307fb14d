"""Element-wise expressions: every op of a tile, random trees, and positions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import compiled, executed, relative_error
from tilewright import T
from tilewright.targets.tenstorrent.artefact import artefact_of

SHAPE = (33, 64)
Expression = Callable[[Any, Any, Any, Any], Any]
"""Of an element of A, one of B, one of the row vector and one of the column vector."""


def kernel(expression: Expression) -> ModuleOp:
    rows, columns = SHAPE

    @T.prim_func
    def kernel(
        A: T.Tensor(SHAPE, T.float32),
        B: T.Tensor(SHAPE, T.float32),
        R: T.Tensor((columns,), T.float32),
        S: T.Tensor((rows,), T.float32),
        C: T.Tensor(SHAPE, T.float32),
    ):
        with T.Kernel(1, 2) as (bx, by):
            a = T.alloc_shared((32, 64), T.float32)
            b = T.alloc_shared((32, 64), T.float32)
            r = T.alloc_shared((64,), T.float32)
            s = T.alloc_shared((32,), T.float32)
            c = T.alloc_fragment((32, 64), T.float32)
            T.copy(A[by * 32, bx * 64], a)
            T.copy(B[by * 32, bx * 64], b)
            T.copy(R[bx * 64], r)
            T.copy(S[by * 32], s)
            for i, j in T.Parallel(32, 64):
                c[i, j] = expression(a[i, j], b[i, j], r[j], s[i])
            T.copy(c, C[by * 32, bx * 64])

    return kernel.module


def inputs(positive: bool = False) -> list[Any]:
    rng = np.random.default_rng(1)
    shapes = (SHAPE, SHAPE, (SHAPE[1],), (SHAPE[0],))
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    return [np.abs(each) + 0.5 for each in arrays] if positive else arrays


def check(expression: Expression, expected: Expression, *, positive: bool = False) -> None:
    arrays = inputs(positive)
    outcome = executed(kernel(expression), [*arrays, None], cores="2x1")
    a, b, r, s = (each.astype(np.float64) for each in arrays)
    reference = np.broadcast_to(expected(a, b, r[None, :], s[:, None]), SHAPE)
    assert relative_error(outcome.outputs[0], reference) < 1e-5


CASES: dict[str, tuple[Expression, Expression]] = {
    "add": (lambda a, b, r, s: a + b, lambda a, b, r, s: a + b),
    "sub": (lambda a, b, r, s: a - b, lambda a, b, r, s: a - b),
    "mul": (lambda a, b, r, s: a * b, lambda a, b, r, s: a * b),
    "div": (lambda a, b, r, s: a / b, lambda a, b, r, s: a / b),
    "max": (lambda a, b, r, s: T.max(a, b), lambda a, b, r, s: np.maximum(a, b)),
    "min": (lambda a, b, r, s: T.min(a, b), lambda a, b, r, s: np.minimum(a, b)),
    "scalars": (
        lambda a, b, r, s: (2.0 - a) * 3.0 / 0.5 + 1.0 - 4.0,
        lambda a, b, r, s: (2.0 - a) * 3.0 / 0.5 + 1.0 - 4.0,
    ),
    "reciprocal": (lambda a, b, r, s: 1.0 / a, lambda a, b, r, s: 1.0 / a),
    "constant over": (lambda a, b, r, s: 3.0 / a, lambda a, b, r, s: 3.0 / a),
    "row": (lambda a, b, r, s: a + r, lambda a, b, r, s: a + r),
    "column": (lambda a, b, r, s: a * s, lambda a, b, r, s: a * s),
    "row first": (lambda a, b, r, s: r - a, lambda a, b, r, s: r - a),
    "row and column": (lambda a, b, r, s: r * s + a, lambda a, b, r, s: r * s + a),
    "exp": (lambda a, b, r, s: T.exp(-a), lambda a, b, r, s: np.exp(-a)),
    "exp2": (lambda a, b, r, s: T.exp2(a - s), lambda a, b, r, s: np.exp2(a - s)),
    "log": (lambda a, b, r, s: T.log(a) + T.log2(b), lambda a, b, r, s: np.log(a) + np.log2(b)),
    "roots": (
        lambda a, b, r, s: T.sqrt(a) + T.rsqrt(b),
        lambda a, b, r, s: np.sqrt(a) + 1 / np.sqrt(b),
    ),
    "tanh": (lambda a, b, r, s: T.tanh(a - b), lambda a, b, r, s: np.tanh(a - b)),
    "softsign": (
        lambda a, b, r, s: T.softsign(r - a),
        lambda a, b, r, s: (r - a) / (1 + abs(r - a)),
    ),
    "sigmoid": (lambda a, b, r, s: T.sigmoid(a), lambda a, b, r, s: 1 / (1 + np.exp(-a))),
    "abs": (lambda a, b, r, s: T.abs(a - 1.0), lambda a, b, r, s: np.abs(a - 1)),
    "relu": (lambda a, b, r, s: T.max(a - 1.0, 0.0), lambda a, b, r, s: np.maximum(a - 1, 0)),
    "select": (
        lambda a, b, r, s: T.if_then_else(a > b, a, r),
        lambda a, b, r, s: np.where(a > b, a, r),
    ),
    "square twice": (
        lambda a, b, r, s: (a + b) * (a + b) + a * a,
        lambda a, b, r, s: (a + b) ** 2 + a * a,
    ),
    "products": (
        lambda a, b, r, s: (a * b - a * r) * (b * s),
        lambda a, b, r, s: (a * b - a * r) * (b * s),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_operations(name: str) -> None:
    expression, expected = CASES[name]
    check(expression, expected, positive=True)


def tree(depth: int, rng: random.Random) -> tuple[Expression, Expression]:
    """A random expression, for elements and for arrays."""
    if depth == 0 or rng.random() < 0.15:
        position = rng.randrange(4)
        return (lambda *leaves: leaves[position]), (lambda *leaves: leaves[position])
    kind = rng.choice(["add", "sub", "mul", "max", "min", "scale", "tanh", "select"])
    (one, one_), (two, two_) = tree(depth - 1, rng), tree(depth - 1, rng)
    factor = round(rng.uniform(-2, 2), 3)
    return {
        "add": (lambda *x: one(*x) + two(*x), lambda *x: one_(*x) + two_(*x)),
        "sub": (lambda *x: one(*x) - two(*x), lambda *x: one_(*x) - two_(*x)),
        "mul": (lambda *x: one(*x) * two(*x), lambda *x: one_(*x) * two_(*x)),
        "max": (lambda *x: T.max(one(*x), two(*x)), lambda *x: np.maximum(one_(*x), two_(*x))),
        "min": (lambda *x: T.min(one(*x), two(*x)), lambda *x: np.minimum(one_(*x), two_(*x))),
        "scale": (lambda *x: one(*x) * factor, lambda *x: one_(*x) * factor),
        "tanh": (lambda *x: T.tanh(one(*x)), lambda *x: np.tanh(one_(*x))),
        "select": (
            lambda *x: T.if_then_else(one(*x) > 0, one(*x), two(*x)),
            lambda *x: np.where(one_(*x) > 0, one_(*x), two_(*x)),
        ),
    }[kind]


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(4, 100))]
)
def test_random_trees(seed: int) -> None:
    """Those that need more slots than a section of DST has are computed in parts."""
    expression, expected = tree(4 + seed % 2, random.Random(seed))
    check(expression, expected)


def test_positions() -> None:
    """Comparisons of rows and columns, also across blocks."""

    @T.prim_func
    def kernel(A: T.Tensor((96, 64), T.float32), C: T.Tensor((96, 64), T.float32)):
        with T.Kernel(1, 3) as (_, by):
            a = T.alloc_shared((32, 64), T.float32)
            T.copy(A[by * 32, 0], a)
            for i, j in T.Parallel(32, 64):
                a[i, j] = T.if_then_else(by * 32 + i >= j, a[i, j], 0.0)
            for i, j in T.Parallel(32, 64):
                if j < 50:
                    a[i, j] = a[i, j] + 1.0
            for i, j in T.Parallel(32, 64):
                if i < 10:
                    a[i, j] = 7.0
            T.copy(a, C[by * 32, 0])

    a = np.random.default_rng(0).standard_normal((96, 64)).astype(np.float32)
    (c,) = executed(kernel.module, [a, None], cores="2x1").outputs
    reader = artefact_of(compiled(kernel.module, cores="2x1")[0]).sources()["reader.cpp"]
    inner = re.findall(r"for \(uint32_t (\w+) = 0; \1 < 1024;", reader)
    outer = re.findall(r"for \(uint32_t (\w+) = 0; \1 < count;", reader)
    assert inner
    assert not {*inner} & {*outer}, "the limit of a mask contains the index of the outer loop"
    rows, columns = np.indices(a.shape)
    expected = np.where(rows >= columns, a, 0) + (columns < 50)
    expected = np.where(rows % 32 < 10, 7.0, expected)
    np.testing.assert_allclose(c, expected, rtol=1e-6)


def test_equal_positions() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), T.float32), C: T.Tensor((64, 64), T.float32)):
        with T.Kernel(2, 2) as (bx, by):
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = T.if_then_else(by * 32 + i == bx * 32 + j, 1.0, a[i, j])
            for i, j in T.Parallel(32, 32):
                a[i, j] = T.if_then_else(j != 5, a[i, j], 9.0)
            T.copy(a, C[by * 32, bx * 32])

    a = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    (c,) = executed(kernel.module, [a, None], cores="2x1").outputs
    expected = np.where(np.eye(64), 1, a)
    expected[:, [5, 37]] = 9
    np.testing.assert_array_equal(c, expected.astype(np.float32))
