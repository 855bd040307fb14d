"""Errors of a script that need no traceback: their text names the author's line and what is wrong.

Those are errors of a kernel, faults of its run, and calls with arguments that it does not take. Any
other exception is Python's affair, and shown as Python shows it.
"""

from __future__ import annotations

import sys

from tilewright.frontend.callers import is_located
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.api import NumpyFault


def speaks_for_itself(error: BaseException) -> bool:
    """Whether the text of an error is a whole message."""
    return isinstance(error, CompileError | NumpyFault) or is_located(error)


def tell(error: BaseException) -> None:
    """Show the text of an error, and what was noted about it."""
    sys.stdout.flush()
    sys.stderr.write(f"{error}\n")
    notes: list[str] = getattr(error, "__notes__", [])
    sys.stderr.writelines(f"{note}\n" for note in notes)
