"""``triton.profiler`` without a profiler: scripts that use Proton run, nothing is measured.

Scopes can be entered and left, sessions started and ended; no file is written, and the viewer has
nothing to show. That is printed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ContextDecorator
from typing import Any

from tilewright.compat.notices import print_once

DEFAULT_PROFILE_NAME = "proton"


def _note() -> None:
    print_once(
        "triton.profiler measures nothing here: scopes are ignored and no profile is written; "
        "`tilewright check` and `tilewright analyze` report on kernels without a GPU"
    )


class scope(ContextDecorator):
    """A named part of the program."""

    def __init__(self, name: str = "", metrics: Mapping[str, Any] | None = None, **_: Any) -> None:
        self.name = name
        self.metrics = metrics

    def __enter__(self) -> scope:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class state(scope):
    """A named state of the program."""


class cpu_timed_scope(scope):
    """A named part whose time on the CPU would be measured."""


class metadata_state(scope):
    """A part that is left out of a profile."""


def start(name: str | None = None, **_: Any) -> int:
    """A session that records nothing."""
    _note()
    return 0


def activate(session: int | None = None) -> None:
    """Accepted: nothing is recorded."""


def deactivate(session: int | None = None, **_: Any) -> None:
    """Accepted: nothing is recorded."""


def finalize(session: int | None = None, output_format: str = "hatchet") -> None:
    """Accepted: no file is written."""


def enter_scope(name: str, **_: Any) -> int:
    return 0


def exit_scope(name: str = "", **_: Any) -> int:
    return 0


def enter_state(name: str) -> None:
    """Accepted: nothing is recorded."""


def exit_state() -> None:
    """Accepted: nothing is recorded."""


def profile(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """The function as it is."""
    _note()
    return _unchanged if function is None else function


def _unchanged(function: Any) -> Any:
    return function


class _NoProfile:
    """The tree of a profile without entries."""

    columns: Sequence[str] = ()

    def __iter__(self) -> Iterator[Any]:
        return iter(())


def read(filename: str) -> tuple[_NoProfile, list[str], list[str], dict[str, Any]]:
    _note()
    return _NoProfile(), [], [], {}


def parse(metrics: Sequence[str], filename: str, **_: Any) -> tuple[_NoProfile, list[str]]:
    """A profile without entries: none was written."""
    _note()
    return _NoProfile(), []


def print_tree(tree: object, metrics: Sequence[str], **_: Any) -> None:
    """There is nothing to print."""
    _note()
