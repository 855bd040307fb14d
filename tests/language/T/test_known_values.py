"""Values that Python knows while a kernel is traced, and what loops and branches make of them."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T

ONES = np.ones(4, np.float32)


def told(function, *arguments):
    """What a wrong kernel is told, and the author's line."""
    with pytest.raises(tw.CompileError) as error:
        tw.jit(function)(ONES, *arguments)
    text = str(error.value).splitlines()
    assert text[0].startswith(f"{__file__}:")
    return text[0].partition(": error")[2], text[1].partition("| ")[2].strip()


def test_an_output_that_a_loop_rebinds_is_blamed_on_the_line_of_the_author():
    def last(X):
        X: T.Tensor((4,), "float32")
        Y = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.serial(4):
                Y = X[i]
        return Y

    message, line = told(last)
    assert message.startswith("[TW1002]: Y is not defined: the loop in line ")
    assert line == "return Y"


@pytest.mark.parametrize("value", [7, "text", 1.5])
def test_a_kernel_that_returns_no_tensor_is_told_at_its_return(value):
    def seven(X):
        X: T.Tensor((4,), "float32")
        with T.Kernel(1):
            X[0] = 1
        return X, value

    message, line = told(seven)
    assert message == (
        f"[TW1006]: the kernel returns {value!r}, which is not a tensor: return outputs declared with "
        "T.empty"
    )
    assert line == "return X, value"


def test_a_value_of_a_loop_is_not_compared_behind_it():
    """What has no value is unequal to everything for Python."""

    def compared(X):
        X: T.Tensor((4,), "float32")
        Y = T.empty((1,), "float32")
        with T.Kernel(1):
            s = 0
            for i in T.serial(4):
                s = X[i]
            Y[0] = 1 if s == 1.0 else 2
        return Y

    message, line = told(compared)
    assert message.startswith("[TW1002]: s is not defined: the loop in line ")
    assert line == "Y[0] = 1 if s == 1.0 else 2"


def loop_that_may_have_no_iteration(X, n: T.int32):
    X: T.Tensor((4,), "float32")
    Y = T.empty((1,), "float32")
    with T.Kernel(1):
        s = 5
        for _ in T.serial(n):
            s = 7
        Y[0] = s
    return Y


def loop_that_may_be_left(X, n: T.int32):
    X: T.Tensor((4,), "float32")
    Y = T.empty((1,), "float32")
    with T.Kernel(1):
        s = 5
        for i in T.serial(4):
            if i < n:
                continue
            s = 7
        Y[0] = s
    return Y


def while_that_may_have_no_iteration(X, n: T.int32):
    X: T.Tensor((4,), "float32")
    Y = T.empty((1,), "float32")
    with T.Kernel(1):
        s = 5
        count = T.alloc_var("int32", init=0)
        while count < n:
            count += 1
            s = 7
        Y[0] = s
    return Y


@pytest.mark.parametrize(
    "function",
    [
        loop_that_may_have_no_iteration,
        loop_that_may_be_left,
        while_that_may_have_no_iteration,
    ],
)
def test_a_number_that_a_loop_may_not_reach_is_not_taken_for_assigned(function):
    message, line = told(function, 0)
    assert message.startswith("[TW1002]: s is not defined: the loop in line ")
    assert "only if an iteration reaches the assignment" in message
    assert line == "Y[0] = s"


def test_a_number_that_a_loop_assigns_for_sure_is_known_behind_it():
    @tw.jit
    def sure(X):
        M = T.const("M")
        X: T.Tensor((M,), "float32")
        Y = T.empty((2,), "float32")
        with T.Kernel(1):
            s = first = 5
            for _ in T.serial(M):
                s = 7
            for _ in T.Parallel(3):
                first = 8
            Y[0], Y[1] = s, first
        return Y

    assert sure(ONES).tolist() == [7, 8]


def list_in_a_loop(X):
    X: T.Tensor((4,), "float32")
    Y = T.empty((4,), "float32")
    with T.Kernel(1):
        s = [0]
        for i in T.serial(4):
            s[0] = s[0] + 1
            Y[i] = s[0]
    return Y


def augmented_element(X):
    X: T.Tensor((4,), "float32")
    Y = T.empty((4,), "float32")
    with T.Kernel(1):
        s = [[0]]
        for i in T.serial(4):
            s[0][0] += 1
            Y[i] = s[0][0]
    return Y


def dict_in_a_branch(X):
    X: T.Tensor((4,), "float32")
    Y = T.empty((1,), "float32")
    with T.Kernel(1):
        found = {}
        if X[0] > 5:
            found["v"] = 1.0
        else:
            found["v"] = 2.0
        Y[0] = found["v"]
    return Y


def appended(X):
    X: T.Tensor((4,), "float32")
    Y = T.empty((1,), "float32")
    with T.Kernel(1):
        seen = []
        for i in T.unroll(4):
            seen.append(i)
        Y[0] = len(seen)
    return Y


@pytest.mark.parametrize(
    ("function", "name", "line"),
    [
        (list_in_a_loop, "s is a list", "s[0] = s[0] + 1"),
        (augmented_element, "s is a list", "s[0][0] += 1"),
        (dict_in_a_branch, "found is a dict", 'found["v"] = 1.0'),
        (appended, "seen is a list", "seen.append(i)"),
    ],
)
def test_a_container_of_python_does_not_change_where_the_kernel_repeats_or_decides(
    function, name, line
):
    message, found = told(function)
    assert message.startswith(f"[TW1034]: {name} of Python, made outside of this loop or branch")
    assert found == line


def test_containers_of_python_change_where_statements_run_once():
    @tw.jit
    def fine(X):
        X: T.Tensor((4,), "float32")
        Y = T.empty((4,), "float32")
        factors = [1.0]
        factors.append(3.0)
        with T.Kernel(1):
            factors[0] = 2.0
            for i in T.Parallel(4):
                local = [0.0, 0.0]
                local[1] = factors[0] * factors[1]
                Y[i] = X[i] * local[1]
        return Y

    assert fine(ONES).tolist() == [6] * 4


def test_branches_that_leave_equal_numbers_of_different_types_leave_the_wider_one():
    @tw.jit
    def halved(X):
        X: T.Tensor((4,), "float32")
        Y = T.empty((2,), "float32")
        with T.Kernel(1):
            s, zero = 1, 0.0
            if X[0] > 0:
                s, zero = 1.0, -0.0
            Y[0] = s / 2
            Y[1] = 1 / zero
        return Y

    assert halved(ONES).tolist() == [0.5, -np.inf]
    assert halved(-ONES).tolist() == [0.5, np.inf]
