"""Hooks on launches of `T` kernels; imports nothing, so that tools can install them early."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tilewright.targets.numpy.api import NumpyFault
    from tilewright.targets.numpy.tile import TileReport

Observer = Callable[[str, "TileReport | NumpyFault"], None]

_observers: list[Observer] = []


@contextmanager
def observed_by(observer: Observer) -> Generator[None]:
    """Notify `observer` of every launch inside the ``with``, of its end or of its fault."""
    _observers.append(observer)
    try:
        yield
    finally:
        _observers.remove(observer)


def notify_observers(kernel: str, outcome: TileReport | NumpyFault) -> None:
    for observer in _observers:
        observer(kernel, outcome)
