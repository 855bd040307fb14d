"""Pipelined loops in roles, some of whose copies are made under a condition only."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.nv import MBarrierArriveExpectTxOp
from tilewright.ir.traversal import walk


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_a_loop_after_one_with_guarded_copies_leaves_no_producer_warp_behind(stages):
    """Warps that only waited for `empty` of the second loop could miss its phase (TW9027)."""

    @tw.jit
    def guarded_then_plain(A):
        A: T.Tensor((16, 64), "float16")
        Out = T.empty((8, 8), "float16")
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((8, 8), "float16")
            total = T.alloc_fragment((8, 8), "float16")
            T.clear(total)
            for k in T.Pipelined(6, num_stages=stages):
                if k // 2 != 1:
                    T.copy(A[0, k * 8], staged)
                    for i, j in T.Parallel(8, 8):
                        total[i, j] += staged[i, j]
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[8, k * 8], staged)
                for i, j in T.Parallel(8, 8):
                    total[i, j] += staged[i, j]
            T.copy(total, Out)
        return Out

    a = whole(0, 16, 64)
    expected = sum((a[:8, k * 8 : k * 8 + 8] for k in (0, 1, 4, 5)), np.zeros((8, 8), np.float16))
    expected = sum((a[8:, k * 8 : k * 8 + 8] for k in range(3)), expected)
    check(guarded_then_plain, a, expected=expected)


def test_one_producer_thread_arrives_where_no_copy_is_guarded():
    @tw.jit
    def plain(A):
        A: T.Tensor((8, 64), "float16")
        Out = T.empty((8, 8), "float16")
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((8, 8), "float16")
            total = T.alloc_fragment((8, 8), "float16")
            T.clear(total)
            for k in T.Pipelined(8, num_stages=2):
                T.copy(A[0, k * 8], staged)
                for i, j in T.Parallel(8, 8):
                    total[i, j] += staged[i, j]
            T.copy(total, Out)
        return Out

    a = whole(1, 8, 64)
    check(plain, a, expected=a.reshape(8, 8, 8).sum(axis=1, dtype=np.float16), cubin=False)
    module, _ = lowered(plain, a)
    assert any(isinstance(op, MBarrierArriveExpectTxOp) for op in walk(module))
