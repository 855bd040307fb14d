"""Warnings about a kernel, at the author's line and not at the line of ours that noticed."""

from __future__ import annotations

import warnings

from tilewright.frontend.builder import current
from tilewright.ir.diagnostics import resolve

_shown: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""What Python has shown of each file, so that a line is not warned about again and again."""


def warn(message: str) -> None:
    """Tell the author of the kernel being traced, once for each line."""
    place = resolve(current().location()).primary
    if place is None:
        warnings.warn(message, stacklevel=3)
        return
    shown = _shown.setdefault(place.file, {})
    warnings.warn_explicit(message, UserWarning, place.file, place.line, registry=shown)
