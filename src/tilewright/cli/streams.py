"""What every program does when its streams fail or the user interrupts it."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

INTERRUPTED = 130
"""Exit code of a program ended by Ctrl-C, as shells have it."""
_PACKAGE = Path(__file__).parents[1]


def guarded(program: Callable[[], int]) -> int:
    """Run `program` and flush its output; a closed or full stream is exit code 1, no traceback."""
    if sys.stdout is None or sys.stdin is None:
        return 1  # closed by the caller; Python then has no stream objects at all
    if isinstance(sys.stdout, io.TextIOWrapper):
        # Text that came from bytes that are no UTF-8 goes out as the same bytes.
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    warnings.formatwarning = _format_warning
    try:
        code = program()
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as error:
        # Only now: what it looks at is loaded.
        from tilewright.cli.interrupts import show_interrupt

        show_interrupt(error)
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return 1
    except OSError as error:
        _abandon_output()
        sys.stderr.write(f"cannot write the output: {error.strerror}\n")
        return 1


def _abandon_output() -> None:
    """Let the interpreter flush what is left of standard output into nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_python_format = warnings.formatwarning


def _format_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    line: str | None = None,
) -> str:
    """Warnings of Tilewright without a line of its source; those of scripts as Python has them."""
    if _PACKAGE in Path(filename).parents:
        text = str(message)
        return f"{text}\n" if text.startswith("warning") else f"warning: {text}\n"
    return _python_format(message, category, filename, lineno, line)
