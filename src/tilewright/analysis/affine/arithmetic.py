"""What each operation means on plain integers; everything else is measured against this.

Total on purpose: a division by zero is 0 and a negative shift is 0. Programs do not execute them,
but a value may mention one behind a condition that is false.
"""

from __future__ import annotations

from collections.abc import Callable

from tilewright.analysis.affine.symbols import Kind


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


def least(*values: int) -> int:
    return min(values)


def greatest(*values: int) -> int:
    return max(values)


OPERATIONS: dict[Kind, Callable[..., int]] = {
    Kind.WRAP: itself,
    Kind.FDIV: floor_div,
    Kind.TDIV: trunc_div,
    Kind.MOD: floor_mod,
    Kind.TREM: trunc_rem,
    Kind.MIN: least,
    Kind.MAX: greatest,
    Kind.AND: int.__and__,
    Kind.OR: int.__or__,
    Kind.XOR: int.__xor__,
    Kind.SHL: shift_left,
    Kind.SHR: shift_right,
}
