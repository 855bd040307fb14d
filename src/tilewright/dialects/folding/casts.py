"""Casts of constants, and casts that undo or continue another cast.

Integer to float rounds once, however wide the integer; a result that would be an infinity is left.
Float to integer is folded only inside the integer's range. ``truncf`` and ``tt.fp_to_fp`` are
folded only when nothing is lost: rounding modes and the overflow of small floats differ between
targets. Bit patterns that Python's floats cannot carry (signalling NaNs) are not made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Attribute, Operation

from tilewright.dialects.folding.constants import (
    Constants,
    Scalar,
    as_unsigned,
    defined_by,
    element_values,
    elementwise,
    integer_width,
    is_computable,
    round_to,
    wrap,
)
from tilewright.dialects.folding.integer import overflow_flags
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import Folded
from tilewright.ir.text.floats import float_bits, float_from_bits, significand_bits


def _fold(op: Operation, constants: Constants, rule: Callable[..., Scalar | None]) -> Folded:
    constant = elementwise(rule, constants, op.results[0].type)
    return None if constant is None else [constant]


# Between integers.


def _fold_resize(op: Operation, constants: Constants, unsigned: bool) -> Folded:
    source, target = integer_width(op.operands[0].type), integer_width(op.results[0].type)
    if source is None or target is None:
        return None

    def resize(value: int) -> int:
        return wrap(as_unsigned(value, source) if unsigned else value, target)

    return _fold(op, constants, resize)


def _fold_sign_extension(op: Operation, constants: Constants) -> Folded:
    return _fold_resize(op, constants, unsigned=False)


def _fold_zero_extension(op: Operation, constants: Constants) -> Folded:
    return _fold_resize(op, constants, unsigned=True)


def _fold_truncation(op: Operation, constants: Constants) -> Folded:
    """Also ``trunc(ext(x))`` back to the type of ``x``."""
    extension = defined_by(op.operands[0], "arith.extsi", "arith.extui")
    if extension is not None and extension.operands[0].type == op.results[0].type:
        return [extension.operands[0]]
    flags = overflow_flags(op)
    if flags and not _fits(constants[0], integer_width(op.results[0].type), flags):
        return None
    return _fold_resize(op, constants, unsigned=False)


def _fits(constant: Attribute | None, width: int | None, flags: frozenset[str]) -> bool:
    """Whether all values fit into the bits that are left, as ``nsw`` or ``nuw`` require."""
    values = element_values(constant)
    if values is None or width is None:
        return False
    signed = all(wrap(int(value), width) == value for value in values)
    unsigned = all(as_unsigned(int(value), width) == value for value in values)
    return (signed or "nsw" not in flags) and (unsigned or "nuw" not in flags)


def _fold_index_cast(op: Operation, constants: Constants) -> Folded:
    """Also there and back, where the way does not lead through fewer bits."""
    first = defined_by(op.operands[0], op.name)
    if first is not None and first.operands[0].type == op.results[0].type:
        narrow, wide = integer_width(op.results[0].type), integer_width(op.operands[0].type)
        if narrow is not None and wide is not None and narrow <= wide:
            return [first.operands[0]]
    return _fold_resize(op, constants, unsigned=op.name == "arith.index_castui")


# Between integers and floats.


def _fold_to_float(op: Operation, constants: Constants) -> Folded:
    scalar = element_type_of(op.results[0].type)
    width = integer_width(op.operands[0].type)
    if width is None or not is_computable(scalar):
        return None

    def convert(value: int) -> float | None:
        if op.name == "arith.uitofp":
            value = as_unsigned(value, width)
        result = round_to(_nearest_double(value, scalar), scalar)
        return result if math.isfinite(result) else None

    return _fold(op, constants, convert)


def _nearest_double(value: int, type: Attribute) -> float:
    """A double that rounds to ``type`` as ``value`` itself would.

    A narrower type rounds a second time. So that the first rounding never makes a tie of what was
    none, the bits that do not fit are gathered into the last one that does.
    """
    assert isinstance(type, AnyFloat)
    precision = significand_bits(type)
    surplus = value.bit_length() - 53
    if value.bit_length() > 1024:
        return math.copysign(math.inf, value)
    if surplus <= 0 or precision == 53:
        return float(value)
    rounded = abs(value) >> surplus
    if abs(value) & ((1 << surplus) - 1):
        rounded |= 1
    return math.copysign(math.ldexp(rounded, surplus), value)


def _fold_to_integer(op: Operation, constants: Constants) -> Folded:
    width = integer_width(op.results[0].type)
    if width is None:
        return None
    unsigned = op.name == "arith.fptoui"
    lower, limit = (0, 1 << width) if unsigned else (-(1 << (width - 1)), 1 << (width - 1))

    def convert(value: float) -> int | None:
        if not math.isfinite(value):
            return None
        whole = math.trunc(value)
        return wrap(whole, width) if lower <= whole < limit else None

    return _fold(op, constants, convert)


# Between floats.


def _fold_float_cast(op: Operation, constants: Constants) -> Folded:
    """Also a cast to the operand's own type, and ``trunc(ext(x))`` back to the type of ``x``."""
    operand, type = op.operands[0], op.results[0].type
    if operand.type == type:
        return [operand]
    extension = defined_by(op.operands[0], "arith.extf")
    if extension is not None and extension.operands[0].type == type:
        return [extension.operands[0]]
    if constants[0] is None:
        return None
    scalar = element_type_of(type)
    if not isinstance(scalar, AnyFloat):
        return None

    def convert(value: float) -> float | None:
        return value if _holds(scalar, value) else None

    return _fold(op, constants, convert)


