"""Casts of constants against NumPy and ml_dtypes, and chains of casts."""

import math
import warnings

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    Float8E4M3FNType,
    Float8E5M2Type,
    IndexType,
    IntegerType,
    bf16,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
)
from xdsl.ir import Attribute

from tests.dialects.fold_support import (
    constant,
    fold_values,
    folded_attribute,
    folded_number,
    folded_operand,
    tensor,
    unknown,
)
from tilewright.dialects import arith
from tilewright.ir.text.literals import SplatElementsAttr

NUMPY_FLOAT = {f16: np.float16, bf16: ml_dtypes.bfloat16, f32: np.float32, f64: np.float64}
NUMPY_INT = {8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
INF, NAN = math.inf, math.nan


def quietly(function, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return function(*args)


def same(a: float, b: float) -> bool:
    return a == b and math.copysign(1, a) == math.copysign(1, b)


# Integers.


@given(st.sampled_from([8, 16, 32]), st.sampled_from([16, 32, 64]), st.data())
def test_extension_and_truncation(narrow: int, wide: int, data: st.DataObject):
    if narrow >= wide:
        return
    value = data.draw(st.integers(-(2 ** (narrow - 1)), 2 ** (narrow - 1) - 1))
    source, target = IntegerType(narrow), IntegerType(wide)
    x = np.array(value, NUMPY_INT[narrow])
    signed = int(x.astype(NUMPY_INT[wide]))
    unsigned = int(x.view(f"u{narrow // 8}").astype(f"u{wide // 8}").view(f"i{wide // 8}"))
    assert folded_number(arith.ExtsiOp(constant(value, source), target)) == signed
    assert folded_number(arith.ExtuiOp(constant(value, source), target)) == unsigned
    wide_value = data.draw(st.integers(-(2 ** (wide - 1)), 2 ** (wide - 1) - 1))
    expected = int(np.array(wide_value, NUMPY_INT[wide]).astype(NUMPY_INT[narrow]))
    assert folded_number(arith.TrunciOp(constant(wide_value, target), source)) == expected


def test_truth_extends_by_sign():
    true = constant(-1, i1)
    assert folded_number(arith.ExtsiOp(true, i32)) == -1
    assert folded_number(arith.ExtuiOp(true, i32)) == 1


def test_index_casts():
    index = IndexType()
    assert folded_number(arith.IndexCastOp(constant(-5, i32), index)) == -5
    assert folded_number(arith.IndexCastuiOp(constant(-5, i32), index)) == 2**32 - 5
    assert folded_number(arith.IndexCastOp(constant(2**32 + 7, index), i32)) == 7
    x = unknown(i32)
    assert folded_operand(arith.IndexCastOp(arith.IndexCastOp(x, index), i32)) is x
    y = unknown(index)
    assert fold_values(arith.IndexCastOp(arith.IndexCastOp(y, i32), index)) is None


def test_truncation_promises():
    nsw = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NSW])
    nuw = arith.IntegerOverflowAttr([arith.IntegerOverflowFlag.NUW])

    def truncated(value: int, flags: Attribute) -> float | None:
        op = arith.TrunciOp(constant(value, i32), i8)
        op.properties["overflowFlags"] = flags
        return folded_number(op)

    assert truncated(-3, nsw) == -3
    assert truncated(200, nsw) is None
    assert truncated(200, nuw) == -56
    assert truncated(-3, nuw) is None


# Integers to floats.


@pytest.mark.parametrize("type", NUMPY_FLOAT, ids=str)
@given(st.integers(-(2**63), 2**63 - 1))
def test_signed_to_float(type: Attribute, value: int):
    expected = float(quietly(np.int64(value).astype, NUMPY_FLOAT[type]))
    if type == bf16:  # ml_dtypes goes through f32 and rounds twice
        expected = nearest(value, 8)
    found = folded_number(arith.SitofpOp(constant(value, i64), type))
    assert found == (expected if math.isfinite(expected) else None)


@pytest.mark.parametrize("type", [f16, f32, f64], ids=str)
@given(st.integers(0, 2**64 - 1))
def test_unsigned_to_float(type: Attribute, value: int):
    expected = float(quietly(np.uint64(value).astype, NUMPY_FLOAT[type]))
    signed = value if value < 2**63 else value - 2**64
    found = folded_number(arith.UitofpOp(constant(signed, i64), type))
    assert found == (expected if math.isfinite(expected) else None)


def nearest(value: int, precision: int) -> float:
    """To nearest even by integers alone."""
    surplus = max(abs(value).bit_length() - precision, 0)
    quotient, rest = divmod(abs(value), 2**surplus)
    half = 2**surplus // 2
    if surplus and (rest > half or (rest == half and quotient % 2)):
        quotient += 1
    return math.copysign(quotient * 2**surplus, value)


