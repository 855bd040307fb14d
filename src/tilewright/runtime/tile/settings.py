"""Changes to the options of runs of `T` kernels; loads nothing, so that tools can make some early.

Users use `options.tile_running`, which validates the options.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_changes: ContextVar[Mapping[str, Any] | None] = ContextVar("tile options", default=None)


def current_changes() -> Mapping[str, Any]:
    return _changes.get() or {}


@contextmanager
def changed(**changes: Any) -> Generator[None]:
    """Run kernels inside the ``with`` with these options."""
    before = _changes.set({**current_changes(), **changes})
    try:
        yield
    finally:
        _changes.reset(before)
