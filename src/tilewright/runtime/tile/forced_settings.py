"""Settings that precede the ``pass_configs`` of the `T` kernels of a program."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_settings: ContextVar[Mapping[str, str] | None] = ContextVar("settings", default=None)


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
