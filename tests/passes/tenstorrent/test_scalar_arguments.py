"""Scalar arguments of kernels: run-time words where they enter arithmetic, values of the plan
where they decide about control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import tilewright as tw
from tests.oracles.tenstorrent_headers.call_roles import check_calls
from tests.passes.tenstorrent.execution import compiled
from tests.passes.tenstorrent.executors import in_both
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.artefact import Executor, artefact_of

SHAPE = (33, 40)
Expression = Callable[[Any, Any, Any], Any]


def kernel(expression: Expression, dtype: str = "float32") -> Any:
    """C = expression(A, p, q), with two scalars."""

    @T.prim_func
    def kernel(
        A: T.Tensor(SHAPE, "float32"),
        p: getattr(T, dtype),
        C: T.Tensor(SHAPE, "float32"),
        count: T.float32,
    ):
        with T.Kernel(2, 2) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                c[i, j] = expression(a[i, j], p, count)
            T.copy(c, C[by * 32, bx * 32])

    return kernel


CASES: dict[str, Expression] = {
    "add": lambda a, p, q: a + p,
    "sub": lambda a, p, q: a - p,
    "reversed sub": lambda a, p, q: p - a,
    "mul": lambda a, p, q: p * a,
    "div": lambda a, p, q: a / p,
    "over": lambda a, p, q: p / (a * a + 1),
    "two": lambda a, p, q: a * p + q,
    "of scalars": lambda a, p, q: a * (p * q - 2) + (p + q),
    "only scalars": lambda a, p, q: p * q + 1,
    "one": lambda a, p, q: q,
    "twice": lambda a, p, q: (a + p) * (a - p) + p,
}


@pytest.mark.parametrize(("name", "executor"), in_both(CASES, ("div", "of scalars")))
def test_arithmetic(name: str, executor: Executor) -> None:
    module, plan = compiled(kernel(CASES[name]).module, cores="2x2")
    artefact = artefact_of(module)
    assert {each.name for each in plan.scalars} <= {"p", "count"}
    a = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    for p, q in ((1.5, -0.75), (-3.25, 8.0)):
        run = replace(artefact, scalars={"p": p, "count": q}).run(
            {"A": a, "C": a}, executor=executor
        )
        expected = np.broadcast_to(CASES[name](a.astype(np.float64), p, q), SHAPE)
        np.testing.assert_allclose(run.arrays["C"], expected, rtol=1e-5, atol=1e-5)
    for text in artefact.sources().values():
        assert "get_arg_val" not in text or not check_calls(text)


def test_maximum_with_a_scalar() -> None:
    module, _ = compiled(kernel(lambda a, p, q: T.max(T.min(a, q), p)).module)
    a = np.random.default_rng(1).standard_normal(SHAPE).astype(np.float32)
    run = replace(artefact_of(module), scalars={"p": -0.5, "count": 0.25}).run({"A": a, "C": a})
    np.testing.assert_array_equal(run.arrays["C"], np.clip(a, -0.5, 0.25))


def test_a_narrow_scalar_is_rounded_to_its_type() -> None:
    prim_func = kernel(lambda a, p, q: a * p, "bfloat16")
    found = tw.compile(prim_func, target="tenstorrent:sim")
    a = np.ones(SHAPE, np.float32)
    c = np.zeros(SHAPE, np.float32)
    found(a, 0.3, c, 0.0)
    np.testing.assert_array_equal(c, np.float32(bfloat16(0.3)))


@tw.jit(target="tenstorrent:sim")
def scaled_gemm(A, B, C, alpha: T.float32, beta: T.float32, block=32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    C: T.Tensor((M, N), "float32")
    D = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_shared((block, block), "bfloat16")
        b = T.alloc_shared((block, block), "bfloat16")
        c = T.alloc_shared((block, block), "float32")
        acc = T.alloc_fragment((block, block), "float32")
        T.copy(C[by * block, bx * block], c)
        T.clear(acc)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
            T.copy(A[by * block, k * block], a)
            T.copy(B[k * block, bx * block], b)
            T.gemm(a, b, acc)
        for i, j in T.Parallel(block, block):
            acc[i, j] = alpha * acc[i, j] + beta * c[i, j]
        T.copy(acc, D[by * block, bx * block])
    return D


@pytest.mark.parametrize("executor", ["ir", "source"])
def test_gemm_with_alpha_and_beta(executor: str) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-3, 4, shape).astype(bfloat16) for shape in ((50, 64), (64, 70)))
    c = rng.integers(-3, 4, (50, 70)).astype(np.float32)
    gemm = a.astype(np.float64) @ b.astype(np.float64)
    kernel = scaled_gemm.compile(a, b, c, 1.0, 0.0)
    assert kernel.tenstorrent is not None
    program = kernel.tenstorrent.artefact
    with tw.tenstorrent_running(executor=executor):
        for alpha, beta in ((1.0, 0.0), (0.5, -2.0)):
            np.testing.assert_array_equal(kernel(a, b, c, alpha, beta), alpha * gemm + beta * c)
    assert kernel.tenstorrent.artefact is program, "one program for all scalars"


@tw.jit(target="tenstorrent:sim")
def masked_sum(A, n: T.int32, steps: T.int32, block=32):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_shared((block, block), "float32")
        c = T.alloc_fragment((block, block), "float32")
        T.copy(A[by * block, bx * block], a)
        T.clear(c)
        for _ in T.serial(steps):
            for i, j in T.Parallel(block, block):
                c[i, j] += T.if_then_else(bx * block + j < n, a[i, j], -1.0)
        T.copy(c, C[by * block, bx * block])
    return C


@pytest.mark.parametrize("executor", ["ir", "source"])
def test_integers_limit_positions_and_loops(executor: str) -> None:
    a = np.random.default_rng(0).integers(-9, 10, (40, 70)).astype(np.float32)
    with tw.tenstorrent_running(executor=executor):
        for n, steps in ((33, 2), (0, 2), (70, 0), (-5, 1)):
            once = np.where(np.arange(70) < n, a, -1)
            np.testing.assert_array_equal(masked_sum(a, n, steps), steps * once)


def test_a_bound_needs_its_value() -> None:
    kernel = masked_sum.compile(np.zeros((40, 70), np.float32), 3, 2)
    with pytest.raises(CompileError, match=r"TW7110.*'steps' decides about control flow"):
        compiled(kernel.prim_func.module)
    _, plan = compiled(kernel.prim_func.module, values="steps=2")
    assert [(each.name, each.format) for each in plan.scalars] == [("n", "i32")]


def test_the_host_program_reads_scalars_from_files() -> None:
    module, _ = compiled(kernel(CASES["two"]).module)
    text = artefact_of(module).sources()["main.cpp"]
    assert 'load<uint32_t>(directory + "p.bin", 1)[0]' in text
    assert 'load<uint32_t>(directory + "count.bin", 1)[0]' in text


@pytest.mark.parametrize("executor", ["ir", "source"])
def test_run_time_extents_are_compiled_per_shape(executor: str) -> None:
    rng = np.random.default_rng(3)
    kernel = open_sizes.compile(np.ones((3, 5), np.float32))
    with tw.tenstorrent_running(executor=executor):
        for shape in ((1, 1), (33, 70), (64, 31)):
            x = rng.integers(-9, 10, shape).astype(np.float32)
            np.testing.assert_array_equal(kernel(x), x + shape[0])


@tw.jit(target="tenstorrent:sim")
def open_sizes(X):
    m, n = T.dynamic("m"), T.dynamic("n")
    X: T.Tensor((m, n), "float32")
    Y = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32)) as (bx, by):
        x = T.alloc_shared((32, 32), "float32")
        T.copy(X[by * 32, bx * 32], x)
        for i, j in T.Parallel(32, 32):
            x[i, j] = x[i, j] + T.cast(m, "float32")
        T.copy(x, Y[by * 32, bx * 32])
    return Y
