"""What operators on floats and conversions give, written down from the definitions.

Triton's interpreter is what values are compared with, but it is not right about everything. Where
it is known to differ from compiled kernels, `departures` says for which elements and why, and what
is computed here takes its place. All of it was compared with what kernels that Triton 3.9 compiled
for `sm_90` give on an H200; where that depends on the device, the PTX ISA has the rule.

Numbers are kept in extended precision, which holds 64-bit integers, until they are rounded to a
format by scaling its last place to 1: none of the code under test takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.language.tl.operator_cases import (
    COMPARISONS,
    DTYPES,
    FLOATS,
    LANES,
    SMALL_FLOATS,
    Array,
    Plan,
    Value,
    operand,
)

# Bits of the significand, least exponent of a normal number, greatest number.
FORMATS: dict[str, tuple[int, int, float]] = {
    "fp8e5": (3, -14, 57344.0),
    "fp8e4nv": (4, -6, 448.0),
    "bf16": (8, -126, (2 - 2.0**-7) * 2.0**127),
    "fp16": (11, -14, 65504.0),
    "fp32": (24, -126, (2 - 2.0**-23) * 2.0**127),
    "fp64": (53, -1022, (2 - 2.0**-52) * 2.0**1023),
}
CONVERSIONS = ("cast", "cast rtne", "cast rtz")


def rounded(x: Array, dtype: str, mode: str = "rtne") -> Array:
    """`x` as a format has it: to nearest even, or towards zero.

    What is too large for 8 bits becomes the greatest number (`cvt.satfinite`), infinities included
    unless the rest is cut off, as Triton does for fp8e5.
    """
    bits, least, most = FORMATS[dtype]
    exponent = np.frexp(x)[1] - 1
    place = np.maximum(exponent, least) - (bits - 1)
    whole = np.ldexp(x, -place)
    found = np.ldexp(np.rint(whole) if mode == "rtne" else np.trunc(whole), place)
    found = np.where(np.isfinite(x), found, x)
    beyond = np.abs(found) > most
    saturates = dtype in SMALL_FLOATS and (mode == "rtne" or dtype == "fp8e4nv")
    limit = most if saturates or mode == "rtz" else np.inf
    kept_infinite = np.isinf(x) & (not saturates)
    return np.where(beyond & ~kept_infinite, np.copysign(limit, x), found)


def is_subnormal(x: Array, dtype: str) -> Array:
    return (x != 0) & (np.abs(x) < 2.0 ** FORMATS[dtype][1])


# Operands.


def exact(plan: Plan, name: str) -> Array:
    """The values of an input."""
    elements = operand(name, plan.inputs[name])
    if elements.dtype.kind in "biuf":
        return elements.astype(np.longdouble)
    return elements.astype(np.float64).astype(np.longdouble)


def _sides(plan: Plan, case: Value, dtype: str) -> list[Array]:
    """Both operands of a case, rounded to the type in which they meet."""
    names = iter(case.operands)
    found: list[Array] = []
    for side in (case.left, case.right):
        if side in DTYPES:
            value = exact(plan, next(names))
        else:
            value = np.full(LANES, np.longdouble(_number(side)))
        found.append(rounded(value, dtype))
    return found


def _number(text: str) -> Any:
    return eval(text, {})


def meeting_type(plan: Plan, case: Value) -> str:
    """The type in which the operands of a case meet."""
    if case.operator in COMPARISONS:
        return plan.dtype(("minimum", case.left, case.right))
    return plan.dtype(case.key)


# Values.

_PLAIN: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod,
    "fdiv": np.divide, "fdiv ieee": np.divide,
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal,
}  # fmt: skip


def expected(plan: Plan, case: Value) -> Array | None:
    """The result of a case, None for arithmetic of integers."""
    if case.operator in CONVERSIONS:
        return _converted(plan, case)
    if case.operator in _CONDITIONS:
        x, c = operand("x", "int1"), operand("c", "int1")
        return _CONDITIONS[case.operator](x, c)
    if case.operator in ("neg", "abs"):
        return _signed(plan, case)
    if case.operator == ">>" and _is_read_unsigned(case):
        return _shifted(plan, case)
    if case.right in ("", *DTYPES) and case.operator in ("bitcast", "invert"):
        return None
    return _float_arithmetic(plan, case, meeting_type(plan, case))


_CONDITIONS: dict[str, Callable[[Array, Array], Array]] = {
    "not": lambda x, c: x == False,  # noqa: E712
    "and": lambda x, c: x & c,
    "or": lambda x, c: x | c,
}


def _float_arithmetic(plan: Plan, case: Value, dtype: str) -> Array | None:
    if dtype not in FORMATS:
        return None
    # Doubles are enough for the others too: rounding twice is rounding once, since 53 bits are
    # more than twice the 24 of fp32 and 2 more.
    a, b = (side.astype(np.float64) for side in _sides(plan, case, dtype))
    if case.operator == "where":
        found = np.where(operand("c", "int1"), a, b)
    elif case.operator.startswith("m"):
        found = _extremum(case.operator, a, b)
    else:
        found = _PLAIN[case.operator](a, b)
    return found if found.dtype == np.bool_ else _as(found, plan.dtype(case.key))


def _extremum(operator: str, a: Array, b: Array) -> Array:
    """-0.0 is less than +0.0; NaN is handed on or not."""
    is_less = (a < b) | ((a == b) & np.signbit(a))
    found = np.where(is_less == operator.startswith("minimum"), a, b)
    if operator.endswith("nan"):
        return np.where(np.isnan(a) | np.isnan(b), np.nan, found)
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, found))


def _signed(plan: Plan, case: Value) -> Array | None:
    if case.left not in FORMATS:
        return None
    x = exact(plan, "x").astype(np.float64)
    return (-x if case.operator == "neg" else np.abs(x)).astype(DTYPES[case.left])


def _as(x: Array, dtype: str, mode: str = "rtne") -> Array:
    """`x` as elements of a float type."""
    return rounded(x.astype(np.longdouble), dtype, mode).astype(np.float64).astype(DTYPES[dtype])


def _is_read_unsigned(case: Value) -> bool:
    """Whether a number of Python is shifted by an unsigned tensor, which decides about the sign."""
    return case.left not in DTYPES and case.left.startswith("-") and case.right in ("int1",)


def _shifted(plan: Plan, case: Value) -> Array:
    scalar = np.dtype(DTYPES[plan.dtype(case.key)])
    number = _number(case.left) % (1 << 8 * scalar.itemsize)
    amounts = operand(case.operands[0], case.right)
    return np.array([number >> int(each) for each in amounts]).astype(scalar)


# Conversions.


def _converted(plan: Plan, case: Value) -> Array:
    if case.left == case.right:
        return operand("x", case.left)
    x = exact(plan, "x")
    if case.right in FORMATS:
        return _as(x, case.right, "rtz" if case.operator.endswith("rtz") else "rtne")
    if case.right == "int1":
        return x != 0
    scalar = np.dtype(DTYPES[case.right])
    whole = (int(each) if case.left not in FORMATS else _cut(each, case) for each in x)
    bits = 8 * scalar.itemsize
    unsigned = np.array([each % (1 << bits) for each in whole], np.dtype(f"u{scalar.itemsize}"))
    return unsigned.view(scalar)


def _cut(x: Any, case: Value) -> int:
    """A float as an integer.

    PTX ISA, `cvt`: towards zero, limited to the range of the target. NaN becomes 0, or the top bit
    alone if the source or the target has 64 bits. Integers of 8 bits are the low half of 16.
    """
    low, high = _range(case.right)
    if not np.isnan(x):
        return low if x <= low else high if x >= high else int(x)
    has_64_bits = case.left == "fp64" or case.right.endswith("64")
    return (high - low + 1) // 2 if has_64_bits else 0


def _range(dtype: str) -> tuple[int, int]:
    limits = np.iinfo(np.dtype(DTYPES[dtype.replace("int8", "int16")]))
    return int(limits.min), int(limits.max)


# Where Triton's interpreter is not followed.

BITS = "it holds bfloat16 and 8-bit floats as unsigned integers and computes with those"
SUBNORMAL = "it loses the last bit of subnormal bfloat16 numbers when it widens them"
ZEROS = "it leaves to NumPy which of -0.0 and +0.0 is less; `min` and `max` of PTX order them"
TRUTH = "it asks Python for the truth of a tensor, and a tensor of several elements is true"
SIGN = "it shifts in the sign where the sign of the number decides; compiled, the tensor's does"
RANGE = "it converts as the C compiler of NumPy does, which says nothing of what is out of range"
ROUNDING = "it cuts bfloat16 and 8-bit floats off, or rounds ties up, and does not see an overflow"
BROKEN = "it fails, with an exception of NumPy"

_BY_HAND = ("bf16", *SMALL_FLOATS)
"""Floats that NumPy does not know: the interpreter takes their bits apart."""


def fails(case: Value) -> bool:
    """Whether the interpreter cannot evaluate a case at all."""
    if case.operator not in CONVERSIONS or case.left == case.right:
        return False
    has_8_bits = case.left in SMALL_FLOATS or case.right in SMALL_FLOATS
    if "fp64" in (case.left, case.right):
        return has_8_bits or case.operator == "cast rtz"
    return (case.left, case.right) == ("fp8e4nv", "fp8e5")


def departures(plan: Plan, case: Value) -> Iterator[tuple[str, Array]]:
    """Why and for which elements `expected` is right and Triton's interpreter is not."""
    everywhere = np.ones(LANES, np.bool_)
    if fails(case):
        yield BROKEN, everywhere
    elif case.operator in CONVERSIONS:
        yield from _conversion_departures(plan, case)
    elif case.operator in _CONDITIONS:
        yield TRUTH, everywhere
    elif case.operator == "neg" and case.left in _BY_HAND:
        yield BITS, everywhere
    elif case.operator == ">>" and _is_read_unsigned(case):
        yield SIGN, operand(case.operands[0], case.right) != 0
    elif case.operator not in ("neg", "abs", "invert", "bitcast"):
        yield from _arithmetic_departures(plan, case, meeting_type(plan, case))


