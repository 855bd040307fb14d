"""Where the ops of a node come from, for every node of a function.

Instructions carry the extent of the node they were compiled from, so a table by extent is enough.
Three things make a node's place differ from its extent:

* an expression assigned to a variable is evaluated for that name;
* a message about a statement with a body points at its first line only: the condition of an ``if``
  or ``while``, the iterable of a ``for``;
* Python places the call of a method at the method's name, when that stands on a later line than
  the object. The op is still placed where the whole expression begins.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tilewright.frontend.locations import SourceRange, Span
from tilewright.frontend.refusals import span_of


def source_ranges_of(tree: ast.FunctionDef) -> dict[Span, SourceRange]:
    """The source ranges of nodes in `tree` that differ from their extents."""
    ranges: dict[Span, SourceRange] = {}
    _visit_all(tree.body, None, ranges)
    return ranges


def _visit_all(nodes: list[ast.stmt], name: str | None, ranges: dict[Span, SourceRange]) -> None:
    for node in nodes:
        _visit(node, name, ranges)


def _visit(node: ast.AST, name: str | None, ranges: dict[Span, SourceRange]) -> None:
    inner = name
    if isinstance(node, (ast.expr, ast.stmt)):
        inner = _name_inside(node, name)
        span = span_of(node)
        caret = _caret(node) or span
        if inner is not None or caret is not span:
            ranges.setdefault(span, SourceRange(span, caret, inner))
        for moved in _moved(node):
            ranges.setdefault(
                moved, SourceRange(span, caret if caret is not span else moved, inner)
            )
    for child in ast.iter_child_nodes(node):
        _visit(child, inner, ranges)


def _name_inside(node: ast.expr | ast.stmt, name: str | None) -> str | None:
    """The variable that `node` is evaluated for."""
    match node:
        case ast.Assign(targets=[ast.Name(id=found)]):
            return found
        case ast.AugAssign(target=ast.Name(id=found)) | ast.NamedExpr(target=ast.Name(id=found)):
            return found
        case ast.AnnAssign(target=ast.Name(id=found), annotation=annotation):
            return None if "constexpr" in ast.unparse(annotation) else found
        case ast.stmt():
            return None
        case _:
            return name


def _caret(node: ast.expr | ast.stmt) -> Span | None:
    match node:
        case ast.If(test=part) | ast.While(test=part) | ast.For(iter=part):
            return span_of(part)
        case _:
            return None


def _moved(node: ast.expr | ast.stmt) -> Iterator[Span]:
    """Where Python places the lookup and the call of a method on a later line than its object."""
    attribute = node.func if isinstance(node, ast.Call) else node
    if not isinstance(attribute, ast.Attribute):
        return
    first, last, _, end = span_of(attribute)
    if first != last:
        _, last_of_node, _, end_of_node = span_of(node)
        yield (last, last_of_node, end - len(attribute.attr.encode()), end_of_node)
