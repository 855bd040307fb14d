"""The source text of a function and its syntax tree, with the positions of the user's file.

Python keeps the file name and first line of a function. The text of the file comes through
`linecache`, so notebooks and text registered there work like files; text given to ``exec`` and the
like is found by `unsaved_source`. The function's lines are those
from its first decorator to the first later line that is not indented deeper and completes it; the
parser itself decides the latter, because text in a string or in parentheses may be indented at
will. An indented function is parsed inside an ``if``, which keeps every column as it is.

Strings that go over several lines are those of the function moved to the left margin: Triton reads
functions that way, and the text of an ``inline_asm_elementwise`` ends up in its IR.
"""

from __future__ import annotations

import ast
import linecache
import textwrap
import types
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.frontend.errors import SOURCE, FrontendError
from tilewright.frontend.unsaved_source import file_of, find_text, why_missing

_OVER_LINES = ('"""', "'''", "\\\n")
"""What a string contains, or is enclosed in, whose own text goes over several lines."""


@dataclass(frozen=True)
class FunctionSource:
    """A function as written: `text` holds its lines, `first_line` is the number of the first."""

    file: str
    first_line: int
    text: str
    tree: ast.FunctionDef


def read_source(function: types.FunctionType, lines: Sequence[str] = ()) -> FunctionSource:
    """Find and parse the source of `function`; `lines` are those of its file, if they are known."""
    code = function.__code__
    if code.co_name == "<lambda>":
        raise FrontendError("a lambda cannot be a kernel function: write it with def", code=SOURCE)
    lines = lines or lines_of(function)
    if not 0 < code.co_firstlineno <= len(lines):
        raise FrontendError(
            f"the source of {function.__qualname__} is not available (file {code.co_filename!r}): "
            f"{why_missing(function)}",
            code=SOURCE,
        )
    first = code.co_firstlineno
    indentation = _indentation(lines[first - 1])
    for end in _ends(lines, first, indentation):
        text = "".join(lines[first - 1 : end])
        tree = _parse(text, first, indented=indentation > 0)
        if tree is not None:
            _move_strings_to_margin(tree, text)
            return FunctionSource(file_of(code), first, text, _definition(tree, function))
    raise FrontendError(
        f"the text at {file_of(code)}:{first} is not the function {function.__qualname__} that "
        "Python runs: the file changed after it was imported",
        code=SOURCE,
    )


def lines_of(function: types.FunctionType) -> Sequence[str]:
    """The lines of the file of `function` as it is now; none if it is not to be found."""
    file = file_of(function.__code__)
    linecache.checkcache(file)
    lines = linecache.getlines(file, function.__globals__)
    if lines:
        return lines
    found = find_text(function)
    return () if found is None else linecache.getlines(found)


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip(" \t\f"))


def _ends(lines: Sequence[str], first: int, indentation: int) -> Iterator[int]:
    """Numbers of lines at which the function may end, nearest first."""
    for line in range(first, len(lines)):
        text = lines[line].strip()
        if text and not text.startswith("#") and _indentation(lines[line]) <= indentation:
            yield line
    yield len(lines)


def _parse(text: str, first: int, *, indented: bool) -> ast.stmt | None:
    """The statement in `text`, whose first line has number `first`; None if it is incomplete."""
    ahead = "\n" * (first - 2) + "if 1:\n" if indented else "\n" * (first - 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python reports them when it reads the file
            statement = ast.parse(ahead + text).body[0]
    except SyntaxError:
        return None
    return statement.body[0] if indented and isinstance(statement, ast.If) else statement


def _move_strings_to_margin(tree: ast.stmt, text: str) -> None:
    """Give the strings in `tree` that go over several lines the value they have at the margin."""
    if not any(each in text for each in _OVER_LINES):
        return
    if not any(_is_long_string(node) for node in ast.walk(tree)):
        return
    at_margin = _parse(textwrap.dedent(text), 1, indented=False)
    if at_margin is None:
        return  # a string reaches further left than the function
    for node, moved in zip(ast.walk(tree), ast.walk(at_margin), strict=True):
        if isinstance(node, ast.Constant) and isinstance(moved, ast.Constant):
            node.value = moved.value


def _is_long_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant | ast.JoinedStr) and (node.end_lineno or 0) > node.lineno


def _definition(tree: ast.stmt, function: types.FunctionType) -> ast.FunctionDef:
    if isinstance(tree, ast.FunctionDef) and tree.name == function.__code__.co_name:
        return tree
    if isinstance(tree, ast.AsyncFunctionDef):
        raise FrontendError(
            f"{tree.name} is an async function: a kernel function is a plain def", code=SOURCE
        )
    raise FrontendError(
        f"{file_of(function.__code__)}:{function.__code__.co_firstlineno} does not define "
        f"{function.__qualname__}: the file changed after it was imported",
        code=SOURCE,
    )