def _arithmetic_departures(plan: Plan, case: Value, dtype: str) -> Iterator[tuple[str, Array]]:
    copies = case.operator == "where" and case.left in DTYPES and case.right in DTYPES
    if dtype == "bf16" and not copies:
        yield BITS, np.ones(LANES, np.bool_)
        return
    if dtype != "bf16":
        for name in case.operands:
            if plan.inputs[name] == "bf16":
                yield SUBNORMAL, is_subnormal(exact(plan, name), "bf16")
    if case.operator.startswith("m") and dtype in FLOATS:
        a, b = _sides(plan, case, dtype)
        yield ZEROS, (a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b))


def _conversion_departures(plan: Plan, case: Value) -> Iterator[tuple[str, Array]]:
    x = exact(plan, "x")
    source, target = case.left, case.right
    if source == target:
        return
    if target == "bf16" and source not in ("fp16", "fp32", *SMALL_FLOATS):
        yield BITS, np.ones(LANES, np.bool_) & (x != 0 if source != "fp64" else True)
    elif source in FORMATS and target in FORMATS:
        if source in _BY_HAND or target in _BY_HAND or case.operator == "cast rtz":
            found = rounded(x, target)
            is_plain = (found == x) & np.isfinite(x) & ~is_subnormal(found, target)
            yield ROUNDING, ~(is_plain & ~is_subnormal(x, source))
    elif source == "bf16" and target == "int1":
        yield SUBNORMAL, is_subnormal(x, "bf16")
    elif source in FORMATS and target != "int1":
        limits = np.iinfo(np.dtype(DTYPES[target]))
        inside = (np.trunc(x) >= limits.min) & (np.trunc(x) <= limits.max)
        yield RANGE, ~inside
