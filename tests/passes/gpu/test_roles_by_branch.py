"""Roles that an author writes as branches of a test of threads, with barriers of the kernel.

Each side waits for what the other one does, so that neither can be run to its end before the other
begins: warps go on by themselves, in the checker as in the executor of the thread level.
"""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.analysis.thread_sync import FaultKind, check
from tilewright.dialects.nv.barriers import MBarrierArriveOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

TURNS, WIDTH = 5, 128


@T.prim_func
def sides(A: T.Tensor((TURNS, WIDTH), "float32"), B: T.Tensor((TURNS, WIDTH), "float32")):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((WIDTH,), "float32")
        full, empty = T.alloc_barrier(128), T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx >= 128:
            for k in range(TURNS):
                T.mbarrier_wait_parity(empty, (k & 1) ^ 1)
                S[tx - 128] = A[k, tx - 128] * 2
                T.mbarrier_arrive(full)
        else:
            for k in range(TURNS):
                T.mbarrier_wait_parity(full, k & 1)
                B[k, tx] = S[127 - tx]
                T.mbarrier_arrive(empty)


@T.prim_func
def one_after_the_other(
    A: T.Tensor((TURNS, WIDTH), "float32"), B: T.Tensor((TURNS, WIDTH), "float32")
):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((WIDTH,), "float32")
        full, empty = T.alloc_barrier(128), T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx < 128:
            for k in range(TURNS):
                T.mbarrier_wait_parity(full, k & 1)
                B[k, tx] = S[127 - tx]
                T.mbarrier_arrive(empty)
        if tx >= 128:
            for k in range(TURNS):
                T.mbarrier_wait_parity(empty, (k & 1) ^ 1)
                S[tx - 128] = A[k, tx - 128] * 2
                T.mbarrier_arrive(full)


@T.prim_func
def in_a_loop(A: T.Tensor((TURNS, WIDTH), "float32"), B: T.Tensor((TURNS, WIDTH), "float32")):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((WIDTH,), "float32")
        full, empty = T.alloc_barrier(128), T.alloc_barrier(128)
        tx = T.get_thread_binding()
        for k in range(TURNS):
            if tx < 128:
                T.mbarrier_wait_parity(full, k & 1)
                B[k, tx] = S[127 - tx]
                T.mbarrier_arrive(empty)
            else:
                T.mbarrier_wait_parity(empty, (k & 1) ^ 1)
                S[tx - 128] = A[k, tx - 128] * 2
                T.mbarrier_arrive(full)


@T.prim_func
def three(A: T.Tensor((TURNS, WIDTH), "float32"), B: T.Tensor((TURNS, WIDTH), "float32")):
    with T.Kernel(1, threads=384):
        S = T.alloc_shared((WIDTH,), "float32")
        R = T.alloc_shared((WIDTH,), "float32")
        factor = T.alloc_shared((1,), "float32")
        full, ready, empty = T.alloc_barrier(128), T.alloc_barrier(128), T.alloc_barrier(128)
        tx = T.get_thread_binding()
        factor[0] = 2
        T.sync_threads()
        if tx < 128:
            for k in range(TURNS):
                T.mbarrier_wait_parity(ready, k & 1)
                B[k, tx] = R[tx]
                T.mbarrier_arrive(empty)
        elif tx < 256:
            for k in range(TURNS):
                T.mbarrier_wait_parity(full, k & 1)
                R[tx - 128] = S[255 - tx] * factor[0]
                T.mbarrier_arrive(ready)
        else:
            for k in range(TURNS):
                T.mbarrier_wait_parity(empty, (k & 1) ^ 1)
                S[tx - 256] = A[k, tx - 256]
                T.mbarrier_arrive(full)


