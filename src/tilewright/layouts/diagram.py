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

from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import Layout
from tilewright.layouts.linear import BLOCK, LANE, OFFSET, REGISTER, WARP, LinearLayout

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
        if self.hidden_rows or self.hidden_columns:
            lines.append(f"… {self.hidden_rows} more rows, {self.hidden_columns} more columns")
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


def fragment_diagram(
    fragment: Fragment, max_rows: int = MAX_ROWS, max_columns: int = MAX_COLUMNS
) -> Diagram:
    """Threads and registers; an element with replicas shows the first and how many more."""

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        owners = sorted(set(fragment.owners(*point)))
        thread, register = owners[0]
        more = f"+{len(owners) - 1}" if len(owners) > 1 else ""
        return f"{thread}:{register}{more}", thread

    legend = "thread:register" + ("+further owners" if fragment.replicas > 1 else "")
    return draw(fragment.shape, label, str(fragment), legend, max_rows, max_columns)


def layout_diagram(
    layout: Layout,
    element_bits: int = 32,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Diagram:
    """Offsets in memory, coloured by bank."""

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        offset = layout.offset(*point)
        return str(offset), offset * element_bits // 8 // BANK_BYTES % BANKS

    legend = "offset in elements, coloured by bank"
    return draw(layout.shape, label, str(layout), legend, max_rows, max_columns)


def linear_diagram(
    layout: LinearLayout,
    element_bits: int = 32,
    max_rows: int = MAX_ROWS,
    max_columns: int = MAX_COLUMNS,
) -> Diagram:
    """A layout over bits: threads and registers, or offsets if it has those."""
    if OFFSET in layout.in_names:
        return layout_diagram(Layout.from_linear(layout), element_bits, max_rows, max_columns)
    owners: dict[tuple[int, ...], list[tuple[int, int, int]]] = {}
    for inputs, point in layout.points():
        thread = inputs.get(LANE, 0) + layout.in_size(LANE) * inputs.get(WARP, 0)
        owner = (inputs.get(BLOCK, 0), thread, inputs.get(REGISTER, 0))
        owners.setdefault(point, []).append(owner)
    clusters = layout.in_size(BLOCK) > 1

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        found = sorted(owners.get(point, []))
        if not found:
            return "·", 0
        block, thread, register = found[0]
        more = f"+{len(found) - 1}" if len(found) > 1 else ""
        prefix = f"{block}/" if clusters else ""
        return f"{prefix}{thread}:{register}{more}", thread

    sizes = " x ".join(map(str, layout.out_shape))
    legend = ("CTA/" if clusters else "") + "thread:register"
    return draw(layout.out_shape, label, sizes, legend, max_rows, max_columns)


def difference_diagram(one: Fragment, other: Fragment, names: tuple[str, str]) -> Diagram:
    """Two fragments in one grid: elements that both give to the same thread are a dot."""
    if one.shape != other.shape:
        raise ValueError(f"{list(one.shape)} and {list(other.shape)} are different tiles")

    def label(point: tuple[int, ...]) -> tuple[str, int]:
        first, second = (min(f.owners(*point)) for f in (one, other))
        if first == second:
            return "·", 0
        return f"{first[0]}:{first[1]}≠{second[0]}:{second[1]}", 1

    legend = f"thread:register by {names[0]} ≠ by {names[1]}"
    return draw(one.shape, label, "difference", legend, 16, 16)
