"""Notes about running on the CPU, printed once on standard error."""

from __future__ import annotations

import sys

_printed: set[str] = set()


def print_once(text: str) -> None:
    """Print `text`, unless that has been done."""
    if text in _printed:
        return
    _printed.add(text)
    sys.stderr.write(f"tilewright: {text}\n")
