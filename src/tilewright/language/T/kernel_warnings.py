"""Warnings about a kernel, at the user's line and not at the line of ours that noticed."""

from __future__ import annotations

import warnings

from tilewright.frontend.builder import current
from tilewright.ir.diagnostics import resolve


def warn(message: str) -> None:
    """Warn the user of the kernel being traced, at the line that is being executed."""
    position = resolve(current().location()).primary
    if position is None:
        warnings.warn(message, stacklevel=3)
    else:
        warnings.warn_explicit(message, UserWarning, position.file, position.line, registry={})
