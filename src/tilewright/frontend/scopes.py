"""Which names a part of a function assigns, and whether it can return.

Control flow of the IR has to know beforehand which variables it may change. Python's scoping makes
this a question about text: a name is assigned by ``=`` and its relatives, by ``for``, ``with`` and
``:=``. What a comprehension binds stays inside it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_NESTED_SCOPES = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Lambda,
)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def assigned_names(nodes: Iterable[ast.AST]) -> tuple[str, ...]:
    """Names that executing `nodes` may assign, in the order in which they appear."""
    return tuple(first_assignments(nodes))


def first_assignments(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """The same names, each with the line of its first assignment."""
    found: dict[str, int] = {}
    for node in nodes:
        for name in _stores(node):
            found.setdefault(name.id, name.lineno)
    return found


def _stores(node: ast.AST) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Store):
            yield node
        return
    if isinstance(node, _NESTED_SCOPES):
        return
    if isinstance(node, _COMPREHENSIONS):
        # A walrus inside a comprehension assigns outside of it.
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield from _stores(inner.target)
        return
    for child in ast.iter_child_nodes(node):
        yield from _stores(child)


def contains_return(nodes: Iterable[ast.stmt]) -> bool:
    """Whether `nodes` hold a ``return`` of the function they are part of."""
    return any(_returns(node) for node in nodes)


def _returns(node: ast.stmt) -> bool:
    if isinstance(node, ast.Return):
        return True
    if isinstance(node, _NESTED_SCOPES):
        return False
    return any(
        _returns(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
    )


def target_names(target: ast.expr) -> tuple[str, ...]:
    """The names of an assignment's target."""
    return assigned_names([target])
