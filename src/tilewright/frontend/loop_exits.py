"""How to leave a loop without ``return``: a rewrite of its header, in the user's names."""

from __future__ import annotations

import ast

FLAG = "running"


def exit_hint(header: str) -> str:
    """The rewrite of the loop whose first line is `header`, with a flag in its condition."""
    before, condition, after = _rewritten(header)
    return (
        f"help: set {before}`{FLAG} = True` before this loop, write `while {condition} and "
        f"{FLAG}:`{after}, and replace the return by `{FLAG} = False`; put what the return skips "
        f"under `if {FLAG}:`"
    )


def _rewritten(header: str) -> tuple[str, str, str]:
    """What to set before the loop, its own condition, and what to add to its body."""
    try:
        (loop,) = ast.parse(f"{header.strip()} pass").body
    except (SyntaxError, ValueError):
        loop = None
    if isinstance(loop, ast.While):
        return "", _operand(loop.test), ""
    if isinstance(loop, ast.For) and isinstance(loop.target, ast.Name):
        bounds = _bounds(loop.iter)
        if bounds is not None:
            name = loop.target.id
            start, end, step = bounds
            return (
                f"`{name} = {start}` and ",
                f"{name} < {end}",
                f" with `{name} += {step}` at the end of its body",
            )
    return "", "...", ""


def _operand(test: ast.expr) -> str:
    text = ast.unparse(test)
    is_looser = isinstance(test, (ast.IfExp, ast.Lambda, ast.NamedExpr)) or (
        isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    )
    return f"({text})" if is_looser else text


def _bounds(iterable: ast.expr) -> tuple[str, str, str] | None:
    """Start, end and step of a ``range`` that counts upwards."""
    if not isinstance(iterable, ast.Call):
        return None
    called = iterable.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    if name != "range" or not 1 <= len(iterable.args) <= 3:
        return None
    if any(isinstance(each, ast.Starred) for each in iterable.args):
        return None
    if isinstance(iterable.args[-1], ast.UnaryOp) and len(iterable.args) == 3:
        return None  # it may count downwards
    given = [ast.unparse(each) for each in iterable.args]
    if len(given) == 1:
        given = ["0", *given]
    return given[0], given[1], given[2] if len(given) == 3 else "1"