@T.prim_func
def together_at_the_end(
    A: T.Tensor((TURNS, WIDTH), "float32"), B: T.Tensor((TURNS, WIDTH), "float32")
):
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((WIDTH,), "float32")
        R = T.alloc_shared((TURNS, WIDTH), "float32")
        full, empty = T.alloc_barrier(128), T.alloc_barrier(128)
        tx = T.get_thread_binding()
        if tx < 128:
            for k in range(TURNS):
                T.mbarrier_wait_parity(full, k & 1)
                R[k, tx] = S[127 - tx]
                T.mbarrier_arrive(empty)
        else:
            for k in range(TURNS):
                T.mbarrier_wait_parity(empty, (k & 1) ^ 1)
                S[tx - 128] = A[k, tx - 128] * 2
                T.mbarrier_arrive(full)
        T.copy(R, B)


KERNELS = {
    each.name: each for each in (sides, one_after_the_other, in_a_loop, three, together_at_the_end)
}
each_kernel = pytest.mark.parametrize("name", KERNELS)


def ready(name: str) -> ModuleOp:
    return lowered(KERNELS[name].module.clone())


def without_arrival(name: str, number: int) -> ModuleOp:
    module = ready(name)
    arrivals = [op for op in module.walk() if isinstance(op, MBarrierArriveOp)]
    Rewriter().erase(arrivals[number])
    return module


@each_kernel
def test_nothing_is_wrong(name: str) -> None:
    assert [verdict.fault for verdict in check(ready(name))] == [None]


@pytest.mark.parametrize("seed", range(3))
@each_kernel
def test_values(name: str, seed: int) -> None:
    given = np.random.default_rng(0).random((TURNS, WIDTH), np.float32)
    found = np.zeros_like(given)
    arguments = [Buffer("A", given), Buffer("B", found)]
    compile_simt(ready(name)).launch(arguments, SimtOptions(seed=seed))
    np.testing.assert_array_equal(found, 2 * given[:, ::-1])


@pytest.mark.parametrize("number", range(2))
@each_kernel
def test_a_deadlock_is_found(name: str, number: int) -> None:
    module = without_arrival(name, number)
    (verdict,) = check(module)
    assert verdict.fault is not None
    assert verdict.fault.kind is FaultKind.DEADLOCK
    arrays = [np.zeros((TURNS, WIDTH), np.float32) for _ in range(2)]
    with pytest.raises(SimtFault) as caught:
        compile_simt(module).launch([Buffer("A", arrays[0]), Buffer("B", arrays[1])])
    assert caught.value.kind == "deadlock"


def test_the_report_names_who_waits_and_is_the_authors() -> None:
    engine = DiagnosticEngine()
    CheckThreadSync().run(without_arrival("sides", 0), engine)
    (found,) = engine.diagnostics
    assert found.code == "TW4084"
    assert found.message.startswith(
        "deadlock: threads 0 to 127, in iteration 0, waits for phase 0 of"
    )
    assert any(each.message.startswith("threads 128 to 255") for each in found.notes)


def test_threads_that_do_not_run_in_step_may_still_race() -> None:
    """Without the wait, the next values may overwrite what is still being read."""
    module = ready("sides")
    waits = [op for op in module.walk() if op.name == "nv.mbarrier.wait"]
    Rewriter().erase(waits[1])
    (verdict,) = check(module)
    assert verdict.fault is not None
    assert verdict.fault.kind is FaultKind.RACE


# -- a barrier of some threads -------------------------------------------------------------------


def half(count: int) -> ModuleOp:
    @T.prim_func
    def main(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((64,), "float32")
            tx = T.get_thread_binding()
            if tx < 64:
                S[tx] = A[tx]
                T.sync_threads(3, count)
                B[tx] = S[63 - tx]
            else:
                B[tx] = A[tx]

    return main.module


def test_some_threads_meet_at_a_barrier_of_their_own() -> None:
    a = np.arange(128, dtype=np.float32)
    b = np.full_like(a, np.nan)
    compile_simt(lowered(half(64))).launch([Buffer("A", a), Buffer("B", b)])
    np.testing.assert_array_equal(b, np.concatenate([a[63::-1], a[64:]]))


def test_a_barrier_that_counts_too_many_is_found() -> None:
    with pytest.raises(CompileError, match=r"TW\d+\]: deadlock: .*96 threads on barrier 3, but"):
        lowered(half(96))
