"""Scalars: promotion, division, conversion, lazy choices."""

import pytest

from tests.language.T.kernels import body, mistake, ops, without_constants
from tilewright import T
from tilewright.language.T.arithmetic import promoted
from tilewright.language.T.dtypes import dtype


@pytest.mark.parametrize(
    ("one", "other", "result"),
    [
        ("int32", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("bfloat16", "float16", "float32"),
        ("int8", "int32", "int32"),
        ("uint8", "uint16", "uint16"),
        ("int32", "uint32", "uint32"),
        ("int64", "uint32", "int64"),
        ("uint64", "int64", "uint64"),
        ("bool", "int8", "int8"),
        ("float8_e4m3fn", "float16", "float16"),
        ("int64", "int32", "int64"),
    ],
)
def test_promotion(one, other, result):
    assert promoted(dtype(one), dtype(other)) == result
    assert promoted(dtype(other), dtype(one)) == result


def test_indices_and_data_meet_as_index():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[bx * 2 + A[0]] = 1

    assert without_constants(body(kernel)) == [
        *("arith.muli", "memref.load", "arith.index_cast", "arith.addi", "memref.store"),
    ]


def test_numbers_take_the_type_they_meet():
    def kernel(A: T.Tensor((8,), "float16"), B: T.Tensor((8,), "float64")):
        with T.Kernel(8) as bx:
            A[bx] = A[bx] + 1
            B[bx] = B[bx] * 0.5

    assert ops(body(kernel)) == [
        *("memref.load", "arith.constant", "arith.addf", "memref.store"),
        *("memref.load", "arith.constant", "arith.mulf", "memref.store"),
    ]
    assert "arith.constant 1.000000e+00 : f16" in body(kernel)
    assert "arith.constant 5.000000e-01 : f64" in body(kernel)


def test_a_python_float_is_float32_for_a_smaller_float():
    def kernel(A: T.Tensor((8,), "float16")):
        with T.Kernel(8) as bx:
            A[bx] = A[bx] * 0.5

    assert without_constants(body(kernel)) == [
        *("memref.load", "arith.extf", "arith.mulf", "arith.truncf", "memref.store"),
    ]


def test_division_rounds_down():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[0] = A[bx] // 4
            A[1] = A[bx] % 4
            A[2] = bx % 4
            A[3] = T.ceildiv(A[bx], 4)

    assert without_constants(body(kernel)) == [
        *("memref.load", "arith.floordivsi", "memref.store"),
        # the remainder has the sign of the divisor
        *("memref.load", "arith.remsi", "arith.cmpi", "arith.addi", "arith.select", "memref.store"),
        # a block index is never negative
        *("arith.remsi", "arith.index_cast", "memref.store"),
        *("memref.load", "arith.ceildivsi", "memref.store"),
    ]


def test_unsigned_integers_use_unsigned_ops():
    def kernel(A: T.Tensor((8,), "uint8")):
        with T.Kernel(8) as bx:
            x = A[bx]
            A[0] = x // A[1]
            A[1] = x >> A[5]
            A[2] = T.max(x, A[2])
            A[3] = T.cast(x < A[3], "uint8")
            A[4] = T.cast(T.cast(x, "float32"), "uint8")

    text = body(kernel)
    for op in ("divui", "shrui", "maxui", "cmpi ugt,", "extui", "uitofp", "fptoui"):
        assert f"arith.{op} " in text


def test_integers_are_not_divided_with_a_slash():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[0] = A[bx] / 4

    assert mistake(kernel) == (
        "error[TW1010]: / of two integers (int32 and int32) is ambiguous: write // to round down, "
        "or convert one of them with T.cast(value, T.float32)"
    )


def test_small_sums_need_no_op():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[bx * 1 + 0] = 1 * bx

    assert without_constants(body(kernel)) == ["arith.index_cast", "memref.store"]


def test_sizes_of_python_are_computed_at_once():
    assert T.ceildiv(10, 4) == 3
    assert (T.min(3, 4), T.max(3, 4)) == (3, 4)
    assert T.floordiv(-7, 2) == -4
    assert T.truncdiv(-7, 2) == -3


def test_if_then_else_does_not_read_the_other_arm():
    def kernel(A: T.Tensor((8,), "float32"), n: T.int32):
        with T.Kernel(8) as bx:
            A[bx] = T.if_then_else(bx < n, A[bx + n] * 2, 0)

    text = body(kernel)
    lines = text.splitlines()
    branch = next(at for at, line in enumerate(lines) if "scf.if" in line)
    assert all("memref.load" not in line for line in lines[:branch])
    assert "memref.load %A" in "\n".join(lines[branch:])


def test_if_then_else_of_pure_arms_is_a_select():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[bx] = T.if_then_else(bx < 4, bx, 7 - bx)

    assert without_constants(body(kernel)) == [
        *("arith.cmpi", "arith.subi", "arith.select", "arith.index_cast", "memref.store"),
    ]


def test_a_named_value_is_computed_where_it_is_named():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            x = A[bx]
            A[bx] = T.if_then_else(bx < 4, x, A[0]) + x

    text = body(kernel)
    assert text.splitlines()[0] == "%x = memref.load %A[%bx] : memref<8xf32, #global>"
    assert text.count("memref.load %A[%bx]") == 1


def test_an_arm_is_not_moved_behind_a_write():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            early = A[bx] * 2
            A[bx] = 0
            A[bx] = T.if_then_else(bx < 4, early, A[0])

    text = body(kernel)
    assert text.index("memref.load %A[%bx]") < text.index("memref.store")


def test_functions_of_floats():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            x = A[bx]
            A[0] = T.exp2(x) + T.log2(x) + T.rsqrt(x) + T.exp(x) + T.log(x) + T.sqrt(x)
            A[1] = T.ceil(x) + T.floor(x) + T.abs(x) + T.sigmoid(x) + T.tanh(x) + T.pow(x, 2)
            A[2] = T.exp2(bx) + T.softsign(x)

    text = body(kernel)
    names = ("exp2", "log2", "rsqrt", "exp", "log", "sqrt", "ceil", "floor", "absf", "tanh", "powf")
    for name in (*names, "softsign"):
        assert f"math.{name} " in text
    assert "arith.sitofp" in text  # an integer is taken as a float


def test_constants_of_dtypes():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            A[0] = -T.infinity("float32")
            A[1] = T.max_value("float8_e4m3fn")
            A[2] = T.float16(1.5)
            A[3] = T.min_value("int8")
            A[bx] = T.clamp(A[bx], -1, 1)

    text = body(kernel)
    assert "arith.constant 0x7F800000 : f32" in text
    assert "arith.constant 4.480000e+02 : f8E4M3FN" in text
    assert "arith.constant 1.500000e+00 : f16" in text
    assert "arith.constant -128 : i8" in text
    assert "arith.maxnumf" in text and "arith.minnumf" in text


def test_casts_and_bits():
    def kernel(A: T.Tensor((8,), "float16"), B: T.Tensor((8,), "uint16")):
        with T.Kernel(8) as bx:
            B[bx] = T.reinterpret(A[bx], "uint16")
            A[bx] = T.reinterpret("float16", B[bx])
            A[0] = A[bx].astype("bfloat16")

    assert without_constants(body(kernel)) == [
        *("memref.load", "arith.bitcast", "memref.store"),
        *("memref.load", "arith.bitcast", "memref.store"),
        # between two floats of 16 bits, and back to the type of the buffer
        *("memref.load", "arith.extf", "arith.truncf", "arith.extf", "arith.truncf"),
        "memref.store",
    ]


def test_reinterpret_keeps_the_number_of_bits():
    def kernel(A: T.Tensor((8,), "float16")):
        with T.Kernel(8) as bx:
            A[bx] = T.reinterpret(A[bx], "uint32")

    assert mistake(kernel) == (
        "error[TW1026]: T.reinterpret keeps the bits: float16 has 16, uint32 has 32. Convert by "
        "value with T.cast"
    )


def test_warp_functions():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8, threads=32) as bx:
            x = A[bx]
            A[0] = T.warp_reduce_sum(x)
            A[1] = T.shfl_xor(x, 1)
            A[2] = T.cast(T.any_sync(x > 0), "float32")
            A[3] = T.tvm_warp_shuffle(T.uint32(1), x, 3, 32, 32)

    text = body(kernel)
    assert [op for op in ops(text) if op.startswith("tile.")] == [
        *("tile.warp_reduce", "tile.shuffle", "tile.vote", "tile.shuffle"),
    ]


