"""Building syntax trees that carry positions.

New nodes are at the location of the node they replace, so that whatever they do is reported there.
Names that begin with ``$`` belong to the rewriter: no source can write them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, cast

_Node = TypeVar("_Node", ast.expr, ast.stmt)
Positioned = ast.expr | ast.stmt

CONTROL = "$control"
"""The parameter through which a rewritten function reaches its run-time."""


def at(where: Positioned, node: _Node) -> _Node:
    """`node`, placed where `where` is."""
    node.lineno = where.lineno
    node.col_offset = where.col_offset
    node.end_lineno = where.end_lineno
    node.end_col_offset = where.end_col_offset
    return node


def load(where: Positioned, name: str) -> ast.expr:
    return at(where, ast.Name(name, ast.Load()))


def store(where: Positioned, name: str) -> ast.Name:
    node = ast.Name(name, ast.Store())
    at(where, node)
    return node


def constant(where: Positioned, value: object) -> ast.expr:
    """A number, a string, or a tuple of such."""
    node = ast.Constant(0)
    node.value = cast("Any", value)  # typed for source text, which has no literal for a tuple
    return at(where, node)


def attribute(where: Positioned, owner: str, name: str) -> ast.expr:
    return attribute_of(where, load(where, owner), name)


def attribute_of(where: Positioned, owner: ast.expr, name: str) -> ast.expr:
    """``owner.name``, which ends where it begins.

    Python places an attribute that ends on a later line at its name, and there is none in the text.
    """
    node = at(where, ast.Attribute(owner, name, ast.Load()))
    node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return node


def call(where: Positioned, owner: str, method: str, *arguments: ast.expr) -> ast.expr:
    """``owner.method(arguments)``."""
    return call_of(where, attribute(where, owner, method), *arguments)


def call_of(where: Positioned, function: ast.expr, *arguments: ast.expr) -> ast.expr:
    """``function(arguments)``."""
    return at(where, ast.Call(function, list(arguments), []))


def control(where: Positioned, method: str, *arguments: ast.expr) -> ast.expr:
    """A call into the run-time."""
    return call(where, CONTROL, method, *arguments)


def assign(where: Positioned, name: str, value: ast.expr) -> ast.stmt:
    return at(where, ast.Assign([store(where, name)], value))


def walrus(where: Positioned, name: str, value: ast.expr) -> ast.expr:
    return at(where, ast.NamedExpr(store(where, name), value))


def evaluate(where: Positioned, value: ast.expr) -> ast.stmt:
    return at(where, ast.Expr(value))


def load_all(where: Positioned, names: Iterable[str]) -> ast.expr:
    """``(x, y, ...)`` as it is now."""
    return at(where, ast.Tuple([load(where, name) for name in names], ast.Load()))


def store_all(where: Positioned, names: Sequence[str], value: ast.expr) -> list[ast.stmt]:
    """``(x, y, ...) = value``; nothing without names."""
    if not names:
        return []
    targets: list[ast.expr] = [store(where, name) for name in names]
    return [at(where, ast.Assign([at(where, ast.Tuple(targets, ast.Store()))], value))]


def in_sequence(where: Positioned, steps: Sequence[ast.expr]) -> ast.expr:
    """An expression that evaluates `steps` and has the value of the last."""
    steps = list(steps)
    last = at(where, ast.Constant(-1))
    return at(where, ast.Subscript(at(where, ast.Tuple(steps, ast.Load())), last, ast.Load()))
