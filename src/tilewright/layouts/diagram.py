"""Diagrams of layouts: a grid of cells, for a terminal or for SVG.

A `Diagram` is data. Each cell is an element and has a label and the index of a colour; the
same thread, or the same bank, has the same colour everywhere. Tensors with more than two dimensions
become one grid for each leading coordinate. A large grid is cut: its first rows and columns are
shown, with a line about how much is missing::

       0          1
    0  0:0 0:1 |  1:0 1:1        thread : register
    1  4:0 4:1 |  5:0 5:1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

BANK_BYTES = 4
BANKS = 32
MAX_ROWS = 64
MAX_COLUMNS = 64


@dataclass(frozen=True)
class DiagramCell:
    """One element."""

    row: int
    column: int
    label: str
    colour: int
    """Cells of one thread, or of one bank, have the same; the drawer picks the hue."""


@dataclass(frozen=True)
class Grid:
    """A matrix of elements."""

    title: str
    rows: int
    columns: int
    cells: tuple[DiagramCell, ...]
    """Row by row, those that are shown."""
    hidden_rows: int = 0
    hidden_columns: int = 0

    @property
    def hidden(self) -> str:
        """What is not shown: ``3 more rows, 1 more column``; empty if nothing."""
        counts = ((self.hidden_rows, "row"), (self.hidden_columns, "column"))
        return ", ".join(
            f"{count} more {what}{'s' if count > 1 else ''}" for count, what in counts if count
        )

    def text(self) -> str:
        """The grid for a terminal."""
        width = max((len(cell.label) for cell in self.cells), default=1)
        gutter = len(str(max(self.rows - 1, 0)))
        width = max(width, len(str(self.columns - 1)))
        head = " ".join(f"{column:>{width}}" for column in range(self.columns))
        lines = [self.title] if self.title else []
        lines.append(" " * (gutter + 2) + head)
        for row in range(self.rows):
            cells = self.cells[row * self.columns : (row + 1) * self.columns]
            body = " ".join(f"{cell.label:>{width}}" for cell in cells)
            lines.append(f"{row:>{gutter}}  {body}")
        if self.hidden:
            lines.append(f"… {self.hidden}")
        return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class Diagram:
    """All grids of a layout, with what the labels mean."""

    title: str
    legend: str
    grids: tuple[Grid, ...]

    def text(self) -> str:
        parts = [f"{self.title}   ({self.legend})", *(grid.text() for grid in self.grids)]
        return "\n".join(parts) + "\n"


Labelled = Callable[[tuple[int, ...]], tuple[str, int]]
"""The label and the colour of an element."""


def draw(
    shape: Sequence[int],
    label: Labelled,
    title: str,
    legend: str,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Diagram:
    """A picture of a tensor of this shape."""
    *leading, rows, columns = (1, *shape) if len(shape) == 1 else shape
    shown_rows, shown_columns = min(rows, max_rows), min(columns, max_columns)
    grids: list[Grid] = []
    for outer in product(*map(range, leading)):
        cells: list[DiagramCell] = []
        for row, column in product(range(shown_rows), range(shown_columns)):
            point = (column,) if len(shape) == 1 else (*outer, row, column)
            cells.append(DiagramCell(row, column, *label(point)))
        name = f"[{', '.join(map(str, outer))}, …]" if outer else ""
        hidden = rows - shown_rows, columns - shown_columns
        grids.append(Grid(name, shown_rows, shown_columns, tuple(cells), *hidden))
    return Diagram(title, legend, tuple(grids))
