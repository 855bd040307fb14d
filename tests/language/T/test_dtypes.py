"""Dtypes: names, sizes, and what else names one."""

import numpy as np
import pytest
from xdsl.dialects.builtin import BFloat16Type, Float8E4M3FNType, IntegerType

from tilewright import T


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("float", "float32"),
        ("half", "float16"),
        (float, "float32"),
        (int, "int32"),
        (bool, "bool"),
        (np.float16, "float16"),
        (np.dtype("uint8"), "uint8"),
        ("torch.bfloat16", "bfloat16"),
        ("e4m3_float8", "float8_e4m3fn"),
        (T.int8, "int8"),
        ("handle", "handle"),
    ],
)
def test_names(given, name):
    assert T.dtype(given) == name
    assert isinstance(T.dtype(given), str)


def test_attributes_of_the_language():
    assert T.float == T.float32 == "float32"
    assert T.uint is T.uint32
    assert repr(T.float16) == "T.float16"


@pytest.mark.parametrize(
    ("name", "bits", "type"),
    [
        ("bfloat16", 16, BFloat16Type()),
        ("float8_e4m3fn", 8, Float8E4M3FNType()),
        ("uint8", 8, IntegerType(8)),
        ("bool", 1, IntegerType(1)),
        ("int4", 4, IntegerType(4)),
        ("uint64", 64, IntegerType(64)),
    ],
)
def test_sizes_and_types(name, bits, type):
    assert T.dtype(name).bits == bits
    assert T.dtype(name).type == type


def test_signs():
    assert T.int8.is_signed and not T.uint8.is_signed
    assert T.uint8.is_unsigned and T.bool.is_unsigned
    assert T.float16.is_float and not T.float16.is_integer


def test_vectors():
    assert T.float32x4 == "float32x4"
    assert (T.float32x4.lanes, T.float32x4.bits, T.float32x4.bytes) == (4, 32, 16)
    assert (T.dtype("float8_e4m3fnx16").bytes, T.float16.lanes) == (16, 1)
    with pytest.raises(TypeError, match=r"float16x2 is a vector: .* elements of float16"):
        _ = T.dtype("float16x2").type
    with pytest.raises(AttributeError, match="floatyx4"):
        _ = T.floatyx4


def test_what_is_no_dtype():
    with pytest.raises(TypeError, match="'float17' is not a dtype"):
        T.dtype("float17")


def test_numpy_dtypes():
    assert T.float32.as_numpy() == np.float32
    assert T.bfloat16.as_numpy().itemsize == 2


def test_constants_outside_of_a_kernel_are_numbers():
    assert T.float16(1.5) == 1.5
    assert T.infinity("float32") == float("inf")
