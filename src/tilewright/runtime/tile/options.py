"""How `T` kernels run on this machine: set by a ``with`` around calls.

with tile_running(schedules=20, seed=7): kernel(a, b)
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

from tilewright.runtime.tile.settings import changed, current_changes
from tilewright.targets.numpy.api import Progress
from tilewright.targets.numpy.tile.api import TileOptions


@contextmanager
def tile_running(**changes: Any) -> Generator[TileOptions]:
    """Run kernels inside the ``with`` with other options, for instance ``checked=False``."""
    known = [each.name for each in fields(TileOptions)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; expected one of {', '.join(known)}")
    with changed(**changes):
        yield TileOptions(**current_changes())


def current_tile_options(progress: Progress | None = None) -> TileOptions:
    options = TileOptions(**current_changes())
    return replace(options, progress=progress) if options.progress is None else options
