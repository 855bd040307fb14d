"""Cores as few rectangles, for kernel and circular-buffer creation."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.targets.tenstorrent.program import Core, CoreRange, CoreSet


def rectangles(cores: Sequence[Core]) -> CoreSet:
    """Runs of a row, each joined with an equal run of the row above."""
    rows: dict[int, list[int]] = {}
    for x, y in cores:
        rows.setdefault(y, []).append(x)
    found: list[CoreRange] = []
    for y in sorted(rows):
        for x0, x1 in _runs(sorted(rows[y])):
            above = next(
                (i for i, r in enumerate(found) if (r.x0, r.x1, r.y1) == (x0, x1, y - 1)), None
            )
            if above is None:
                found.append(CoreRange(x0, y, x1, y))
            else:
                found[above] = CoreRange(x0, found[above].y0, x1, y)
    return CoreSet(tuple(found))


def _runs(values: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive integers as first and last."""
    found: list[tuple[int, int]] = []
    for value in values:
        if found and found[-1][1] == value - 1:
            found[-1] = (found[-1][0], value)
        else:
            found.append((value, value))
    return found
