"""``break`` and ``continue`` wherever they stand: what is behind them in the loop does not run."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.language.T.dtypes import dtype

X = np.zeros(4, np.float32)
YES = True


def continue_that_is_known(X, out):
    for i in T.serial(4):
        if YES:
            continue
        out[i] = 1


def break_that_is_known(X, out):
    for i in T.serial(4):
        out[i] = 1
        if YES:
            break
        out[i] = 2


def known_inside_of_unknown(X, out):
    for i in T.serial(4):
        if i >= 2:
            if YES:
                if not YES:
                    out[i] = 7
                else:
                    continue
            out[i] = 3
        out[i] = 1


def known_by_a_short_circuit(X, out):
    for i in T.serial(4):
        if YES or X[i] > 0:
            continue
        out[i] = 1


def known_in_a_while(X, out):
    count = T.alloc_var("int32", init=0)
    while count < 4:
        out[count] = 1
        count += 1
        if YES:
            continue
        out[count - 1] = 5


KERNELS = {
    continue_that_is_known: [0, 0, 0, 0],
    break_that_is_known: [1, 0, 0, 0],
    known_inside_of_unknown: [1, 1, 0, 0],
    known_by_a_short_circuit: [0, 0, 0, 0],
    known_in_a_while: [1, 1, 1, 1],
}


@pytest.mark.parametrize("part", KERNELS, ids=lambda part: part.__name__)
def test_an_exit_under_a_condition_that_is_known_skips_the_rest(part):
    macro = T.macro(part)

    @tw.jit
    def kernel(A):
        A: T.Tensor((4,), "float32")
        Y = T.empty((4,), "float32")
        with T.Kernel(1, threads=1):
            for i in T.serial(4):
                Y[i] = 0
            macro(A, Y)
        return Y

    assert kernel(X).tolist() == KERNELS[part]


def test_an_exit_inside_of_a_with_skips_what_is_behind_it():
    def kernel(A: T.Tensor((4,), "float32")):
        with T.Kernel(1, threads=128):
            for i in T.serial(4):
                with T.ws(0):
                    if i >= 2:
                        continue
                A[i] = 1

    text = str(T.prim_func(kernel))
    behind = text[text.index("tile.ws") :]
    assert behind.index("scf.if %1 {") < behind.index("memref.store %cst, %A")


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "int32", "uint32", "int64", "bool"])
def test_a_neutral_operand_changes_the_type_like_any_other(name, number):
    """x + 0 of an int8 stayed an int8, where x + 1 is an int32."""
    found = {}

    def kernel(A: T.Tensor((4,), name)):
        with T.Kernel(1, threads=1):
            x = A[0]
            found["+"] = (x + number).dtype, (number + x).dtype
            found["*"] = (x * number).dtype, (number * x).dtype
            found["-"] = ((x - number).dtype,)
            found["<<"] = ((x << number).dtype,)
            A[0] = x

    T.prim_func(kernel)
    wide = name if dtype(name).bits >= 32 else "int32"
    assert {str(each) for pair in found.values() for each in pair} == {wide}


def test_sums_of_products_with_one_do_not_wrap_around():
    @tw.jit
    def doubled(A, step=1):
        A: T.Tensor((4,), "int8")
        Y = T.empty((4,), "int32")
        with T.Kernel(1, threads=4):
            for i in T.Parallel(4):
                Y[i] = A[i] * step + A[i] * step
        return Y

    a = np.array([100, -100, 127, -128], np.int8)
    assert doubled(a).tolist() == [200, -200, 254, -256]
    assert doubled(a, 2).tolist() == [400, -400, 508, -512]


def test_a_variable_plus_nothing_is_a_number():
    @tw.jit
    def kept(A):
        A: T.Tensor((4,), "float32")
        Y = T.empty((3,), "int32")
        with T.Kernel(1, threads=1):
            v = T.alloc_var("int32", init=3)
            old = [v + 0, v * 1, 0 + v]
            v = 7
            Y[0], Y[1], Y[2] = old
        return Y

    assert kept(X).tolist() == [3, 3, 3]
