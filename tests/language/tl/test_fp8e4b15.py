"""The 8-bit float that MLIR has no type for: converted by shifting bits, checked by value."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl

CODES = np.arange(256, dtype=np.uint8).view(np.int8)


def value_of(code: int) -> float:
    """Sign, 4 bits of exponent with bias 15, 3 bits of mantissa; no infinities, no NaN."""
    sign, exponent, mantissa = code >> 7, (code >> 3) & 15, code & 7
    magnitude = (
        mantissa / 8 * 2.0**-14 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 15)
    )
    return -magnitude if sign else magnitude


@tw.jit
def upwards(codes, values):
    offsets = tl.arange(0, 256)
    small = tl.load(codes + offsets).to(tl.float8e4b15, bitcast=True)
    tl.store(values + offsets, small.to(tl.float32))


@tw.jit
def downwards(values, codes, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    small = tl.load(values + offsets).to(tl.float8e4b15)
    tl.store(codes + offsets, small.to(tl.int8, bitcast=True))


def test_every_code_has_its_value() -> None:
    values = np.full(256, np.nan, np.float32)
    upwards[(1,)](CODES, values)
    np.testing.assert_array_equal(values, [value_of(code) for code in range(256)])
    assert np.signbit(values[0x80])


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_every_value_has_its_code(dtype: type[np.floating]) -> None:
    """Except the codes above 1.75, the largest that is ever written."""
    values = np.array([value_of(code) for code in range(256)], dtype)
    codes = np.full(256, 99, np.int8)
    downwards[(1,)](values, codes, 256)
    expected = CODES.copy()
    expected[0x7F], expected[0xFF] = 0x7E, np.int8(-2)
    np.testing.assert_array_equal(codes, expected)


def test_what_lies_between_goes_to_the_nearest() -> None:
    """A tie goes away from zero; what is too large becomes the largest."""
    values = np.array([1.0, 1.0625, 1.06, 1.07, -1.0625, 3.0, -1e30, np.inf], np.float32)
    codes = np.full(8, 99, np.int8)
    downwards[(1,)](values, codes, 8)
    found = [value_of(int(code) & 0xFF) for code in codes]
    assert found == [1.0, 1.125, 1.0, 1.125, -1.125, 1.75, -1.75, 1.75]
