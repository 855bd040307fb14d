"""From the location of an op to the whole call it comes from.

Locations in the IR give the beginning of an expression, as Triton's do. When an error is shown the
user's file is at hand: the call that begins there is found again, and the caret underlines it.

     13 |     y = tl.load(x_ptr + offsets) * 2
        |         ^~~~~~~~~~~~~~~~~~~~~~~~
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator
from dataclasses import replace

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, IntAttr, NameLoc
from xdsl.ir import Attribute

from tilewright.frontend.callers import column_of
from tilewright.ir.diagnostics import Diagnostic
from tilewright.ir.text.locations import FileLineColRangeLoc

ACCESSES = ("load", "store", "atomic", "gather", "scatter", "device_assert")
"""How the names of functions begin whose calls can go wrong while a kernel runs."""


def underlined(diagnostic: Diagnostic) -> Diagnostic:
    """`diagnostic` and its notes, where they point at an access, with the whole of the call."""
    location = diagnostic.location
    if isinstance(location, Attribute):
        location = widened(location)
    return replace(
        diagnostic, location=location, notes=[underlined(note) for note in diagnostic.notes]
    )


def widened(location: Attribute) -> Attribute:
    """`location` up to the end of the access that begins there, if one does.

    Columns count bytes in what was traced, and characters in what is shown.
    """
    if isinstance(location, NameLoc):
        return NameLoc(location.desc, widened(location.location))
    if isinstance(location, CallSiteLoc):
        return CallSiteLoc(widened(location.callee), location.caller)
    if not isinstance(location, FileLineColLoc):
        return location
    file, line, start = location.filename.data, location.line.data, location.column.data - 1
    call = _access_at(file, line, start)
    if call is None or call.end_lineno is None or call.end_col_offset is None:
        return location
    return FileLineColRangeLoc(
        location.filename,
        location.line,
        IntAttr(column_of(file, line, start)),
        IntAttr(call.end_lineno),
        IntAttr(column_of(file, call.end_lineno, call.end_col_offset)),
    )


def _access_at(file: str, line: int, offset: int) -> ast.Call | None:
    try:
        tree = ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None
    here = (line, offset)
    return next((call for call in _accesses(tree) if (call.lineno, call.col_offset) == here), None)


def _accesses(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func).startswith(ACCESSES):
            yield node


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
