"""``tabulate.tabulate``, which tutorials print tables with, where it is not installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def tabulate(rows: Iterable[Iterable[object]], headers: Sequence[object] = ()) -> str:
    """The rows as text, in columns."""
    table = [[str(cell) for cell in row] for row in (headers, *rows) if row]
    widths = [0] * max(map(len, table), default=0)
    for row in table:
        for column, cell in enumerate(row):
            widths[column] = max(widths[column], len(cell))
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()
        for row in table
    )
