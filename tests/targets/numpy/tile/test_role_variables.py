"""Variables of threads in ``T.ws``: what a warp group has set is preserved for its next role."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy import NumpyFault

X = np.zeros(4, np.float32)


def run(part, threads=256):
    macro = T.macro(part)

    @tw.jit
    def kernel(A):
        A: T.Tensor((4,), "float32")
        Y = T.empty((4,), "float32")
        with T.Kernel(1, threads=threads):
            macro(A, Y)
        return Y

    return kernel(X).tolist()


def test_a_role_of_all_threads_sets_a_variable_for_what_follows():
    def set_by_all(A, Y):
        v = T.alloc_var("int32", init=0)
        numbers = T.alloc_local((2,), "int32")
        numbers[0] = 1
        numbers[1] = 2
        with T.ws(0):
            v = 5
            numbers[1] = 7
        for i in T.Parallel(4):
            Y[i] = v * 100 + numbers[0] * 10 + numbers[1]

    assert run(set_by_all, threads=128) == [517] * 4


def test_a_group_has_its_variable_in_its_next_role():
    def next_role(A, Y):
        v = T.alloc_var("int32", init=1)
        with T.ws(0):
            v = 5
        with T.ws(1):
            v = v + 1
        T.sync_threads()
        with T.ws(0):
            Y[0] = v
        with T.ws(1):
            Y[1] = v
            Y[2] = v + 1
            Y[3] = v + 2

    assert run(next_role) == [5, 2, 3, 4]


def test_a_group_counts_over_the_iterations_of_a_loop_around_it():
    def counted(A, Y):
        v = T.alloc_var("int32", init=0)
        for i in T.serial(4):
            with T.ws(0):
                v += i
                Y[i] = v

    assert run(counted) == [0, 1, 3, 6]


def test_what_all_threads_write_the_groups_have():
    def reset(A, Y):
        v = T.alloc_var("int32", init=0)
        for i in T.serial(4):
            v = 0
            with T.ws(0):
                v += i + 1
                Y[i] = v

    assert run(reset) == [1, 2, 3, 4]


def test_reading_what_groups_have_different_values_of_is_reported():
    def differs(A, Y):
        v = T.alloc_var("int32", init=0)
        with T.ws(0):
            v = 5
        for i in T.Parallel(4):
            Y[i] = v

    with pytest.raises(NumpyFault, match=r"divergent value of v"):
        run(differs)


def test_groups_that_have_the_same_value_may_be_read():
    def same(A, Y):
        v = T.alloc_var("int32", init=0)
        with T.ws(0):
            v = 0
        for i in T.Parallel(4):
            Y[i] = v + 3

    assert run(same) == [3] * 4
