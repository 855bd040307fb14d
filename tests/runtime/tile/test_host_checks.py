"""What is checked of a call before a `T` kernel runs: every message names kernel, argument, field."""

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[2])
def scaled(M, N, dtype="float16"):
    @T.prim_func
    def scale(
        A: T.Tensor((M, N), dtype),
        factor: T.int32,
        C: T.Tensor((M, N), dtype),
        unused: T.Tensor((M,), "float32"),
    ):
        with T.Kernel(1) as _:
            for i, j in T.Parallel(M, N):
                C[i, j] = A[i, j] * T.cast(factor, dtype)

    return scale


KERNEL = scaled(4, 6)
A = np.arange(24, dtype=np.float16).reshape(4, 6)
UNUSED = np.zeros(4, np.float32)


def test_a_call_that_fits_runs():
    assert (KERNEL(A, 3, UNUSED) == 3 * A).all()


def test_memory_that_the_kernel_does_not_touch_may_be_none():
    assert (KERNEL(A, 2, None) == 2 * A).all()


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, np.uint8)
    shifted = memory[1:].view(array.dtype).reshape(array.shape)
    shifted[...] = array
    return shifted


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((A, 3), TypeError, "scale takes 3 arguments (A, factor, unused) (C is allocated by the call), "
                            "got 2"),
        ((None, 3, UNUSED), ValueError, "scale.A is expected to have non-NULL pointer"),
        ((7, 3, UNUSED), TypeError, "scale.A: expected a tensor of float16, got 7"),
        ((A, A, UNUSED), TypeError, "scale.factor: expected a scalar of type int32, got a tensor"),
        ((A, "x", UNUSED), TypeError, "scale.factor: expected a scalar of type int32, got 'x'"),
        ((A, 3.5, UNUSED), ValueError, "scale.factor: 3.5 does not fit int32"),
        ((A, 1 << 40, UNUSED), ValueError, "scale.factor: 1099511627776 does not fit int32"),
        ((A[0], 3, UNUSED), ValueError, "scale.A has rank 1, shape (6,), but it is declared with "
                                        "rank 2, shape (4, 6)"),
        ((A.astype(np.float32), 3, UNUSED), TypeError,
         "scale.A has dtype float32, but it is declared with dtype float16: convert the argument"),
        ((A[:3], 3, UNUSED), ValueError, "scale.A has shape[0] = 3, but 4 is expected"),
        ((A.reshape(6, 4).T, 3, UNUSED), ValueError,
         "scale.A has strides (1, 4), but it is declared contiguous"),
        ((misaligned(A), 3, UNUSED), ValueError, "scale.A has a byte offset of 1: its first "
                                                 "element is not aligned to the 2 bytes of float16"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_named(arguments, kind, message):
    with pytest.raises(kind) as caught:
        KERNEL(*arguments)
    assert message in str(caught.value)
    assert "TW6030" in str(caught.value)


class Elsewhere:
    """Memory that says it is on another device."""

    device = "npu:1"

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self._array = array


def test_tensors_of_one_call_are_on_one_device():
    with pytest.raises(ValueError, match=r"scale.unused is on device npu:1, but scale.A is on "):
        KERNEL(A, 3, Elsewhere(UNUSED))


@pytest.mark.parametrize(
    ("declared", "given"),
    [
        ("float8_e4m3fn", ml_dtypes.float8_e4m3fnuz),
        ("float8_e5m2", ml_dtypes.float8_e5m2fnuz),
    ],
)
def test_8_bit_floats_of_a_family_are_interchangeable(declared, given):
    @T.prim_func
    def moved(A: T.Tensor((4,), declared), C: T.Tensor((4,), declared)):
        with T.Kernel(1) as _:
            T.copy(A, C)

    kernel = tw.compile(moved, out_idx=-1)
    a = np.array([1, 2, 3, 4], given)
    assert kernel(a).view(np.uint8).tolist() == a.view(np.uint8).tolist()
    with pytest.raises(TypeError, match=r"moved.A has dtype float32"):
        kernel(np.zeros(4, np.float32))


def test_bool_takes_integers_of_8_bits():
    @T.prim_func
    def chosen(mask: T.Tensor((4,), "bool"), C: T.Tensor((4,), "int32")):
        with T.Kernel(1) as _:
            for i in T.Parallel(4):
                C[i] = T.if_then_else(mask[i], 7, 1)

    kernel = tw.compile(chosen, out_idx=1)
    for dtype in (np.bool_, np.int8, np.uint8):
        assert kernel(np.array([1, 0, 0, 1], dtype)).tolist() == [7, 1, 1, 7]
    with pytest.raises(TypeError, match=r"chosen.mask has dtype int16"):
        kernel(np.zeros(4, np.int16))


def test_open_sizes_are_solved_and_have_to_agree():
    m, n = T.dynamic("m"), T.dynamic("n")

    @T.prim_func
    def joined(
        A: T.Tensor((m, n + 1), "float32"),
        B: T.Tensor((n, m), "float32"),
        C: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(1) as _:
            for i in T.Parallel(m):
                C[i] = A[i, n] + B[0, i]

    kernel = tw.compile(joined, out_idx=[-1])
    a, b = np.ones((3, 5), np.float32), np.ones((4, 3), np.float32)
    assert kernel(a, b).tolist() == [2, 2, 2]
    assert kernel(np.ones((2, 3), np.float32), np.ones((2, 2), np.float32)).tolist() == [2, 2]
    with pytest.raises(ValueError, match=r"joined.B has shape\[0\] = 5, but 4 = n is expected"):
        kernel(a, np.ones((5, 3), np.float32))


def test_declared_strides_are_checked():
    s = T.dynamic("s")

    @T.prim_func
    def picked(A: T.StridedTensor((4, 3), (s, 1), "float32"), C: T.Tensor((4, 3), "float32")):
        with T.Kernel(1) as _:
            for i, j in T.Parallel(4, 3):
                C[i, j] = A[i, j]

    kernel = tw.compile(picked, out_idx=-1)
    wide = np.arange(40, dtype=np.float32).reshape(4, 10)
    assert (kernel(wide[:, :3]) == wide[:, :3]).all()
    with pytest.raises(ValueError, match=r"picked.A has strides\[1\] = 2, but 1 is expected"):
        kernel(wide[:, :6:2])


def test_an_output_whose_size_nobody_tells():
    m = T.dynamic("m")

    @T.prim_func
    def made(A: T.Tensor((4,), "float32"), C: T.Tensor((m,), "float32")):
        with T.Kernel(1) as _:
            for i in T.Parallel(m):
                C[i] = A[0]

    kernel = tw.compile(made, out_idx=-1)
    with pytest.raises(
        ValueError, match=r"made.C cannot be allocated: one of its sizes is not determined"
    ):
        kernel(np.zeros(4, np.float32))


@pytest.mark.parametrize(
    ("out_idx", "message"),
    [
        (5, "out_idx has 5, but scale has 4 parameters"),
        (1, "out_idx has 1, but factor is not a tensor"),
    ],
)
def test_out_idx_is_checked(out_idx, message):
    with pytest.raises(ValueError, match=message):
        tw.compile(KERNEL.prim_func, out_idx=out_idx)


def test_outputs_come_in_the_order_of_parameters():
    @T.prim_func
    def both(B: T.Tensor((2,), "int32"), A: T.Tensor((2,), "int32"), C: T.Tensor((2,), "int32")):
        with T.Kernel(1) as _:
            for i in T.Parallel(2):
                B[i] = A[i] + 1
                C[i] = A[i] + 2

    a = np.array([1, 2], np.int32)
    found = tw.compile(both, out_idx=[-1, 0])(a)
    assert isinstance(found, list)
    assert [each.tolist() for each in found] == [[2, 3], [3, 4]]
    b, c = np.zeros_like(a), np.zeros_like(a)
    assert tw.compile(both)(b, a, c) is None
    assert (b.tolist(), c.tolist()) == ([2, 3], [3, 4])


def in_signature(A, k: T.int32):
    A: T.Tensor((4,), "float32")
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * k
    return B


def in_body(A, k):
    A: T.Tensor((4,), "float32")
    k: T.int32
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * k
    return B


def as_text(A, k):
    A: T.Tensor((4,), "float32")
    k: "int32"  # noqa: F821, UP037 # the name of a dtype
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * k
    return B


def as_text_in_signature(A, k: "int32"):  # noqa: F821 # the name of a dtype
    A: T.Tensor((4,), "float32")
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * k
    return B


@pytest.mark.parametrize("function", [in_signature, in_body, as_text, as_text_in_signature])
def test_a_number_is_checked_wherever_its_type_is_declared(function):
    kernel = tw.jit(function)
    ones = np.ones(4, np.float32)
    assert kernel(ones, 3).tolist() == [3] * 4
    assert kernel(ones, np.int64(4)).tolist() == [4] * 4
    for wrong in (3.7, np.float32(3.7), 1 << 40, float("inf")):
        with pytest.raises(ValueError, match=rf"{function.__name__}\.k: .* does not fit int32"):
            kernel(ones, wrong)
    with pytest.raises(TypeError, match=r"k: expected a scalar of type int32, got None"):
        kernel(ones, None)
    assert [param.kind for param in kernel.compile(k=3).params] == ["tensor", "scalar", "tensor"]


def test_a_number_that_is_declared_inside_of_the_kernel_is_declared_too_late():
    @tw.jit
    def late(A, k):
        A: T.Tensor((4,), "float32")
        with T.Kernel(1):
            k: T.int32
            A[0] = k

    with pytest.raises(tw.CompileError, match=r"k: T\.int32 is declared too late"):
        late(np.ones(4, np.float32), 3)


def test_a_variable_of_a_macro_is_no_parameter_of_the_kernel():
    @T.macro
    def half(k):
        k: T.int32
        return k * 0.5

    @tw.jit
    def kernel(A, k):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i] * half(k)
        return B

    assert kernel(np.ones(4, np.float32), 3.0).tolist() == [1.5] * 4


@tw.jit
def by_float(A, k: T.float32):
    A: T.Tensor((4,), "float32")
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * k
    return B


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.float64(1e300), 1e300, -1e39, 1 << 200])
def test_a_number_beyond_a_float_is_refused_without_a_warning(number):
    with pytest.raises(ValueError, match=r"by_float\.k: .* does not fit float32"):
        by_float(np.ones(4, np.float32), number)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.float64("inf"), 3.4028235e38, 1e-60, np.float64(0.1), 7])
def test_a_number_of_a_float_is_rounded(number):
    found = by_float(np.ones(4, np.float32), number)
    assert found.tolist() == [np.float32(number)] * 4


@pytest.mark.parametrize("number", ["3.5", None, 1j, b"1"])
def test_text_and_nothing_are_no_floats(number):
    with pytest.raises(TypeError, match=r"by_float\.k: expected a scalar of type float32, got .*"):
        by_float(np.ones(4, np.float32), number)
