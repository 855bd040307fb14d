"""What each operation means on plain integers; everything else is measured against this.

Total on purpose: a division by zero is 0 and a negative shift is 0. Programs do not execute them,
but a value may contain one under a condition that is false.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.analysis.affine.symbols import SymbolKind


def floor_div(value: int, divisor: int) -> int:
    return value // divisor if divisor else 0


def floor_mod(value: int, divisor: int) -> int:
    return value - divisor * floor_div(value, divisor)


def trunc_div(value: int, divisor: int) -> int:
    if not divisor:
        return 0
    quotient = abs(value) // abs(divisor)
    return quotient if (value < 0) == (divisor < 0) else -quotient


def trunc_rem(value: int, divisor: int) -> int:
    return value - divisor * trunc_div(value, divisor)


def shift_left(value: int, amount: int) -> int:
    return value << amount if amount >= 0 else 0


def shift_right(value: int, amount: int) -> int:
    return value >> amount if amount >= 0 else 0


def itself(value: int) -> int:
    return value


def minimum(*values: int) -> int:
    return min(values)


def greatest(*values: int) -> int:
    return max(values)


OPERATIONS: dict[SymbolKind, Callable[..., int]] = {
    SymbolKind.WRAP: itself,
    SymbolKind.FDIV: floor_div,
    SymbolKind.TDIV: trunc_div,
    SymbolKind.MOD: floor_mod,
    SymbolKind.TREM: trunc_rem,
    SymbolKind.MIN: minimum,
    SymbolKind.MAX: greatest,
    SymbolKind.AND: int.__and__,
    SymbolKind.OR: int.__or__,
    SymbolKind.XOR: int.__xor__,
    SymbolKind.SHL: shift_left,
    SymbolKind.SHR: shift_right,
}
