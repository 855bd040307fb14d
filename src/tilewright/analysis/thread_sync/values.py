"""Integers of threads: one value if it is uniform, else an array with one for each thread.

Run-time values (elements of tensors, results of atomics) are None, and so is everything that is
computed from them. Integers are as wide as they need to be; those that exceed 64 bits are None as
well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation

from tilewright.dialects.arith.attributes import CMPI_PREDICATES

Value: TypeAlias = Any
"""`int`, an array of `int64` or `bool`, or None."""
Function: TypeAlias = Callable[..., Value]
_Two: TypeAlias = Callable[[Value, Value], Value]
_Sized: TypeAlias = Callable[[Value, Value, int], Value]
"""A function of two integers and the bits of their type."""

_LIMIT = 1 << 62


def _narrow(value: Value) -> Value:
    return None if isinstance(value, int) and not -_LIMIT < value < _LIMIT else value


def _some_zero(value: Value) -> bool:
    return value == 0 if isinstance(value, int) else not bool(value.all())


def _unsigned(value: Value, bits: int) -> Value:
    """The bits of a negative integer, read as unsigned."""
    if isinstance(value, int):
        return value if value >= 0 else value & ((1 << bits) - 1)
    if value.dtype == np.bool_ or int(value.min()) >= 0:
        return value
    return value & ((1 << bits) - 1) if bits < 64 else value.view(np.uint64)


def _quotient(a: Value, b: Value) -> Value:
    """Rounded towards zero."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return np.abs(a) // np.abs(b) * np.sign(a) * np.sign(b)


def _minimum(a: Value, b: Value) -> Value:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else np.minimum(a, b)


def _maximum(a: Value, b: Value) -> Value:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else np.maximum(a, b)


def _divides(function: _Two) -> _Sized:
    return lambda a, b, bits: None if _some_zero(b) else function(a, b)


def _divides_unsigned(function: _Two) -> _Sized:
    def divide(a: Value, b: Value, bits: int) -> Value:
        if _some_zero(b):
            return None
        return _as_unsigned(function, a, b, bits)

    return divide


def _is_power(value: Value) -> bool:
    return isinstance(value, int) and value > 0 and not value & (value - 1)


def _quotient_of_unsigned(a: Value, b: Value, bits: int) -> Value:
    if bits == 64 and _is_power(b) and isinstance(a, np.ndarray) and a.dtype == np.int64:
        return (a.view(np.uint64) >> (b.bit_length() - 1)).view(np.int64)
    return _divide_unsigned(a, b, bits)


def _remainder_of_unsigned(a: Value, b: Value, bits: int) -> Value:
    if bits == 64 and _is_power(b) and isinstance(a, np.ndarray):
        return a & (b - 1)
    return _rest_of_unsigned(a, b, bits)


def _as_unsigned(function: _Two, a: Value, b: Value, bits: int) -> Value:
    """A function of unsigned integers."""
    if isinstance(a, int) and isinstance(b, int) and a >= 0 and b >= 0:
        return function(a, b)
    a, b = _unsigned(a, bits), _unsigned(b, bits)
    if not any(isinstance(each, np.ndarray) and each.dtype == np.uint64 for each in (a, b)):
        return function(a, b)
    found = function(np.asarray(a).astype(np.uint64), np.asarray(b).astype(np.uint64))
    return found if found.dtype == np.bool_ else found.astype(np.int64)


def _shift_left(a: Value, b: Value, bits: int) -> Value:
    if isinstance(b, int) and not 0 <= b < bits:
        return None
    return _narrow(a << b)


def _shift_right(a: Value, b: Value, bits: int) -> Value:
    if isinstance(b, int) and not 0 <= b < bits:
        return None
    return _as_unsigned(lambda x, y: x >> y, a, b, bits)


