"""Roles of a kernel's own (`T.ws`) run concurrently: their buffers do not share bytes."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.nv import BarOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.traversal import walk


def offsets(kernel, *arguments) -> dict[str, int]:
    """Where the shared buffers of a kernel begin."""
    module, _ = lowered(kernel, *arguments)
    return {
        str(op.buffer_name): op.offset_bytes or 0
        for op in walk(module)
        if isinstance(op, AllocOp) and op.space.is_shared
    }


@pytest.mark.parametrize("first", [0, 1])
def test_two_roles_copy_through_a_buffer_each(first):
    """Both buffers were given the same bytes, and TW4081 told the author of a race."""

    @tw.jit
    def two_roles(A):
        A: T.Tensor((64, 64), "float16")
        Out = T.empty((128, 64), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            with T.ws(first):
                T.copy(A, a)
                T.copy(a, Out[0, 0])
            with T.ws(1 - first):
                T.copy(A, b)
                T.copy(b, Out[64, 0])
        return Out

    a = whole(0, 64, 64)
    check(two_roles, a, expected=np.concatenate([a, a]))
    assert offsets(two_roles, a) == {"a": 0, "b": 64 * 64 * 2}


def test_a_role_in_a_loop_goes_on_while_another_begins_what_follows():
    @tw.jit
    def loop_then_role(A):
        A: T.Tensor((4, 32, 32), "float16")
        Out = T.empty((5, 32, 32), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            for k in T.serial(4):
                with T.ws(1):
                    T.copy(A[k, 0, 0], a)
                    T.copy(a, Out[k, 0, 0])
            with T.ws(0):
                T.copy(A[2, 0, 0], b)
                T.copy(b, Out[4, 0, 0])
        return Out

    a = whole(1, 4, 32, 32)
    check(loop_then_role, a, expected=np.concatenate([a, a[2:3]]))


def test_buffers_share_bytes_across_a_barrier_of_the_block():
    @tw.jit
    def one_after_the_other(A):
        A: T.Tensor((64, 64), "float16")
        Out = T.empty((128, 64), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            with T.ws(1):
                T.copy(A, a)
                T.copy(a, Out[0, 0])
            T.sync_threads()
            with T.ws(0):
                T.copy(A, b)
                T.copy(b, Out[64, 0])
        return Out

    a = whole(2, 64, 64)
    check(one_after_the_other, a, expected=np.concatenate([a, a]))
    assert offsets(one_after_the_other, a) == {"a": 0, "b": 0}


def test_more_roles_than_named_barriers():
    """A block has 16 named barriers; every role took one of its own."""

    @tw.jit
    def many_roles(A):
        A: T.Tensor((32, 32), "float16")
        Out = T.empty((20, 32, 32), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            for k in T.unroll(10, explicit=True):
                with T.ws(1):
                    T.copy(A, a)
                    T.copy(a, Out[2 * k, 0, 0])
                with T.ws(0):
                    T.copy(A, b)
                    T.copy(b, Out[2 * k + 1, 0, 0])
        return Out

    a = whole(3, 32, 32)
    check(many_roles, a, expected=np.repeat(a[None], 20, axis=0))
    module, _ = lowered(many_roles, a)
    ids = [op.id.value.data for op in walk(module) if isinstance(op, BarOp)]
    assert ids and max(ids) < 16


def test_a_role_writes_what_all_threads_have_read():
    @tw.jit
    def read_then_written(A):
        A: T.Tensor((2, 32, 32), "float16")
        Out = T.empty((2, 32, 32), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((32, 32), "float16")
            T.copy(A[0, 0, 0], a)
            T.sync_threads()
            for i, j in T.Parallel(32, 32):
                Out[0, i, j] = a[31 - i, j]
            with T.ws(1):
                T.copy(A[1, 0, 0], a)
                T.copy(a, Out[1, 0, 0])
        return Out

    a = whole(4, 2, 32, 32)
    check(read_then_written, a, expected=np.stack([a[0, ::-1], a[1]]))


def test_all_threads_read_what_a_role_wrote_before_another_one_met():
    """The barrier of the second role's own threads is none for the first."""

    @tw.jit
    def later(A):
        A: T.Tensor((32, 32), "float16")
        Out = T.empty((2, 32, 32), "float16")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((32, 32), "float16")
            b = T.alloc_shared((32, 32), "float16")
            with T.ws(1):
                T.copy(A, a)
            with T.ws(0):
                T.copy(A, b)
                for i, j in T.Parallel(32, 32):
                    Out[0, i, j] = b[31 - i, j]
            for i, j in T.Parallel(32, 32):
                Out[1, i, j] = a[31 - i, j]
        return Out

    a = whole(5, 32, 32)
    check(later, a, expected=np.stack([a[::-1], a[::-1]]))
