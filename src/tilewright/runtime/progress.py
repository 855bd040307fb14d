"""One line on the terminal while a launch takes long; nothing for the quick ones.

Where standard error is no terminal, work that takes minutes reports progress in lines.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

_SILENT_SECONDS = 1.0
_REFRESH_SECONDS = 0.1
_WIDTH = 30
QUIET_SECONDS = 2.0
"""How long work may take before progress is printed."""
_LINES = 10


def progress_bar(name: str, things: str = "programs") -> Callable[[int, int], None]:
    """A callback that draws how many programs of `name` are done, and what is left to wait."""
    start = time.perf_counter()
    drawn = 0.0

    def show(done: int, total: int) -> None:
        nonlocal drawn
        now = time.perf_counter()
        elapsed = now - start
        if elapsed < _SILENT_SECONDS or total == 0:
            return
        if done < total and now - drawn < _REFRESH_SECONDS:
            return
        if done >= total:
            # The line has served: leave the terminal as it was.
            sys.stderr.write("\r\x1b[K" if drawn else "")
            sys.stderr.flush()
            return
        drawn = now
        filled = _WIDTH * done // total
        left = elapsed * (total - done) / done if done else 0.0
        bar = "#" * filled + "." * (_WIDTH - filled)
        sys.stderr.write(f"\r{name} [{bar}] {done}/{total} {things}, {left:.0f} s left\x1b[K")
        sys.stderr.flush()

    return show


def progress_lines(name: str, things: str) -> Callable[[int, int], None]:
    """The same as a bar on a terminal; elsewhere, a line for each tenth of long work."""
    if sys.stderr.isatty():
        return progress_bar(name, things)
    start = time.perf_counter()
    printed = 0

    def show(done: int, total: int) -> None:
        nonlocal printed
        elapsed = time.perf_counter() - start
        if elapsed < QUIET_SECONDS or not printed * total < done * _LINES < total * _LINES:
            return
        printed = done * _LINES // total + 1
        left = elapsed * (total - done) / done
        sys.stderr.write(f"{name}: {done} of {total} {things}, {left:.0f} s left\n")
        sys.stderr.flush()

    return show