@pytest.mark.parametrize("precision", [8, 24])
def test_wide_integers_round_once(precision: int):
    """Just above a tie by less than a double shows: rounding twice would go to even."""
    type = {8: bf16, 24: f32}[precision]
    value = 2**62 + 2 ** (62 - precision) + 1
    expected = 2**62 + 2 ** (63 - precision)
    assert folded_number(arith.SitofpOp(constant(value, i64), type)) == expected
    assert folded_number(arith.SitofpOp(constant(-value, i64), type)) == -expected
    tie = 2**62 + 2 ** (62 - precision)
    assert folded_number(arith.SitofpOp(constant(tie, i64), type)) == 2**62


def test_too_large_for_the_float():
    assert folded_number(arith.SitofpOp(constant(65504, i32), f16)) == 65504.0
    assert fold_values(arith.SitofpOp(constant(65536, i32), f16)) is None


# Floats to integers.


@pytest.mark.parametrize(
    ("value", "width", "signed", "unsigned"),
    [
        (2.9, 32, 2, 2),
        (-2.9, 32, -2, None),
        (-0.5, 32, 0, 0),
        (127.9, 8, 127, 127),
        (128.0, 8, None, -128),
        (255.5, 8, None, -1),
        (256.0, 8, None, None),
        (-128.9, 8, -128, None),
        (-129.0, 8, None, None),
        (2147483648.0, 32, None, -2147483648),
        (INF, 32, None, None),
        (NAN, 32, None, None),
    ],
)
def test_float_to_integer(value: float, width: int, signed: int | None, unsigned: int | None):
    target = IntegerType(width)
    assert folded_number(arith.FptosiOp(constant(value, f64), target)) == signed
    assert folded_number(arith.FptouiOp(constant(value, f64), target)) == unsigned


# Floats.


@given(st.floats(width=16, allow_nan=False))
def test_extension_keeps_the_number(value: float):
    assert same(folded_number(arith.ExtfOp(constant(value, f16), f32)), value)


@pytest.mark.parametrize("type", [f16, bf16, f32, Float8E4M3FNType(), Float8E5M2Type()], ids=str)
@given(st.floats(allow_nan=False))
def test_truncation_is_exact_or_left(type: Attribute, value: float):
    dtype = {
        **NUMPY_FLOAT,
        Float8E4M3FNType(): ml_dtypes.float8_e4m3fn,
        Float8E5M2Type(): ml_dtypes.float8_e5m2,
    }[type]
    stored = float(quietly(np.float64(value).astype, dtype))
    found = folded_number(arith.TruncfOp(constant(value, f64), type))
    assert found is None if stored != value else same(found, value)


@pytest.mark.parametrize(
    ("value", "type", "folds"),
    [
        (1.5, f16, True),
        (1.1, f16, False),
        (70000.0, f16, False),
        (-0.0, f16, True),
        (INF, f16, True),
        (INF, Float8E4M3FNType(), False),
        (448.0, Float8E4M3FNType(), True),
        (449.0, Float8E4M3FNType(), False),
        (NAN, f16, False),
    ],
)
def test_truncation(value: float, type: Attribute, folds: bool):
    assert (fold_values(arith.TruncfOp(constant(value, f32), type)) is not None) == folds


# Bits.


@given(st.integers(-(2**31), 2**31 - 1))
def test_bits_of_a_float(bits: int):
    value = float(np.int32(bits).view(np.float32))
    op = arith.BitcastOp(constant(bits, i32), f32)
    if math.isnan(value):
        folded = fold_values(op)
        assert folded is None or math.isnan(folded_number(op))
        return
    assert same(folded_number(op), value)
    assert folded_number(arith.BitcastOp(constant(value, f32), i32)) == bits


def test_bits_of_small_floats():
    assert folded_number(arith.BitcastOp(constant(1.0, bf16), i16)) == 0x3F80
    assert folded_number(arith.BitcastOp(constant(-2.0, f16), i16)) == 0xC000 - 2**16
    assert folded_number(arith.BitcastOp(constant(0x3C00, i16), f16)) == 1.0


def test_a_signalling_nan_is_not_made():
    op = arith.BitcastOp(constant(0x7F800001, i32), f32)
    folded = fold_values(op)
    assert folded is None


# Chains.


def test_there_and_back():
    x, h = unknown(i8), unknown(f16)
    for extend in (arith.ExtsiOp, arith.ExtuiOp):
        assert folded_operand(arith.TrunciOp(extend(x, i32), i8)) is x
        assert fold_values(arith.TrunciOp(extend(x, i32), i16)) is None
    assert folded_operand(arith.TruncfOp(arith.ExtfOp(h, f32), f16)) is h
    assert fold_values(arith.TruncfOp(arith.ExtfOp(h, f32), bf16)) is None
    assert folded_operand(arith.BitcastOp(arith.BitcastOp(h, i16), f16)) is h
    y = unknown(i32)
    assert fold_values(arith.ExtsiOp(arith.TrunciOp(y, i8), i32)) is None


# Tensors.


def test_splats():
    op = arith.ExtsiOp(constant(-1, tensor(i8, 64)), tensor(i32, 64))
    assert folded_attribute(op) == SplatElementsAttr.get(-1, tensor(i32, 64))
    op = arith.SitofpOp(constant(3, tensor(i32, 64)), tensor(f16, 64))
    assert folded_attribute(op) == SplatElementsAttr.get(3.0, tensor(f16, 64))
