"""Give the `T` kernels of a program another target than the one they name."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from tilewright.runtime.tile import jit
from tilewright.runtime.tile.targets import checked_target


@contextmanager
def targeting(target: str) -> Generator[None]:
    """Inside the ``with``, `T` kernels have this target, whatever they name themselves.

    Raises:
        ValueError: if there is no such target.
    """
    chosen = checked_target(target)

    def same_target(_: object) -> str:
        return chosen

    jit.checked_target = same_target
    try:
        yield
    finally:
        jit.checked_target = checked_target
