"""The formula that reproduces a table of integers.

Layouts of hardware are sums of digits: ``i // 8 % 2 * 4 + j % 8``. `digits` finds them in a table
of one variable, `Formula` in a table over threads and registers, by looking at all its values, so
what it returns is right; None means that there is no such formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.dialects.tile.expressions import Constant, Coordinate, LayoutExpr

IntArray: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Digit:
    """``(x // divisor) % radix * weight``."""

    divisor: int
    radix: int
    weight: int


def digits(values: IntArray) -> tuple[Digit, ...] | None:
    """The digits whose weighted sum the table is, apart from its first value."""
    rest = values - values[0]
    found: list[Digit] = []
    divisor = 1
    while len(rest) > 1:
        weight = int(rest[1] - rest[0])
        radix = _radix(rest, weight)
        if radix is None:
            return None
        found.append(Digit(divisor, radix, weight))
        divisor *= radix
        rest = rest[::radix]
    return tuple(found)


def _radix(values: IntArray, weight: int) -> int | None:
    """How far the lowest digit counts: the most for which the table repeats itself.

    The table counts up to `run` and no further, so a digit starts again there: `run` is a multiple
    of its radix.
    """
    size = len(values)
    position = np.arange(size)
    wrong = np.flatnonzero(values - values[0] != position * weight)
    if len(wrong) == 0:
        return size
    run = int(wrong[0])
    for radix in range(run, 1, -1):
        if run % radix:
            continue
        # The last round may be cut short.
        inside = position % radix
        if (values - values[position - inside] == inside * weight).all():
            return radix
    return None


def expression(found: Sequence[Digit], variable: LayoutExpr, size: int) -> LayoutExpr:
    """The sum of digits of a variable that counts to `size`."""
    total: LayoutExpr = Constant(0)
    for digit in found:
        if digit.weight == 0:
            continue
        part = variable // digit.divisor
        if digit.divisor * digit.radix < size:
            part = part % digit.radix
        total = total + part * digit.weight
    return total


@dataclass(frozen=True)
class Formula:
    """A table over (thread, register) as an expression in both."""

    text: LayoutExpr
    """Coordinate 0 is the thread, coordinate 1 the register."""
    of_register: LayoutExpr
    """The part that only the register decides, with the constant."""
    of_thread: LayoutExpr

    def __str__(self) -> str:
        return self.text.text(("thread", "register"))


def formula(table: IntArray) -> Formula | None:
    """``f(thread) + g(register)``, both sums of digits."""
    first_row, first_column = table[0, :], table[:, 0]
    if (table != first_column[:, None] + first_row[None, :] - table[0, 0]).any():
        return None
    by_thread, by_register = digits(first_column), digits(first_row)
    if by_thread is None or by_register is None:
        return None
    thread = expression(by_thread, Coordinate(0), len(first_column))
    register = expression(by_register, Coordinate(1), len(first_row)) + int(table[0, 0])
    return Formula(thread + register, register, thread)


def forward_expression(table: IntArray) -> LayoutExpr | None:
    """A table over the coordinates of a tile as a sum of digits of each of them."""
    total: LayoutExpr = Constant(int(table.flat[0]))
    rebuilt: Any = np.full(table.shape, table.flat[0])
    for axis, size in enumerate(table.shape):
        index: list[Any] = [0] * table.ndim
        index[axis] = slice(None)
        line = table[tuple(index)]
        found = digits(line)
        if found is None:
            return None
        total = total + expression(found, Coordinate(axis), size)
        shape = [1] * table.ndim
        shape[axis] = size
        rebuilt = rebuilt + (line - line[0]).reshape(shape)
    return total if (rebuilt == table).all() else None
