"""What barriers of other blocks order, and variables that the threads of a role share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy.tile import TileFault


def handed_over(*, waits: bool = True, before: bool = True) -> Any:
    """The second block writes a tensor and arrives at the first one's barrier."""

    @T.prim_func
    def main(Data: T.Tensor((32,), "int32"), Out: T.Tensor((32,), "int32")):
        with T.ClusterKernel(2, threads=32, cluster_dims=2):
            rank = T.block_rank_in_cluster()
            written = T.alloc_cluster_barrier([32])
            if rank == 1:
                if not before:
                    T.mbarrier_arrive(written, 0)
                for i in T.Parallel(32):
                    Data[i] = i + 5
                if before:
                    T.mbarrier_arrive(written, 0)
            else:
                if waits:
                    T.mbarrier_wait_parity(written, 0)
                for i in T.Parallel(32):
                    Out[i] = Data[i]

    return main


def test_what_comes_before_an_arrival_is_visible_after_the_phase() -> None:
    data, out = np.zeros(32, np.int32), np.zeros(32, np.int32)
    tw.compile(handed_over())(data, out)
    np.testing.assert_array_equal(out, np.arange(32) + 5)


@pytest.mark.parametrize("mistake", ["waits", "before"])
def test_without_the_wait_or_after_the_arrival_it_is_a_race(mistake: str) -> None:
    data, out = np.zeros(32, np.int32), np.zeros(32, np.int32)
    with pytest.raises(TileFault, match="data race between blocks") as found:
        tw.compile(handed_over(**{mistake: False}))(data, out)
    assert "Data[0]" in str(found.value)


def counted(rounds: int) -> Any:
    """A role waits in a loop with a condition, and one of its threads arrives for it."""

    @T.prim_func
    def main(In: T.Tensor((8, 32), "int32"), Out: T.Tensor((8, 32), "int32")):
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            S = T.alloc_shared((32,), "int32")
            full = T.alloc_barrier([32, 32])
            free = T.alloc_barrier([1, 1])
            if tx < 32:
                turn = T.alloc_var("int32", init=0)
                while turn < rounds:
                    T.mbarrier_wait_parity(full[turn & 1], (turn // 2) & 1)
                    T.copy(S, Out[turn, :])
                    if tx == 0:
                        T.mbarrier_arrive(free[turn & 1])
                    turn += 1
            elif tx < 64:
                for k in T.serial(rounds):
                    if k > 0:
                        T.mbarrier_wait_parity(free[(k - 1) & 1], ((k - 1) // 2) & 1)
                    T.copy(In[k, :], S)
                    T.mbarrier_arrive(full[k & 1])

    return main


def test_a_variable_that_all_threads_count_is_a_parity() -> None:
    given, out = np.arange(256, dtype=np.int32).reshape(8, 32), np.zeros((8, 32), np.int32)
    tw.compile(counted(7))(given, out)
    np.testing.assert_array_equal(out[:7], given[:7])
    np.testing.assert_array_equal(out[7:], 0)


def test_a_variable_that_one_thread_sets_stays_its_own() -> None:
    @T.prim_func
    def main(Out: T.Tensor((32,), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            own = T.alloc_var("int32", init=1)
            while own < 10:
                if tx % 2 == 0:
                    own += 4
                else:
                    own += 3
            Out[tx] = own

    out = np.zeros(32, np.int32)
    tw.compile(main)(out)
    np.testing.assert_array_equal(out, np.where(np.arange(32) % 2, 10, 13))
