"""Integer ops on plain numbers; None is a number that is not known."""

from __future__ import annotations

from collections.abc import Callable

from tilewright.analysis.affine.arithmetic import floor_div, trunc_div, trunc_rem

Number = int | None


def _ceil_div(value: int, divisor: int) -> int:
    return -floor_div(-value, divisor)


def _same(value: int) -> int:
    return value


BINARY: dict[str, Callable[[int, int], int]] = {
    "addi": int.__add__,
    "subi": int.__sub__,
    "muli": int.__mul__,
    "floordivsi": floor_div,
    "ceildivsi": _ceil_div,
    "ceildivui": _ceil_div,
    "divsi": trunc_div,
    "divui": floor_div,
    "remsi": trunc_rem,
    "remui": trunc_rem,
    "minsi": min,
    "maxsi": max,
    "minui": min,
    "maxui": max,
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
    "shli": int.__lshift__,
    "shrsi": int.__rshift__,
    "shrui": int.__rshift__,
}
UNARY: dict[str, Callable[[int], int]] = dict.fromkeys(
    ("index_cast", "index_castui", "extsi", "extui", "trunci"), _same
)
COMPARISONS: dict[str, Callable[[int, int], bool]] = {
    "eq": int.__eq__,
    "ne": int.__ne__,
    "slt": int.__lt__,
    "sle": int.__le__,
    "sgt": int.__gt__,
    "sge": int.__ge__,
    "ult": int.__lt__,
    "ule": int.__le__,
    "ugt": int.__gt__,
    "uge": int.__ge__,
}
