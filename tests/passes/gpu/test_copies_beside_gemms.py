"""Loops without roles in which threads issue copies while GEMMs run.

Rows of the tensors are no multiples of 16 bytes, so that TMA cannot copy them.
"""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.ir import Operation

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, product, source_of, whole
from tilewright import T
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import AsyncMoveOp, CpAsyncWaitOp, WgmmaOp, WgmmaWaitOp
from tilewright.dialects.scf import ForOp
from tilewright.ir.diagnostics import DiagnosticEngine, Severity
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync

M, N, BLOCK_K = 128, 64, 64
GROUP = 128
"""Threads of a warp group."""


def gemm(m: int, n: int, k: int, stages: int, threads: int = 128) -> Any:
    @tw.jit
    def kernel(A, B):
        A: T.Tensor((m, k), "float16")
        B: T.Tensor((n, k), "float16")
        C = T.empty((m, n), "float32")
        with T.Kernel(T.ceildiv(n, N), T.ceildiv(m, M), threads=threads) as (bx, by):
            a = T.alloc_shared((M, BLOCK_K), "float16")
            b = T.alloc_shared((N, BLOCK_K), "float16")
            c = T.alloc_fragment((M, N), "float32")
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(k, BLOCK_K), num_stages=stages):
                T.copy(A[by * M, step * BLOCK_K], a)
                T.copy(B[bx * N, step * BLOCK_K], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C[by * M, bx * N])
        return C

    return kernel


def two_gemms(k: int, stages: int, threads: int) -> Any:
    """Two GEMMs with one operand in common."""

    @tw.jit
    def kernel(A, B):
        A: T.Tensor((M, k), "float16")
        B: T.Tensor((2 * N, k), "float16")
        C = T.empty((M, 2 * N), "float32")
        with T.Kernel(1, threads=threads) as _:
            a = T.alloc_shared((M, BLOCK_K), "float16")
            b = T.alloc_shared((N, BLOCK_K), "float16")
            d = T.alloc_shared((N, BLOCK_K), "float16")
            left = T.alloc_fragment((M, N), "float32")
            right = T.alloc_fragment((M, N), "float32")
            T.clear(left)
            T.clear(right)
            for step in T.Pipelined(T.ceildiv(k, BLOCK_K), num_stages=stages):
                T.copy(A[0, step * BLOCK_K], a)
                T.copy(B[0, step * BLOCK_K], b)
                T.copy(B[N, step * BLOCK_K], d)
                T.gemm(a, b, left, transpose_B=True)
                T.gemm(a, d, right, transpose_B=True)
            T.copy(left, C[0, 0])
            T.copy(right, C[0, N])
        return C

    return kernel


def _loop(module: Any) -> ForOp:
    """The loop that issues both copies and GEMMs."""
    found = [
        op
        for op in walk(module)
        if isinstance(op, ForOp)
        and any(isinstance(each, WgmmaOp) for each in walk(op))
        and any(isinstance(each, AsyncMoveOp) for each in walk(op))
    ]
    (loop,) = found
    return loop


def _faults(module: Any) -> list[str]:
    engine = DiagnosticEngine(minimum=Severity.REMARK)
    CheckThreadSync().run(module, engine)
    return [each.code or "" for each in engine.diagnostics]


@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 64, 324), (200, 72, 68), (128, 64, 196)])
def test_values(m: int, n: int, k: int, stages: int, threads: int) -> None:
    a, b = whole(m, m, k), whole(n, n, k)
    check(gemm(m, n, k, stages, threads), a, b, expected=product(a, b.T), cubin=False)


@pytest.mark.parametrize("threads", [128, 256])
@pytest.mark.parametrize("k", [68, 324])
def test_values_of_two_gemms(k: int, threads: int) -> None:
    a, b = whole(0, M, k), whole(1, 2 * N, k)
    check(two_gemms(k, 3, threads), a, b, expected=product(a, b.T), cubin=False)


@pytest.mark.parametrize("stages", [3, 4])
@pytest.mark.parametrize("threads", [128, 256])
def test_a_gemm_is_in_flight_while_copies_are_issued(stages: int, threads: int) -> None:
    a, b = whole(0, M, 708), whole(1, N, 708)
    module, _ = lowered(gemm(M, N, 708, stages, threads), a, b)
    ops = [op for op in walk(_loop(module)) if op.name.startswith("nv.")]
    first = next(at for at, op in enumerate(ops) if isinstance(op, AsyncMoveOp))
    (wait,) = (op for op in ops if isinstance(op, WgmmaWaitOp))
    (landed,) = (op for op in ops if isinstance(op, CpAsyncWaitOp))
    assert wait.count == 1
    assert ops.index(landed) < ops.index(wait) < first
    assert all(ops.index(op) < ops.index(wait) for op in ops if isinstance(op, WgmmaOp))
    # Of the copies into all versions but that of the next GEMM, one group each is in flight.
    assert landed.count == stages - 2
    assert "wgmma_wait<1>()" in source_of(module)


def test_two_stages_leave_no_copy_in_flight() -> None:
    """Then copies are issued before the GEMM, which is waited for."""
    a, b = whole(0, M, 708), whole(1, N, 708)
    module, _ = lowered(gemm(M, N, 708, 2), a, b)
    assert all(op.count == 0 for op in walk(_loop(module)) if isinstance(op, WgmmaWaitOp))


def _mutants(module: Any, kind: type[Operation]) -> list[Any]:
    """The module without each of the ops of a kind in the loop."""
    found: list[Any] = []
    for position in range(sum(isinstance(op, kind) for op in walk(_loop(module)))):
        mutant = module.clone()
        op = [each for each in walk(_loop(mutant)) if isinstance(each, kind)][position]
        op.detach()
        op.erase()
        found.append(mutant)
    return found


@pytest.mark.parametrize("threads", [128, 256])
def test_each_barrier_and_wait_is_needed(threads: int) -> None:
    """Without any of them, the checker finds a race or an operand that is overwritten."""
    a, b = whole(0, M, 708), whole(1, N, 708)
    module, _ = lowered(gemm(M, N, 708, 3, threads), a, b)
    assert _faults(module) == []
    barriers = _mutants(module, BarrierOp)
    assert len(barriers) == 2  # after copies have landed, and after the MMAs before
    waits = [*_mutants(module, WgmmaWaitOp), *_mutants(module, CpAsyncWaitOp)]
    assert len(waits) == 2
    found = [bool({"TW9021", "TW9022", "TW9023"} & set(_faults(each))) for each in barriers]
    # An MMA is one op of a warp group: only another group may not have waited for its own.
    assert found == [True, threads > GROUP]
    for mutant in waits:
        assert {"TW9021", "TW9022", "TW9023"} & set(_faults(mutant))
