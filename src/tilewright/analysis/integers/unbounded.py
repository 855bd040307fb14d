"""What integer ops compute, on unbounded integers.

For sizes, indices and trip counts, which neither wrap around nor are negative where an op is
unsigned. A division by zero is 0, as in `analysis.affine`: programs do not execute one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tilewright.analysis.affine.arithmetic import floor_div, trunc_div, trunc_rem

Function: TypeAlias = Callable[[int, int], int]


def ceil_div(value: int, divisor: int) -> int:
    return -floor_div(-value, divisor)


BINARY: Mapping[str, Function] = {
    "arith.addi": int.__add__,
    "arith.subi": int.__sub__,
    "arith.muli": int.__mul__,
    "arith.divsi": trunc_div,
    "arith.divui": trunc_div,
    "arith.remsi": trunc_rem,
    "arith.remui": trunc_rem,
    "arith.floordivsi": floor_div,
    "arith.ceildivsi": ceil_div,
    "arith.ceildivui": ceil_div,
    "arith.minsi": min,
    "arith.minui": min,
    "arith.maxsi": max,
    "arith.maxui": max,
    "arith.andi": int.__and__,
    "arith.ori": int.__or__,
    "arith.xori": int.__xor__,
    "arith.shli": int.__lshift__,
    "arith.shrsi": int.__rshift__,
    "arith.shrui": int.__rshift__,
}
_ORDER: Mapping[str, Function] = {
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
}
COMPARISONS: Mapping[str, Function] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    **{f"{sign}{name}": compare for sign in "su" for name, compare in _ORDER.items()},
}
"""By the predicate of `arith.cmpi`."""
