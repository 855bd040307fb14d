"""What tools set for the `T` kernels of a program; loads nothing, so that they can do so early.

changed(...)            options of runs (users: `options.tile_running`, which validates them)
with_settings(...)      settings that precede the ``pass_configs`` of kernels
observed_by(observer)   is notified of every launch, of its end or of its fault
describe_gpu(arch)      the GPU that scripts find described where there is none
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tilewright.targets.numpy.api import NumpyFault
    from tilewright.targets.numpy.tile import TileReport

Observer = Callable[[str, "TileReport | NumpyFault"], None]

_changes: ContextVar[Mapping[str, Any] | None] = ContextVar("tile options", default=None)
_settings: ContextVar[Mapping[str, str] | None] = ContextVar("settings", default=None)
_observers: list[Observer] = []
_arch: list[str | None] = [None]


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


@contextmanager
def with_settings(settings: Mapping[str, str]) -> Generator[None]:
    """Inside the ``with``, kernels are compiled with these settings, whatever they name."""
    before = _settings.set(settings)
    try:
        yield
    finally:
        _settings.reset(before)


def forced_settings() -> Mapping[str, str]:
    """The settings that precede those of a kernel."""
    return _settings.get() or {}


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


def describe_gpu(arch: str | None) -> None:
    """Kernels for no target in particular show their source for `arch` from here on.

    They run on this machine (`compat.described_gpu`).
    """
    _arch[0] = arch


def described_arch(target: object) -> str | None:
    """The architecture that is described to kernels with this target, as the user wrote it."""
    return _arch[0] if target is None or str(target) == "auto" else None
