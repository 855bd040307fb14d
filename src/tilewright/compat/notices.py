"""Notes about running on the CPU, printed once on standard error."""

from __future__ import annotations

import sys

_said: set[str] = set()


def say_once(text: str) -> None:
    """Print `text`, unless that has been done."""
    if text in _said:
        return
    _said.add(text)
    sys.stderr.write(f"tilewright: {text}\n")
