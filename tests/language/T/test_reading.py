"""When elements are read: where they are indexed, as in Python, whatever is written later."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T

X = np.array([3, 1, 4, 1, 5, 9, 2, 6], np.float32)


def test_elements_that_are_exchanged_are_read_before_they_are_written():
    @tw.jit
    def reversed_(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_local((8,), "float32")
            for i in T.serial(8):
                s[i] = A[i]
            for i in T.serial(4):
                s[i], s[7 - i] = s[7 - i], s[i]
            for i in T.serial(8):
                Y[i] = s[i]
        return Y

    assert reversed_(X).tolist() == X[::-1].tolist()


def test_variables_that_are_exchanged_are_read_before_they_are_written():
    @tw.jit
    def alternating(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=1):
            a, b = T.alloc_var("float32", init=0.0), T.alloc_var("float32", init=0.0)
            a, b = A[0], A[1]
            for i in T.serial(8):
                Y[i] = a
                a, b = b, a
        return Y

    assert alternating(X).tolist() == [3, 1] * 4


def held_in_a_list(s):
    return [s[0]]


def held_in_a_tuple(s):
    return (s[0], 1)


def held_in_a_dict(s):
    return {0: s[0]}


@pytest.mark.parametrize("hold", [held_in_a_list, held_in_a_tuple, held_in_a_dict])
def test_an_element_in_a_container_is_what_it_was_when_it_was_indexed(hold):
    @tw.jit
    def kept(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((3,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_local((4,), "float32")
            s[0] = A[0]
            old = hold(s)
            s[0] = 7.0
            Y[0] = old[0]
            Y[1] = s[0]
            Y[2] = old[0] * 2
        return Y

    assert kept(X).tolist() == [3, 7, 6]


def test_an_element_that_is_passed_is_what_it_was_when_it_was_passed():
    def python(value, s):
        s[0] = 7.0
        return value + 1

    @T.macro
    def macro(value, s):
        s[0] = 8.0
        return value + 1

    @tw.jit
    def passed(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((3,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_local((4,), "float32")
            s[0] = A[0]
            Y[0] = python(s[0], s)
            Y[1] = macro(s[0], s)
            Y[2] = s[0]
        return Y

    assert passed(X).tolist() == [4, 8, 8]


def test_an_element_that_is_held_before_a_loop_is_not_read_again_in_it():
    @tw.jit
    def held(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((4,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_local((4,), "float32")
            s[0] = A[0]
            old = [s[0]]
            for i in T.serial(4):
                Y[i] = old[0]
                s[0] = s[0] + 1
        return Y

    assert held(X).tolist() == [3] * 4


def test_an_element_that_is_held_before_a_branch_is_what_it_was():
    @tw.jit
    def held(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((2,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_local((4,), "float32")
            v = T.alloc_var("int32", init=0)
            s[0] = A[0]
            s[1] = A[1]
            old = [s[v]]
            if A[2] > 0:
                v = 1
                s[0] = 7.0
                Y[0] = old[0]
            Y[1] = old[0] + s[0]
        return Y

    assert held(X).tolist() == [3, 10]


def test_a_place_in_a_list_is_still_a_place():
    """The head of a region for T.copy."""

    @tw.jit
    def copied(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=1):
            s = T.alloc_shared((4,), "float32")
            places = [(A[4], Y[0]), (A[0], Y[4])]
            T.copy(places[0][0], s)
            T.copy(s, places[0][1])
            T.copy(places[1][0], s)
            T.copy(s, places[1][1])
        return Y

    assert copied(X).tolist() == [*X[4:], *X[:4]]


def test_an_index_below_zero_for_all_iterations_counts_from_the_end():
    """Reading beyond a tensor gives zero: this gave zeros."""

    @tw.jit
    def backwards(A):
        N = T.const("N")
        A: T.Tensor((N,), "float32")
        Y = T.empty((N,), "float32")
        Z = T.empty((N,), "float32")
        with T.Kernel(2, threads=32) as bx:
            for i in T.Parallel(N // 2):
                Y[bx * (N // 2) + i] = A[-1 - i - bx * (N // 2)]
                Z[-bx * (N // 2) - i - 1] = A[bx * (N // 2) + i]
        return Y, Z

    for found in backwards(X):
        assert found.tolist() == X[::-1].tolist()


def test_an_index_of_either_sign_is_a_place_beyond_the_tensor():
    @tw.jit
    def padded(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(8):
                Y[i] = A[i - 2]
        return Y

    assert padded(X).tolist() == [0, 0, *X[:6]]


def test_what_is_computed_of_loop_variables_is_an_int32_wherever_it_goes():
    """On a GPU it is; NumPy computed with 64 bits, and int64 showed it."""

    @tw.jit
    def products(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "int64")
        Z = T.empty((8,), "int64")
        with T.Kernel(1, threads=8):
            for i in T.Parallel(8):
                Y[i] = (i + 60000) * 70000
                Z[i] = (T.cast(i, "int64") + 60000) * 70000
        return Y, Z

    exact = (np.arange(8) + 60000) * 70000
    narrow, wide = products(X)
    assert narrow.tolist() == exact.astype(np.int32).tolist()
    assert wide.tolist() == exact.tolist()


def test_the_largest_float_may_be_written_with_fewer_digits():
    @tw.jit
    def largest(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((2,), "float32")
        with T.Kernel(1, threads=1):
            Y[0] = 3.4028235e38
            Y[1] = -3.4028235e38
        return Y

    greatest = float(np.finfo(np.float32).max)
    assert largest(X).tolist() == [greatest, -greatest]

    @tw.jit
    def beyond(A):
        A: T.Tensor((8,), "float32")
        with T.Kernel(1, threads=1):
            A[0] = 3.41e38

    with pytest.raises(tw.CompileError, match=r"3\.41e\+38 exceeds maximum of float32"):
        beyond(X)
