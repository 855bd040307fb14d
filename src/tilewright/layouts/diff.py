"""A diagram of two layouts, around the first element on which they differ.

An error about layouts names one element. The elements near it show how the layouts differ: one may
be the transpose of the other, shifted, or distributed over other threads.

    P as T.gemm has it            P as the loop reads it
           0    1    2    3              0    1    2    3
      0    0    0    1    1         0    0    4    8   12
      1   [4]   4    5    5         1   [0]   4    8   12

A cell is the thread that owns the element, with ``+n`` for n more of them; if both layouts have the
same threads everywhere, the register follows (``thread:register``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

ROWS, COLUMNS = 4, 6
_NO_THREAD = "-"
_GAP = " " * 4

Assignment: TypeAlias = tuple[tuple[int, ...], int]
"""The threads that own an element, and the register; no threads if none does."""
Owners: TypeAlias = Callable[[tuple[int, ...]], Assignment]


@dataclass(frozen=True)
class Side:
    """One of the two layouts: its title, and the owners of its elements."""

    title: str
    owners: Owners


def compare(shape: Sequence[int], witness: tuple[int, ...], left: Side, right: Side) -> str:
    """Both layouts around `witness`, as text."""
    window = _Window.around(shape, witness)
    show_registers = all(
        left.owners(point)[0] == right.owners(point)[0] for point in window.points()
    )
    blocks = [_block(window, side, show_registers) for side in (left, right)]
    width = max(map(len, blocks[0]))
    return "\n".join(f"{one:<{width}}{_GAP}{two}" for one, two in zip(*blocks, strict=True))


@dataclass(frozen=True)
class _Window:
    """The part of a tile that is shown; tiles with more dimensions are cut at the witness."""

    witness: tuple[int, ...]
    rows: range
    columns: range

    @classmethod
    def around(cls, shape: Sequence[int], witness: tuple[int, ...]) -> _Window:
        height, width = (1, shape[-1]) if len(shape) == 1 else (shape[-2], shape[-1])
        row = 0 if len(shape) == 1 else witness[-2]
        return cls(witness, _near(row, height, ROWS), _near(witness[-1], width, COLUMNS))

    def point(self, row: int, column: int) -> tuple[int, ...]:
        if len(self.witness) == 1:
            return (column,)
        return (*self.witness[:-2], row, column)

    def points(self) -> list[tuple[int, ...]]:
        return [self.point(row, column) for row in self.rows for column in self.columns]


def _near(position: int, size: int, count: int) -> range:
    """`count` indices around a position, starting one before it, inside the tile."""
    first = max(0, min(position - 1, size - count))
    return range(first, min(first + count, size))


def _block(window: _Window, side: Side, show_registers: bool) -> list[str]:
    cells = {
        point: _label(side.owners(point), show_registers, is_witness=point == window.witness)
        for point in window.points()
    }
    heads = [f"{column} " for column in window.columns]
    width = max(map(len, (*cells.values(), *heads)))
    gutter = max(len(str(row)) for row in window.rows)
    lines = [side.title, " " * gutter + "".join(f" {head:>{width}}" for head in heads)]
    for row in window.rows:
        labels = (cells[window.point(row, column)] for column in window.columns)
        lines.append(f"{row:>{gutter}}" + "".join(f" {label:>{width}}" for label in labels))
    return [line.rstrip() for line in lines]


def _label(assignment: Assignment, show_register: bool, *, is_witness: bool) -> str:
    threads, register = assignment
    text = _NO_THREAD
    if threads:
        text = f"{threads[0]}:{register}" if show_register else str(threads[0])
        text += f"+{len(threads) - 1}" if len(threads) > 1 else ""
    return f"[{text}]" if is_witness else f"{text} "