def _holds(type: AnyFloat, value: float) -> bool:
    """Whether the type has exactly this number; NaNs, whose payloads vary, do not count."""
    if math.isnan(value):
        return False
    try:
        stored = float_from_bits(float_bits(value, type), type)
    except (OverflowError, ValueError, NotImplementedError):
        return False
    return stored == value and math.copysign(1.0, stored) == math.copysign(1.0, value)


# Bits.


def _fold_bitcast(op: Operation, constants: Constants) -> Folded:
    """Also to the operand's own type, and there and back."""
    operand, type = op.operands[0], op.results[0].type
    if operand.type == type:
        return [operand]
    first = defined_by(op.operands[0], op.name)
    if first is not None and first.operands[0].type == type:
        return [first.operands[0]]
    if constants[0] is None:
        return None
    source, target = element_type_of(operand.type), element_type_of(type)

    def convert(value: Scalar) -> Scalar | None:
        bits = _bits(value, source)
        return None if bits is None else _from_bits(bits, target)

    return _fold(op, constants, convert)


def _bits(value: Scalar, type: Attribute) -> int | None:
    if isinstance(type, AnyFloat):
        return float_bits(float(value), type) if is_computable(type) else None
    width = integer_width(type)
    return None if width is None else as_unsigned(int(value), width)


def _from_bits(bits: int, type: Attribute) -> Scalar | None:
    if isinstance(type, AnyFloat):
        if not is_computable(type):
            return None
        value = float_from_bits(bits, type)
        # Lists of numbers are stored by xDSL, which makes a NaN quiet and may drop its payload.
        stored = int.from_bytes(type.pack((value,)), "little")
        return value if stored == bits else None
    width = integer_width(type)
    return None if width is None else wrap(bits, width)


FOLDS: Mapping[str, Callable[[Operation, Constants], Folded]] = {
    "arith.extsi": _fold_sign_extension,
    "arith.extui": _fold_zero_extension,
    "arith.trunci": _fold_truncation,
    "arith.index_cast": _fold_index_cast,
    "arith.index_castui": _fold_index_cast,
    "arith.sitofp": _fold_to_float,
    "arith.uitofp": _fold_to_float,
    "arith.fptosi": _fold_to_integer,
    "arith.fptoui": _fold_to_integer,
    "arith.extf": _fold_float_cast,
    "arith.truncf": _fold_float_cast,
    "tt.fp_to_fp": _fold_float_cast,
    "arith.bitcast": _fold_bitcast,
    "tt.bitcast": _fold_bitcast,
}
