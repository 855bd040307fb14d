"""Cluster launch control in `T`: a block takes the tiles of blocks that have not been launched."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

TILES = 6


@T.prim_func
def kernel(Out: T.Tensor((TILES,), "int32")):
    with T.Kernel(TILES, threads=32) as bx:
        result = T.alloc_shared((2, 4), "uint32")
        arrived = T.alloc_barrier([1] * 2)
        tx = T.get_thread_binding()
        tile = T.alloc_var("int32", init=bx)
        for step in T.serial(TILES):
            if tx == 0:
                Out[tile] = tile + 1
                T.mbarrier_arrive_expect_tx(arrived[step % 2], 16)
                T.clc_try_cancel(result[step % 2, :], arrived[step % 2])
            T.mbarrier_wait_parity(arrived[step % 2], (step // 2) % 2)
            if T.clc_is_canceled(result[step % 2, :]) == 0:
                break
            tile = T.cast(T.clc_get_first_ctaid_x(result[step % 2, :]), "int32")


def test_one_block_takes_all_tiles() -> None:
    module = lowered(kernel.module.clone(), GpuPipeline(target="cuda:sm_100a"))
    out = np.zeros(TILES, np.int32)
    report = compile_simt(module).launch([Buffer("Out", out)], SimtOptions(schedules=3))
    np.testing.assert_array_equal(out, np.arange(1, TILES + 1))
    assert report.blocks == 3  # one for each schedule


def test_compiles_for_blackwell() -> None:
    (compiled,) = compile_module(kernel.module, "sm_100a").kernels.values()
    assert "tw::clc_try_cancel(result + " in compiled.source
    assert compiled.metadata.spill_bytes == 0


def test_result_is_in_shared_memory() -> None:
    with pytest.raises(CompileError, match="the response is 4 integers of shared memory"):

        @T.prim_func
        def wrong(Out: T.Tensor((1,), "int32")):
            with T.Kernel(1, threads=32):
                result = T.alloc_shared((4,), "float16")
                Out[0] = T.clc_is_canceled(result)
