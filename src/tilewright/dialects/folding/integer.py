"""What integer ops compute on constants, and what they are when one operand decides.

Each op is a row: how to compute it, and which constants on the right make it trivial. Rules see
signed integers and the width; what they return wraps around. They return ``None`` where MLIR leaves
the result undefined: division by zero, a quotient that does not fit, a shift by the width or more.

    unit        x op unit = x              (x + 0, x * 1, x & -1)
    absorber    x op absorber = absorber   (x * 0, x & 0, x | -1)
    on_equal    x op x = x, or 0           (x & x, x - x)

``nsw`` and ``nuw`` guarantee that nothing wraps, ``exact`` that nothing is lost; a constant result
that violates its guarantee is not folded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith.attributes import IntegerOverflowAttr
from tilewright.dialects.folding.constants import (
    Constants,
    as_unsigned,
    defined_by,
    elementwise,
    integer_width,
    is_integer,
    scalar_value,
    splat,
    wrap,
)
from tilewright.ir.interfaces import Folded
from tilewright.ir.text.accessors import operands_of

Rule: TypeAlias = Callable[[int, int, int], int | None]
"""The result of an op on two signed integers of the given width; it need not be wrapped yet."""

Limit: TypeAlias = int | Literal["min", "max"]
"""A constant, or an end of the range that the op compares in."""


@dataclass(frozen=True, slots=True)
class Binary:
    """How to fold one integer op with two operands of its result's type."""

    rule: Rule
    commutative: bool = False
    unit: Limit | None = None
    absorber: Limit | None = None
    on_equal: Literal["operand", "zero"] | None = None
    unsigned: bool = False
    """Operands are read without sign, so "min" is 0."""
    wraps: bool = False
    """The result may leave the range, and the op may guarantee that it does not."""
    undo: Callable[[int, int], int] | None = None
    """Recovers the left operand from the result if nothing was lost, as ``exact`` guarantees."""

    def fold(self, op: Operation, constants: Constants) -> Folded:
        lhs, rhs = operands_of(op)
        left, right = constants
        if left is None and right is None and lhs is not rhs:
            return None
        result_type = op.results[0].type
        width = integer_width(result_type)
        if width is None:
            return None
        if lhs is rhs and self.on_equal is not None:
            return [lhs] if self.on_equal == "operand" else _constant(0, result_type)
        if right is not None and (found := self._trivial(lhs, right, width)) is not None:
            return found
        if left is None:
            return None
        if self.commutative and (found := self._trivial(rhs, left, width)) is not None:
            return found
        return None if right is None else self._evaluate(op, constants, width)

    def _trivial(self, other: SSAValue, constant: Attribute, width: int) -> Folded:
        integer = scalar_value(constant)
        if not isinstance(integer, int):
            return None
        if self.unit is not None and integer == self._limit(self.unit, width):
            return [other]
        if self.absorber is not None and integer == self._limit(self.absorber, width):
            return [constant]
        return None

    def _limit(self, limit: Limit, width: int) -> int:
        if isinstance(limit, int):
            return wrap(limit, width)
        if limit == "min":
            return 0 if self.unsigned else -(1 << (width - 1))
        return -1 if self.unsigned else (1 << (width - 1)) - 1

    def _evaluate(self, op: Operation, constants: Constants, width: int) -> Folded:
        flags = overflow_flags(op) if self.wraps else frozenset[str]()
        undo = self.undo if "isExact" in op.properties else None

        def compute(a: int, b: int) -> int | None:
            value = self.rule(a, b, width)
            if value is None or (flags and overflows(self.rule, a, b, width, flags)):
                return None
            if undo is not None and wrap(undo(value, b), width) != a:
                return None
            return wrap(value, width)

        constant = elementwise(compute, constants, op.results[0].type)
        return None if constant is None else [constant]


def overflow_flags(op: Operation) -> frozenset[str]:
    """The guarantees ``nsw`` and ``nuw`` of an op."""
    flags = op.properties.get("overflowFlags")
    if not isinstance(flags, IntegerOverflowAttr):
        return frozenset()
    return frozenset(flag.value for flag in flags.data)


def overflows(rule: Rule, a: int, b: int, width: int, flags: frozenset[str]) -> bool:
    """Whether the exact result leaves the signed or unsigned range that ``flags`` guarantee."""
    if "nsw" in flags:
        value = rule(a, b, width)
        if value is not None and wrap(value, width) != value:
            return True
    if "nuw" in flags:
        value = rule(as_unsigned(a, width), as_unsigned(b, width), width)
        return value is not None and as_unsigned(value, width) != value
    return False


def _constant(value: int, type: Attribute) -> Folded:
    constant = splat(value, type)
    return None if constant is None else [constant]


# Rules.


def _shift_left(a: int, b: int, width: int) -> int | None:
    return a << b if 0 <= b < width else None


def _shift_right_signed(a: int, b: int, width: int) -> int | None:
    return a >> b if 0 <= b < width else None


def _shift_right_unsigned(a: int, b: int, width: int) -> int | None:
    return as_unsigned(a, width) >> b if 0 <= b < width else None


def _quotient_fits(a: int, b: int, width: int) -> bool:
    return b != 0 and not (b == -1 and a == -(1 << (width - 1)))


def _divide_signed(a: int, b: int, width: int) -> int | None:
    if not _quotient_fits(a, b, width):
        return None
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _remainder_signed(a: int, b: int, width: int) -> int | None:
    quotient = _divide_signed(a, b, width)
    return None if quotient is None else a - quotient * b


