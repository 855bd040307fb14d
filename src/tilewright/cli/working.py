"""One line on a terminal with what is being done, while it is being done; none elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Generator, Sequence
from typing import Protocol, TypeVar

_CLEAR = "\r\x1b[K"


def clear_line() -> None:
    """Remove the line before an error is printed."""
    if sys.stderr.isatty():
        sys.stderr.write(_CLEAR)


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def working_on(items: Sequence[N], doing: str) -> Generator[N]:
    """The items, each with a line ``compiling scale (2 of 3)`` until the next is requested."""
    is_shown = sys.stderr.isatty()
    try:
        for index, item in enumerate(items, 1):
            if is_shown:
                count = f" ({index} of {len(items)})" if len(items) > 1 else ""
                sys.stderr.write(f"{_CLEAR}{doing} {item.name}{count}")
                sys.stderr.flush()
            yield item
    finally:
        if is_shown and items:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
