"""``triton.profiler.language``: scopes inside of kernels, which are accepted and ignored."""

from __future__ import annotations

from typing import Any

from tilewright.language.tl.core import builtin


@builtin
def enter_scope(name: Any, _semantic: Any = None) -> None:
    """The start of a named part of a kernel."""


@builtin
def exit_scope(name: Any, _semantic: Any = None) -> None:
    """The end of a named part of a kernel."""


class scope:
    """A named part of a kernel."""

    def __init__(self, name: Any, _semantic: Any = None) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass
