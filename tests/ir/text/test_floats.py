"""Float literals equal LLVM's spelling for every format, from the bits and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
)

from tilewright.ir.text.floats import float_bits, float_from_bits, format_float

FORMATS = [
    Float16Type(),
    BFloat16Type(),
    Float32Type(),
    Float64Type(),
    Float8E5M2Type(),
    Float8E4M3FNType(),
]

# Spellings as Triton 3.9 prints these bits.
SPELLINGS = [
    (Float32Type(), 0x3FB8AA3B, "1.44269502"),
    (Float32Type(), 0x3EAAAAAB, "0.333333343"),
    (Float32Type(), 0x612E7696, "2.01142405E+20"),
    (Float32Type(), 0xB2221A58, "-9.43563094E-9"),
    (Float32Type(), 0x442E3D43, "696.957214"),
    (Float32Type(), 0x9755D4C1, "-6.9092545E-25"),  # LLVM truncates before it rounds
    (Float32Type(), 0xFF800000, "0xFF800000"),
    (Float32Type(), 0x7FC00000, "0x7FC00000"),
    (Float32Type(), 0x80000000, "-0.000000e+00"),
    (Float32Type(), 0x3F800000, "1.000000e+00"),
    (Float16Type(), 0x3C01, "1.000980e+00"),
    (Float16Type(), 0x0001, "5.960460e-08"),
    (Float16Type(), 0x7C00, "0x7C00"),
    (BFloat16Type(), 0x3FB9, "1.445310e+00"),
    (BFloat16Type(), 0xFF80, "0xFF80"),
    (Float64Type(), 0x400921FB54442D18, "3.1415926535897931"),
    (Float8E5M2Type(), 0x3C, "1.000000e+00"),
    (Float8E4M3FNType(), 0x7F, "0x7F"),
]


@pytest.mark.parametrize(("type", "bits", "text"), SPELLINGS)
def test_spelling(type, bits, text):
    assert format_float(float_from_bits(bits, type), type) == text


@pytest.mark.parametrize("type", FORMATS, ids=lambda type: type.name)
@given(data=st.data())
def test_text_reads_back_to_the_same_bits(type, data):
    bits = data.draw(st.integers(0, (1 << (8 * type.compile_time_size)) - 1))
    value = float_from_bits(bits, type)
    text = format_float(value, type)
    if text.startswith("0x"):
        assert int(text, 16) == bits, "infinities and NaNs keep their bits"
    else:
        assert float_bits(float(text), type) == bits


def test_bits_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="0x1FFFF does not fit in the 16 bits"):
        float_from_bits(0x1FFFF, Float16Type())
