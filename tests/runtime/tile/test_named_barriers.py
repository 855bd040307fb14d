"""Named barriers of `T`: some threads arrive and go on, others wait for them."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError


@T.prim_func
def hand_over(A: T.Tensor((1,), T.int32), B: T.Tensor((1,), T.int32)):
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        slot = T.alloc_shared((1,), T.int32)
        if tx < 32:
            if tx == 0:
                slot[0] = A[0] + 1
            T.named_barrier_arrive(10, 64)
            T.sync_threads(11, 64)
        else:
            T.sync_threads(10, 64)
            if tx == 32:
                B[0] = slot[0]
            T.named_barrier_arrive(11, 64)


def test_what_was_written_before_the_arrival_is_read_after_the_wait():
    kernel = tw.compile(hand_over, out_idx=[1], target="numpy:threads")
    assert kernel(np.array([41], np.int32)).tolist() == [42]


def test_the_code_arrives_and_waits():
    source = tw.compile(hand_over, out_idx=[1], target="cuda:sm_90a").get_kernel_source()
    body = source[source.index("__global__") :]
    calls = [
        line.strip().removeprefix("tw::named_barrier_")
        for line in body.splitlines()
        if "tw::named_barrier" in line
    ]
    assert calls == ["arrive(10, 64);", "sync(11, 64);", "sync(10, 64);", "arrive(11, 64);"]


def test_amd_has_none():
    with pytest.raises(CompileError, match=r"TW7514.*arrive at barrier 10 without waiting"):
        tw.compile(hand_over, out_idx=[1], target="hip:gfx942").get_kernel_source()


def test_the_identifier_is_a_constant():
    def kernel(A: T.Tensor((1,), T.int32)):
        with T.Kernel(1, threads=64):
            T.named_barrier_arrive(A[0], 64)

    with pytest.raises(CompileError, match="barrier_id of a named barrier must be known"):
        T.prim_func(kernel)
