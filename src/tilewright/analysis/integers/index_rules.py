"""Integer ops in terms of `analysis.affine`: op by op, for `index_range`.

A rule takes the context of the op and its operands as polynomials or formulas. It returns None
where the result may differ from the polynomial: an integer of a width may wrap, an unsigned operand
may be negative.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from tilewright.analysis.affine import Context, Formula, Interval, Poly

_INDEX_BITS = 64


def is_integer(type: Attribute) -> bool:
    """Whether values of the type are tracked as integers."""
    return isinstance(type, IndexType | IntegerType) and not is_truth(type)


def is_truth(type: Attribute) -> bool:
    return isinstance(type, IntegerType) and type.width.data == 1


def range_of_type(type: Attribute) -> Interval:
    width = type.width.data if isinstance(type, IntegerType) else _INDEX_BITS
    return Interval.of_bits(width)


def fits(ctx: Context, poly: Poly, type: Attribute) -> bool:
    """Whether the polynomial is the value: an integer of a width may have wrapped."""
    if isinstance(type, IndexType):
        return True
    return range_of_type(type).contains(ctx.range(poly))


# -- integers ----------------------------------------------------------------------------------

Rule = Callable[..., Poly | None]


def _unsigned(rule: Rule) -> Rule:
    """A rule for unsigned integers, which holds for those that are not negative anyway."""

    def checked(ctx: Context, *operands: Poly) -> Poly | None:
        return rule(ctx, *operands) if all(map(ctx.is_nonneg, operands)) else None

    return checked


def _shifted(rule: Rule) -> Rule:
    def checked(ctx: Context, value: Poly, amount: Poly) -> Poly | None:
        known = amount.constant
        return rule(ctx, value, amount) if known is not None and 0 <= known < 63 else None

    return checked


def _sum(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one + other)


def _difference(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one - other)


def _multiplied(ctx: Context, one: Poly, other: Poly) -> Poly:
    return ctx.limited(one * other)


def _rounded_up(ctx: Context, dividend: Poly, divisor: Poly) -> Poly | None:
    return ctx.ceil_div(dividend, divisor) if ctx.is_positive(divisor) else None


def _same(ctx: Context, value: Poly) -> Poly:
    return value


INTEGER_RULES: dict[str, Rule] = {
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _multiplied,
    "arith.floordivsi": Context.fdiv,
    "arith.divsi": Context.tdiv,
    "arith.remsi": Context.trem,
    "arith.divui": _unsigned(Context.fdiv),
    "arith.remui": _unsigned(Context.mod),
    "arith.ceildivsi": _rounded_up,
    "arith.ceildivui": _unsigned(Context.ceil_div),
    "arith.minsi": Context.minimum,
    "arith.maxsi": Context.maximum,
    "arith.minui": _unsigned(Context.minimum),
    "arith.maxui": _unsigned(Context.maximum),
    "arith.andi": Context.bit_and,
    "arith.ori": Context.bit_or,
    "arith.xori": Context.bit_xor,
    "arith.shli": _shifted(Context.shl),
    "arith.shrsi": _shifted(Context.shr),
    "arith.shrui": _shifted(_unsigned(Context.shr)),
    "arith.index_cast": _same,
    "arith.index_castui": _unsigned(_same),
    "arith.extsi": _same,
    "arith.extui": _unsigned(_same),
    "arith.trunci": _same,
}


# -- truths ------------------------------------------------------------------------------------

_SIGNED = {"eq": "=", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}

TRUTH_RULES: dict[str, Callable[[Context, Formula, Formula], Formula]] = {
    "arith.andi": lambda ctx, left, right: ctx.known(left & right),
    "arith.ori": lambda ctx, left, right: ctx.known(left | right),
    "arith.xori": lambda ctx, left, right: ctx.known(left ^ right),
}


def comparison(ctx: Context, predicate: str, left: Poly, right: Poly) -> Formula | None:
    if predicate in _SIGNED:
        return ctx.compare(_SIGNED[predicate], left, right)
    relation = _UNSIGNED[predicate]
    small, large = (left, right) if relation[0] == "<" else (right, left)
    if not ctx.is_nonneg(large):
        return None
    # As unsigned, a negative integer is larger than every positive one.
    plain = ctx.compare("<=" if relation.endswith("=") else "<", small, large)
    return ctx.known(ctx.compare("<=", 0, small) & plain)
