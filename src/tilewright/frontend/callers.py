"""Errors in ordinary Python that uses a kernel: a launch, a descriptor. Shown like all others.

    train.py:31:5: error[TW6020]: copy is called without a value for n: pass it by position ...
      31 |     copy[(4,)](x, out, BLOCK=16)
         |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
      train.py:9:1: note: copy(x_ptr, out_ptr, n, BLOCK) is defined here

The location is the call in the user's code that led here. The exception keeps its type, so that it
can be caught as what Python would have raised.
"""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from functools import partial
from inspect import currentframe
from itertools import islice
from types import FrameType

from tilewright._notebook import traceback_of
from tilewright.frontend.unsaved_source import file_of
from tilewright.ir.diagnostics import (
    Diagnostic,
    Severity,
    SourceManager,
    SourcePosition,
    pretty,
)

PACKAGE = "tilewright"
_BETWEEN = frozenset({"contextlib", "functools"})
"""Modules of Python whose frames are between a call of ours and what it decorates."""

Note = tuple[SourcePosition | None, str]

_KINDS = (TypeError, ValueError, OverflowError, RuntimeError)
_LOCATED = "tilewright_located"
"""Attribute of errors with a location in their text: the diagnostic that the text shows."""


def located(
    error: Exception, code: str, notes: Sequence[Note] = (), *, prefix: str = ""
) -> Exception:
    """`error` with the call in the user's code that led here, to be raised instead of it."""
    position = call_site()
    diagnostic = Diagnostic(Severity.ERROR, f"{prefix}{error}", position, code)
    diagnostic.notes.extend(Diagnostic(Severity.NOTE, text, where) for where, text in notes)
    sources = SourceManager()
    if position is not None and (lines := linecache.getlines(position.file)):
        sources.add(position.file, "".join(lines))
    # Classes derived from these may want other arguments than a text.
    kind = next((kind for kind in _KINDS if isinstance(error, kind)), RuntimeError)
    found = kind(pretty(diagnostic, sources))
    vars(found)[_LOCATED] = diagnostic
    vars(found)["_render_traceback_"] = partial(traceback_of, type(found).__name__, str(found))
    return found


def is_located(error: BaseException) -> bool:
    """Whether an error was made by `located`: its text needs no frames."""
    return _LOCATED in vars(error)


def located_diagnostic(error: BaseException) -> Diagnostic | None:
    """The diagnostic of an error that was made by `located`."""
    found = vars(error).get(_LOCATED)
    return found if isinstance(found, Diagnostic) else None


def call_site() -> SourcePosition | None:
    """The call that is executing in the innermost frame outside of this package."""
    frame = currentframe()
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    return None if frame is None else _position(frame)


def _is_ours(frame: FrameType) -> bool:
    name = str(frame.f_globals.get("__name__", ""))
    return name in _BETWEEN or name.partition(".")[0] == PACKAGE


def _position(frame: FrameType) -> SourcePosition | None:
    code = frame.f_code
    span = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
    if span is None or None in span:
        return SourcePosition(file_of(code), frame.f_lineno, 0)
    line, last, start, end = (each or 0 for each in span)
    file = file_of(code)
    return SourcePosition(
        file, line, column_of(file, line, start), last, column_of(file, last, end)
    )


def column_of(file: str, line: int, offset: int) -> int:
    """Python counts bytes from 0, people characters from 1."""
    text = linecache.getline(file, line)
    return len(text.encode()[:offset].decode(errors="replace")) + 1 if text else offset + 1
