"""Warnings about a kernel, at the user's line and not at the line of ours that noticed."""

from __future__ import annotations

import sys
import warnings

from tilewright.frontend.builder import current
from tilewright.ir.diagnostics import resolve

_shown: dict[str, dict[str | tuple[str, type[Warning], int], int]] = {}
"""What Python has shown of each file, so that a line is not warned about again and again."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn the user of the kernel being traced, once for each line."""
    position = resolve(current().location()).primary
    if position is None:
        warnings.warn(message, category, stacklevel=3)
        return
    shown = _shown.setdefault(position.file, {})
    module = _module_of(position.file)
    warnings.warn_explicit(message, category, position.file, position.line, module, registry=shown)


def _module_of(file: str) -> str:
    """The module that `file` is executed as, which filters are about.

    Python shows a `DeprecationWarning` only to the developer of the code: the user of
    ``__main__``.
    """
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    return "__main__" if script == file else file.removesuffix(".py")
