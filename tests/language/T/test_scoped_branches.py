"""``with T.If(c): with T.Then(): ...`` and ``T.loop_break()``: the same as ``if`` and ``break``."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import CompileError

X = np.array([3, -1, 0, 7, -5, 2, 9, -2], np.float32)
KNOWN = True


def both_sides(X, Y):
    for i in T.serial(8):
        with T.If(X[i] > 0):
            with T.Then():
                Y[i] = X[i] * 2
            with T.Else():
                Y[i] = -1


def one_side(X, Y):
    for i in T.serial(8):
        Y[i] = 5
        with T.If(X[i] > 0), T.Then():
            Y[i] = Y[i] + X[i]
        Y[i] = Y[i] + 1


def known_condition(X, Y):
    for i in T.serial(8):
        with T.If(KNOWN):
            with T.Then():
                Y[i] = 1
            with T.Else():
                Y[i] = 2


def break_in_a_branch(X, Y):
    for i in T.serial(8):
        if X[i] > 6:
            T.loop_break()
            Y[i] = 9
        Y[i] = i + 1


def break_in_a_side(X, Y):
    for i in T.serial(8):
        with T.If(X[i] > 6):
            with T.Then():
                Y[i] = 4
                T.loop_break()
                Y[i] = 9
            with T.Else():
                Y[i] = 3
        Y[i] = Y[i] + 10


def break_of_the_inner_loop(X, Y):
    for i in T.serial(8):
        for j in T.serial(8):
            if j > i:
                T.loop_break()
            Y[i] = Y[i] + 1


KERNELS = {
    both_sides: [6, -1, -1, 14, -1, 4, 18, -1],
    one_side: [9, 6, 6, 13, 6, 8, 15, 6],
    known_condition: [1] * 8,
    break_in_a_branch: [1, 2, 3, 0, 0, 0, 0, 0],
    break_in_a_side: [13, 13, 13, 4, 0, 0, 0, 0],
    break_of_the_inner_loop: [1, 2, 3, 4, 5, 6, 7, 8],
}


def _run(part):
    macro = T.macro(part)

    @tw.jit
    def kernel(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=1):
            for i in T.serial(8):
                Y[i] = 0
            macro(A, Y)
        return Y

    return kernel(X)


@pytest.mark.parametrize("part", KERNELS, ids=lambda part: part.__name__)
def test_branches_and_exits_of_scripts_mean_what_those_of_python_mean(part):
    assert _run(part).tolist() == KERNELS[part]


def test_sides_change_memory():
    @tw.jit
    def kernel(A):
        A: T.Tensor((8,), "float32")
        Y = T.empty((8,), "int32")
        with T.Kernel(1, threads=1):
            count = T.alloc_var("int32", init=0)
            for i in T.serial(8):
                with T.If(A[i] != 0):
                    with T.Then():
                        with T.If(A[i] > 0), T.Then():
                            count += 1
                        with T.If(A[i] < 0), T.Then():
                            count += 10
                    with T.Else():
                        count += 100
                Y[i] = count
        return Y

    assert kernel(X).tolist() == [1, 11, 111, 112, 122, 123, 124, 134]


def test_a_name_that_a_side_assigns_is_not_seen_after_it():
    with pytest.raises(CompileError, match="found is not defined: it is assigned inside the with"):

        @T.prim_func
        def kernel(A: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
            with T.Kernel(1, threads=1):
                with T.If(A[0] > 0), T.Then():
                    found = A[1]
                Y[0] = found


def test_a_side_needs_its_branch():
    def sideless(A, Y):
        with T.If(A[0] > 0):
            Y[0] = 1

    def branchless(A, Y):
        with T.Then():
            Y[0] = 1

    def wrong_order(A, Y):
        with T.If(A[0] > 0), T.Else():
            Y[0] = 1

    def loopless(A, Y):
        T.loop_break()

    expected = {
        sideless: r"T.If needs a `with T.Then\(\):` inside",
        branchless: r"T.Then must be inside `with T.If",
        wrong_order: "T.Else comes after T.Then",
        loopless: "break is for serial, unrolled and while loops, and this is in no loop",
    }
    for part, message in expected.items():
        with pytest.raises(CompileError, match=message):
            _traced(T.macro(part))


def _traced(macro):
    @T.prim_func
    def kernel(A: T.Tensor((8,), "float32"), Y: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=1):
            macro(A, Y)

    return kernel
