"""The index of a thread counts the threads that the kernel asks for, with producer warps too."""

from __future__ import annotations

import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.tile.warps import WsOp
from tilewright.ir.traversal import walk


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_thread_index_of_before_a_pipelined_loop_stays_below_the_number_of_threads(stages):
    """It ran past `threads`, out of shared memory (TW9028)."""

    @tw.jit
    def by_thread(A):
        A: T.Tensor((8, 128), "float16")
        Out = T.empty((8, 128), "float16")
        with T.Kernel(1, threads=128):
            tx = T.get_thread_binding()
            mirrored = 127 - tx
            staged = T.alloc_shared((1, 128), "float16")
            for k in T.Pipelined(8, num_stages=stages):
                T.copy(A[k, 0], staged)
                Out[k, tx] = staged[0, tx] + 2 * staged[0, mirrored]
        return Out

    a = whole(0, 8, 128)
    check(by_thread, a, expected=a + 2 * a[:, ::-1])
    module, _ = lowered(by_thread, a)
    assert any(isinstance(op, WsOp) for op in walk(module))


def test_a_thread_index_of_inside_and_after_a_pipelined_loop():
    @tw.jit
    def by_thread(A):
        A: T.Tensor((4, 64), "float32")
        Out = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            staged = T.alloc_shared((1, 64), "float32")
            total = T.alloc_shared((64,), "float32")
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[k, 0], staged)
                tx = T.get_thread_binding()
                total[tx] += staged[0, tx]
            lane, warp = T.get_lane_idx(), T.get_warp_idx()
            Out[warp * 32 + lane] = total[warp * 32 + lane]
        return Out

    a = whole(1, 4, 64, dtype="float32")
    check(by_thread, a, expected=a.sum(axis=0))