_divide_unsigned = _divides_unsigned(lambda a, b: a // b)
_rest_of_unsigned = _divides_unsigned(lambda a, b: a % b)

BINARY: Mapping[str, _Sized] = {
    "arith.addi": lambda a, b, bits: _narrow(a + b),
    "arith.subi": lambda a, b, bits: a - b,
    "arith.muli": lambda a, b, bits: _narrow(a * b),
    "arith.divui": _quotient_of_unsigned,
    "arith.remui": _remainder_of_unsigned,
    "arith.ceildivui": _divides_unsigned(lambda a, b: -(-a // b)),
    "arith.divsi": _divides(_quotient),
    "arith.remsi": _divides(lambda a, b: a - _quotient(a, b) * b),
    "arith.floordivsi": _divides(lambda a, b: a // b),
    "arith.ceildivsi": _divides(lambda a, b: -(-a // b)),
    "arith.andi": lambda a, b, bits: a & b,
    "arith.ori": lambda a, b, bits: a | b,
    "arith.xori": lambda a, b, bits: a ^ b,
    "arith.shli": _shift_left,
    "arith.shrui": _shift_right,
    "arith.shrsi": lambda a, b, bits: a >> b,
    "arith.minsi": lambda a, b, bits: _minimum(a, b),
    "arith.maxsi": lambda a, b, bits: _maximum(a, b),
    "arith.minui": lambda a, b, bits: _as_unsigned(_minimum, a, b, bits),
    "arith.maxui": lambda a, b, bits: _as_unsigned(_maximum, a, b, bits),
}
"""By the name of the op, of its operands and the bits of their type."""

_COMPARE: Mapping[str, _Two] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_PREDICATES = {integer: name for name, integer in CMPI_PREDICATES.items()}


_OTHERS = (
    *("arith.cmpi", "arith.select", "arith.trunci", "arith.index_cast"),
    *("arith.extui", "arith.index_castui", "arith.extsi"),
)


def bits_of(type: Attribute) -> int:
    """The bit width of integers of a type; indices are 64 bits wide."""
    return type.width.data if isinstance(type, IntegerType) else 64


def _comparison(op: Operation) -> _Two:
    code = op.properties["predicate"]
    assert isinstance(code, IntegerAttr)
    name = _PREDICATES[code.value.data]
    compare, bits = _COMPARE[name[-2:]], bits_of(op.operands[0].type)
    if not name.startswith("u"):
        return compare
    return lambda a, b: _as_unsigned(compare, a, b, bits)


def _select(chosen: Value, a: Value, b: Value) -> Value:
    if isinstance(chosen, int):
        return a if chosen else b
    return merged(chosen != 0, a, b)


def _truncation(op: Operation) -> Callable[[Value], Value]:
    bits = bits_of(op.results[0].type)
    if bits >= 64:
        return _same
    half = 1 << (bits - 1)

    def truncate(a: Value) -> Value:
        low = a & ((1 << bits) - 1)
        return low if bits == 1 else (low + half) % (2 * half) - half

    return truncate


def is_arithmetic(op: Operation) -> bool:
    """Whether `function_of` supports an op."""
    return op.name in BINARY or op.name in _OTHERS


def function_of(op: Operation) -> Function | None:
    """The function that an op computes; None if it is not integer arithmetic."""
    binary = BINARY.get(op.name)
    if binary is not None:
        bits = bits_of(op.operands[0].type)

        def sized(a: Value, b: Value) -> Value:
            return binary(a, b, bits)

        return sized
    match op.name:
        case "arith.cmpi":
            return _comparison(op)
        case "arith.select":
            return _select
        case "arith.trunci" | "arith.index_cast":
            return _truncation(op)
        case "arith.extui" | "arith.index_castui":
            return _extension(bits_of(op.operands[0].type))
        case "arith.extsi":
            return _signed_bit if bits_of(op.operands[0].type) == 1 else _same
        case _:
            return None


def _extension(bits: int) -> Callable[[Value], Value]:
    return _same if bits == 64 else lambda a: _unsigned(a, bits)


def _same(a: Value) -> Value:
    return a


def _signed_bit(a: Value) -> Value:
    return -(a != 0) if isinstance(a, int) else -(a != 0).astype(np.int64)


def constant_of(op: Operation) -> Value:
    """The value of `arith.constant`; None if it is not an integer."""
    found = op.properties.get("value")
    if not isinstance(found, IntegerAttr):
        return None
    integer = found.value.data
    return integer & 1 if bits_of(found.type) == 1 else integer


def merged(mask: Any, new: Value, old: Value) -> Value:
    """The values of threads of which only some took the new value."""
    if new is None or old is None:
        return None
    if new is old or (isinstance(new, int) and isinstance(old, int) and new == old):
        return new
    return np.where(mask, new, old)


@dataclass(frozen=True)
class Partly:
    """The values of some threads, and of the others: mostly the first are read again."""

    mask: Any
    own: Value
    rest: Value

    def value(self, mask: Any) -> Value:
        return self.own if mask is self.mask else merged(self.mask, self.own, self.rest)
