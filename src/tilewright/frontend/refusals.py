"""Python that a kernel cannot use, and what to write instead.

A refused construct does not stop the rewriting: it becomes a call that raises when it is executed.
What is in a branch that is never taken for the given constants does no harm.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.frontend.locations import Span


@dataclass(frozen=True)
class Refusal:
    """One refused construct: where it is and what is wrong with it."""

    span: Span
    message: str


_SUGGESTIONS: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.Break: (
        "break",
        "loop with while and put the condition there, or mask what must not happen",
    ),
    ast.Continue: ("continue", "put the rest of the loop's body under an if"),
    ast.TryStar: ("try", "a kernel has no exceptions: test the condition with if"),
    ast.Try: ("try", "there are no exceptions, test the condition with if"),
    ast.Raise: ("raise", "use static_assert for constants, assert for values"),
    ast.Global: ("global", "a kernel cannot change variables outside: pass and return values"),
    ast.Nonlocal: ("nonlocal", "a kernel cannot change variables outside: pass and return values"),
    ast.FunctionDef: (
        "a nested function",
        "move it out of the kernel and decorate it like one",
    ),
    ast.AsyncFunctionDef: ("async def", "move it out of the kernel and make it a plain function"),
    ast.Lambda: ("lambda", "write a function outside of the kernel and decorate it like one"),
    ast.ClassDef: ("class", "define it outside of the kernel"),
    ast.Delete: ("del", "leave the variable alone: a value that is not used costs nothing"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.Match: ("match", "use if and elif"),
    ast.AsyncFor: ("async for", "use a plain for"),
    ast.AsyncWith: ("async with", "use a plain with"),
    ast.Yield: ("yield", "return a tuple of the values"),
    ast.YieldFrom: ("yield from", "return a tuple of the values"),
    ast.Await: ("await", "call the function directly"),
    ast.Dict: ("a dictionary", "use a tuple or a NamedTuple"),
    ast.Set: ("a set", "use a tuple"),
    ast.DictComp: ("a dictionary comprehension", "use a tuple or a NamedTuple"),
    ast.SetComp: ("a set comprehension", "use a list comprehension over a tuple"),
    ast.GeneratorExp: ("a generator expression", "use a list comprehension over a tuple"),
}


def span_of(node: ast.stmt | ast.expr) -> Span:
    """The whole of `node`."""
    last, end = node.end_lineno, node.end_col_offset
    assert last is not None and end is not None  # set by the parser
    return (node.lineno, last, node.col_offset, end)


def refusal(node: ast.stmt | ast.expr) -> Refusal:
    """Why `node` cannot be part of a kernel."""
    known = _SUGGESTIONS.get(type(node))
    if known is None:
        return Refusal(span_of(node), f"{type(node).__name__} is not supported in a kernel")
    what, instead = known
    return Refusal(_caret(node, what), f"{what} is not supported in a kernel: {instead}")


def _caret(node: ast.stmt | ast.expr, what: str) -> Span:
    """Of a statement with a body the keyword is enough to point at."""
    line, last, start, end = span_of(node)
    if isinstance(node, ast.stmt) and last > line:
        keyword = "def" if isinstance(node, ast.FunctionDef) else what
        return (line, line, start, start + len(keyword))
    return (line, last, start, end)
