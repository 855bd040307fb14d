"""Blocks that wait for each other through global memory run concurrently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt

BLOCKS = 3


def handed_on(*, published: bool = True) -> Any:
    """Each block but the last waits for the one after it, and adds to what that wrote."""

    @T.prim_func
    def main(Flags: T.Tensor((BLOCKS + 1,), "int32"), Data: T.Tensor((BLOCKS + 1, 32), "int32")):
        with T.Kernel(BLOCKS, threads=64) as bx:
            tx = T.get_thread_binding()
            ready = T.alloc_barrier(1)
            if tx == 0:
                flag = T.alloc_var("int32", init=T.atomic_load(Flags[bx + 1], "acquire"))
                while flag < 1:
                    flag = T.atomic_load(Flags[bx + 1], "acquire")
                T.mbarrier_arrive(ready)
            T.mbarrier_wait_parity(ready, 0)
            if tx < 32:
                Data[bx, tx] = Data[bx + 1, tx] + 1
            T.sync_threads()
            if tx == 0 and published:
                T.atomic_add(Flags[bx], 1, memory_order="release")

    return main


def launched(kernel: Any, flags: np.ndarray, data: np.ndarray, **options: Any) -> None:
    compiled = tw.compile(kernel)
    module = lowered(compiled.prim_func.module.clone(), GpuPipeline(target="cuda:sm_90a"))
    buffers = [Buffer("Flags", flags), Buffer("Data", data)]
    compile_simt(module).launch(buffers, SimtOptions(**options))


@pytest.mark.parametrize("seed", range(6))
def test_a_block_that_waits_for_a_later_one(seed: int) -> None:
    flags, data = np.zeros(BLOCKS + 1, np.int32), np.zeros((BLOCKS + 1, 32), np.int32)
    flags[BLOCKS], data[BLOCKS] = 1, np.arange(32)
    launched(handed_on(), flags, data, seed=seed)
    np.testing.assert_array_equal(flags, 1)
    for block in range(BLOCKS):
        np.testing.assert_array_equal(data[block], np.arange(32) + BLOCKS - block)


def test_a_flag_that_no_block_sets() -> None:
    flags, data = np.zeros(BLOCKS + 1, np.int32), np.zeros((BLOCKS + 1, 32), np.int32)
    flags[BLOCKS] = 1
    with pytest.raises(SimtFault, match="waits for memory that it polls to change") as found:
        launched(handed_on(published=False), flags, data)
    assert found.value.kind == "deadlock"


def test_a_lock_that_one_block_holds_at_a_time() -> None:
    """The first block has the lock in its hands while the others look at it."""

    @T.prim_func
    def main(Lock: T.Tensor((2,), "int32"), Total: T.Tensor((1, 32), "int32")):
        with T.Kernel(BLOCKS, threads=32) as bx:
            tx = T.get_thread_binding()
            if tx == 0:
                turn = T.alloc_var("int32", init=T.atomic_load(Lock[0], "acquire"))
                while turn != BLOCKS - 1 - bx:
                    turn = T.atomic_load(Lock[0], "acquire")
                Total[0, 0] = Total[0, 0] * 10 + bx
                T.atomic_store(Lock[0], turn + 1, memory_order="release")

    lock, total = np.zeros(2, np.int32), np.zeros((1, 32), np.int32)
    launched(main, lock, total)
    assert total[0, 0] == 210
    assert lock[0] == BLOCKS


def test_a_loop_that_counts_is_no_poll() -> None:
    """It ends by itself, though nothing else runs."""

    @T.prim_func
    def main(Flags: T.Tensor((2,), "int32"), Data: T.Tensor((1, 32), "int32")):
        with T.Kernel(1, threads=32):
            tx = T.get_thread_binding()
            tries = T.alloc_var("int32", init=0)
            flag = T.alloc_var("int32", init=0)
            while flag < 1 and tries < 5:
                flag = T.atomic_load(Flags[0], "acquire")
                tries = tries + 1
            Data[0, tx] = tries

    flags, data = np.zeros(2, np.int32), np.zeros((1, 32), np.int32)
    launched(main, flags, data)
    np.testing.assert_array_equal(data, 5)
