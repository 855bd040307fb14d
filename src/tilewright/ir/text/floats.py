"""Float literals, digit for digit as LLVM writes them.

MLIR prints a float in three tries, and takes the first that reads back to the same bits:

1. six significant digits in exponent form, ``1.000000e+00``;
2. as many digits as the format can need, in plain notation where that pads with at most three
   zeros (``0.333333343``) and otherwise with a capital exponent (``2.01142405E+20``);
3. the bits, in upper-case hexadecimal. Infinities and NaNs always take this form.

The digits come from LLVM's own conversion, which first divides away surplus decimal places and
only then rounds half up. That truncation shows in the last digit of some values, so it is
reproduced here with exact integers instead of being replaced by a correct rounding.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from xdsl.dialects.builtin import (
    AnyFloat,
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    ReducedPrecisionFloatType,
)
from xdsl.ir import Attribute

_SIGNIFICAND_BITS: dict[type[Attribute], int] = {
    Float64Type: 53,
    Float32Type: 24,
    Float16Type: 11,
    BFloat16Type: 8,
}
_DOUBLE_WIDTH = 52
_DOUBLE_MANTISSA = (1 << _DOUBLE_WIDTH) - 1
_DOUBLE_INFINITY = 0x7FF << _DOUBLE_WIDTH
_SHORT_DIGITS = 6
_MAX_PADDING = 3


def significand_bits(type: AnyFloat) -> int:
    """Bits of precision, the hidden one included."""
    if isinstance(type, ReducedPrecisionFloatType):
        return type.SEMANTICS.mantissa_bits + 1
    return _SIGNIFICAND_BITS.get(type.__class__, 53)


def float_bits(value: float, type: AnyFloat) -> int:
    """The representation of `value` in `type`, as an unsigned integer."""
    if math.isnan(value) and _keeps_payload(type):
        double = int.from_bytes(struct.pack("<d", value), "little")
        width = significand_bits(type) - 1
        payload = (double & _DOUBLE_MANTISSA) >> (_DOUBLE_WIDTH - width)
        infinity = int.from_bytes(type.pack((math.inf,)), "little")
        sign = (double >> 63) << (8 * type.compile_time_size - 1)
        return sign | infinity | (payload or 1 << (width - 1))
    if math.isnan(value) and _has_one_nan(type):
        return 0xFF if math.copysign(1.0, value) < 0 else 0x7F
    return int.from_bytes(type.pack((value,)), "little")


def float_from_bits(bits: int, type: AnyFloat) -> float:
    """The value whose representation in `type` is `bits`; ValueError if they are too many."""
    size = type.compile_time_size
    if bits < 0 or bits >> (8 * size):
        raise ValueError(f"0x{bits:X} does not fit in the {8 * size} bits of its type")
    value = type.unpack(bits.to_bytes(size, "little"), 1)[0]
    if not math.isnan(value):
        return value
    sign = bits >> (8 * size - 1)
    if not _keeps_payload(type):
        return math.copysign(value, -1.0 if sign else 1.0)
    # Conversions through a double quiet a NaN and may drop its payload; move the bits instead.
    width = significand_bits(type) - 1
    payload = (bits & ((1 << width) - 1)) << (_DOUBLE_WIDTH - width)
    double = (sign << 63) | _DOUBLE_INFINITY | payload
    return struct.unpack("<d", double.to_bytes(8, "little"))[0]


def _keeps_payload(type: AnyFloat) -> bool:
    """Whether a NaN of `type` is an exponent of ones with any mantissa but zero."""
    return isinstance(type, (Float64Type, Float32Type, Float16Type, BFloat16Type, Float8E5M2Type))


def _has_one_nan(type: AnyFloat) -> bool:
    """Whether the only NaN of `type`, of either sign, has all other bits set."""
    return isinstance(type, Float8E4M3FNType)


def rounded(value: float, type: AnyFloat) -> float:
    """`value` in the precision of `type`; too large becomes infinity, as in MLIR."""
    try:
        return type.unpack(type.pack((value,)), 1)[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def format_float(value: float, type: AnyFloat) -> str:
    """`value` as MLIR prints it for element type `type`, without the type."""
    if not math.isfinite(value):
        return f"0x{float_bits(value, type):X}"
    short = _exponent_form(value)
    if _reads_back(short, value, type):
        return short
    long = _plain_form(value, 2 + significand_bits(type) * 59 // 196)
    return long if "." in long else f"0x{float_bits(value, type):X}"


def _reads_back(text: str, value: float, type: AnyFloat) -> bool:
    try:
        return type.pack((float(text),)) == type.pack((value,))
    except (OverflowError, ValueError):
        return False


@dataclass(frozen=True)
class _Decimal:
    """``digits * 10**exponent``; no trailing zeros in `digits`."""

    sign: str
    digits: str
    exponent: int


def _exponent_form(value: float) -> str:
    sign = "-" if math.copysign(1.0, value) < 0 else ""
    if value == 0:
        return f"{sign}0.000000e+00"
    decimal = _convert(value, _SHORT_DIGITS)
    magnitude = decimal.exponent + len(decimal.digits) - 1
    fraction = decimal.digits[1:].ljust(_SHORT_DIGITS, "0")
    return f"{sign}{decimal.digits[0]}.{fraction}e{magnitude:+03d}"


def _plain_form(value: float, precision: int) -> str:
    decimal = _convert(value, precision)
    sign, digits, exponent = decimal.sign, decimal.digits, decimal.exponent
    magnitude = exponent + len(digits) - 1
    if exponent >= 0:
        plain = exponent <= _MAX_PADDING and len(digits) + exponent <= precision
    else:
        plain = magnitude >= 0 or -magnitude <= _MAX_PADDING
    if not plain:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{magnitude:+d}"
    if exponent >= 0:
        return f"{sign}{digits}{'0' * exponent}"
    if magnitude >= 0:
        return f"{sign}{digits[: magnitude + 1]}.{digits[magnitude + 1 :]}"
    return f"{sign}0.{'0' * (-magnitude - 1)}{digits}"


def _convert(value: float, precision: int) -> _Decimal:
    """`value` in at most `precision` decimal digits, by LLVM's truncate-then-round."""
    numerator, denominator = abs(value).as_integer_ratio()
    # value = n / 2**k = n * 5**k * 10**-k
    fraction_digits = denominator.bit_length() - 1
    significand, exponent = numerator * 5**fraction_digits, -fraction_digits
    # 196/59 is a slight overestimate of log2(10)
    surplus = significand.bit_length() - (precision * 196 + 58) // 59
    removable = surplus * 59 // 196 if surplus > 0 else 0
    significand //= 10**removable
    exponent += removable
    digits = str(significand)
    if len(digits) > precision:
        dropped = len(digits) - precision
        rounded = int(digits[:precision]) + (digits[precision] >= "5")
        digits, exponent = str(rounded), exponent + dropped
    stripped = digits.rstrip("0")
    return _Decimal(
        "-" if value < 0 else "", stripped or "0", exponent + len(digits) - len(stripped)
    )