def test_a_buffer_is_no_number():
    def kernel(A: T.Tensor((8, 8), "float32")):
        with T.Kernel(8) as bx:
            A[bx, 0] = A + 1

    assert mistake(kernel).startswith(
        "error[TW1010]: the buffer A with shape (8, 8) is used as a scalar: index it, A[..., ...]"
    )


def test_min_and_max_of_python_know_values_of_the_kernel():
    def kernel(A: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            A[bx] = min(A[bx], 3)
            A[0] = max(4, 5)

    text = body(kernel)
    assert "arith.minsi" in text and "arith.constant 5 : i32" in text


def test_a_number_that_a_float_cannot_hold():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8):
            A[0] = T.alloc_var("float16", init=1e5)

    assert mistake(kernel) == (
        "error[TW1010]: 100000.0 exceeds maximum of float16, which is 65504.0"
    )


def test_flags_of_a_row():
    def kernel(A: T.Tensor((8, 4, 16), "bool"), B: T.Tensor((8,), "int32")):
        with T.Kernel(8) as bx:
            if T.any_of(A[bx, 1, :]):
                B[bx] = 1
            if T.all_of(B[0] > 1, bx < 4):
                B[bx] = 2

    text = body(kernel)
    assert "tile.reduce any" in text
    assert text.index("tile.copy") < text.index("tile.reduce")  # a row of global memory


def test_types_known_by_their_bits_are_not_converted():
    def kernel(A: T.Tensor((8,), "float8_e8m0fnu"), B: T.Tensor((8,), "float16")):
        with T.Kernel(8):
            T.copy(A, B)

    assert mistake(kernel).startswith(
        "error[TW1010]: cannot convert float8_e8m0fnu to float16 by value"
    )