def _floor_divide(a: int, b: int, width: int) -> int | None:
    return a // b if _quotient_fits(a, b, width) else None


def _ceiling_divide(a: int, b: int, width: int) -> int | None:
    return -(-a // b) if _quotient_fits(a, b, width) else None


def _unsigned(rule: Callable[[int, int], int]) -> Rule:
    return lambda a, b, width: rule(as_unsigned(a, width), as_unsigned(b, width))


def _unsigned_division(rule: Callable[[int, int], int]) -> Rule:
    def divide(a: int, b: int, width: int) -> int | None:
        return None if b == 0 else rule(as_unsigned(a, width), as_unsigned(b, width))

    return divide


def _multiply_high_unsigned(a: int, b: int, width: int) -> int:
    return (as_unsigned(a, width) * as_unsigned(b, width)) >> width


_MAX_S = Binary(lambda a, b, _: max(a, b), True, "min", "max", "operand")
_MIN_S = Binary(lambda a, b, _: min(a, b), True, "max", "min", "operand")
_MAX_U = Binary(_unsigned(max), True, "min", "max", "operand", unsigned=True)
_MIN_U = Binary(_unsigned(min), True, "max", "min", "operand", unsigned=True)

BINARY: Mapping[str, Binary] = {
    "arith.addi": Binary(lambda a, b, _: a + b, True, unit=0, wraps=True),
    "arith.subi": Binary(lambda a, b, _: a - b, unit=0, on_equal="zero", wraps=True),
    "arith.muli": Binary(lambda a, b, _: a * b, True, unit=1, absorber=0, wraps=True),
    "arith.andi": Binary(lambda a, b, _: a & b, True, -1, 0, "operand"),
    "arith.ori": Binary(lambda a, b, _: a | b, True, 0, -1, "operand"),
    "arith.xori": Binary(lambda a, b, _: a ^ b, True, unit=0, on_equal="zero"),
    "arith.shli": Binary(_shift_left, unit=0, wraps=True),
    "arith.shrsi": Binary(_shift_right_signed, unit=0, undo=lambda q, b: q << b),
    "arith.shrui": Binary(_shift_right_unsigned, unit=0, undo=lambda q, b: q << b),
    "arith.divsi": Binary(_divide_signed, unit=1, undo=lambda q, b: q * b),
    "arith.divui": Binary(_unsigned_division(lambda a, b: a // b), unit=1, undo=lambda q, b: q * b),
    "arith.remsi": Binary(_remainder_signed),
    "arith.remui": Binary(_unsigned_division(lambda a, b: a % b)),
    "arith.ceildivsi": Binary(_ceiling_divide, unit=1),
    "arith.ceildivui": Binary(_unsigned_division(lambda a, b: -(-a // b)), unit=1),
    "arith.floordivsi": Binary(_floor_divide, unit=1),
    "arith.maxsi": _MAX_S,
    "arith.minsi": _MIN_S,
    "arith.maxui": _MAX_U,
    "arith.minui": _MIN_U,
    "tt.mulhiui": Binary(_multiply_high_unsigned, True, absorber=0),
}


# Identities that look at where an operand comes from.


def _fold_addition(op: Operation, constants: Constants) -> Folded:
    """Also ``(a - b) + b`` and ``b + (a - b)``, which are ``a`` even when they wrap."""
    left, right = operands_of(op)
    for total, other in ((left, right), (right, left)):
        source = defined_by(total, "arith.subi")
        if source is not None and source.operands[1] is other:
            return [source.operands[0]]
    return BINARY["arith.addi"].fold(op, constants)


def _fold_subtraction(op: Operation, constants: Constants) -> Folded:
    """Also ``(a + b) - b`` and ``(a + b) - a``."""
    total, other = op.operands
    source = defined_by(total, "arith.addi")
    if source is not None:
        a, b = source.operands
        if b is other:
            return [a]
        if a is other:
            return [b]
    return BINARY["arith.subi"].fold(op, constants)


def _fold_exclusive_or(op: Operation, constants: Constants) -> Folded:
    """Also ``(a ^ b) ^ b``; this takes ``not(not(a))`` along, whose operand is one constant."""
    left, right = op.operands
    for total, other in ((left, right), (right, left)):
        source = defined_by(total, "arith.xori")
        if source is None:
            continue
        a, b = source.operands
        if b is other:
            return [a]
        if a is other:
            return [b]
    return BINARY["arith.xori"].fold(op, constants)


def _fold_remainder(op: Operation, constants: Constants) -> Folded:
    """Also ``x % 1``; a remainder by -1 stays, since it is undefined for the least integer."""
    if is_integer(constants[1], 1):
        return _constant(0, op.results[0].type)
    return BINARY[op.name].fold(op, constants)


def _fold_absolute(op: Operation, constants: Constants) -> Folded:
    width = integer_width(op.results[0].type)
    if width is None:
        return None

    def absolute(value: int) -> int | None:
        return None if value == -(1 << (width - 1)) else abs(value)

    constant = elementwise(absolute, constants, op.results[0].type)
    return None if constant is None else [constant]


FOLDS: Mapping[str, Callable[[Operation, Constants], Folded]] = {
    **{name: rule.fold for name, rule in BINARY.items()},
    "arith.addi": _fold_addition,
    "arith.subi": _fold_subtraction,
    "arith.xori": _fold_exclusive_or,
    "arith.remsi": _fold_remainder,
    "arith.remui": _fold_remainder,
    "math.absi": _fold_absolute,
}
