"""Conditions as people write them: ``M % 128 == 0 and stride_am >= K``.

The text is an expression in Python's syntax over arguments, ``pid0`` and ``np0``; division and
remainder are Python's, which round down.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from tilewright.analysis.affine import Context, Formula, Poly
from tilewright.analysis.pid_address.errors import AnalysisError

_RELATIONS: Mapping[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "=",
    ast.NotEq: "!=",
}

_OPERATIONS: Mapping[type[ast.operator], Callable[[Context, Poly, Poly], Poly]] = {
    ast.Add: lambda ctx, a, b: a + b,
    ast.Sub: lambda ctx, a, b: a - b,
    ast.Mult: lambda ctx, a, b: a * b,
    ast.FloorDiv: lambda ctx, a, b: ctx.fdiv(a, b),
    ast.Mod: lambda ctx, a, b: ctx.mod(a, b),
}


def parse_condition(ctx: Context, text: str, symbols: Mapping[str, Poly]) -> Formula:
    """The condition as a formula; raises ``AnalysisError`` if it cannot be read."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise AnalysisError(f"the condition '{text}' cannot be read") from error
    return _Reader(ctx, text, symbols).formula(tree.body)


class _Reader:
    def __init__(self, ctx: Context, text: str, symbols: Mapping[str, Poly]) -> None:
        self._ctx = ctx
        self._text = text
        self._symbols = symbols

    def _refuse(self, why: str) -> AnalysisError:
        return AnalysisError(f"the condition '{self._text}' {why}")

    def formula(self, node: ast.expr) -> Formula:
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                result = self._ctx.space.true
                for value in values:
                    result = result & self.formula(value)
                return result
            case ast.BoolOp(values=values):
                result = self._ctx.space.false
                for value in values:
                    result = result | self.formula(value)
                return result
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.formula(operand)
            case ast.Compare():
                return self._comparison(node)
            case _:
                raise self._refuse("is not a comparison")

    def _comparison(self, node: ast.Compare) -> Formula:
        result = self._ctx.space.true
        left = self.poly(node.left)
        for operation, operand in zip(node.ops, node.comparators, strict=True):
            relation = _RELATIONS.get(type(operation))
            if relation is None:
                raise self._refuse("has a relation that is not < <= > >= == !=")
            right = self.poly(operand)
            result = result & self._ctx.compare(relation, left, right)
            left = right
        return result

    def poly(self, node: ast.expr) -> Poly:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return self._ctx.space.const(value)
            case ast.Name(id=name):
                if name not in self._symbols:
                    known = ", ".join(self._symbols)
                    raise self._refuse(f"names '{name}', which is none of {known}")
                return self._symbols[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.poly(operand)
            case ast.BinOp(left=left, op=operation, right=right):
                apply = _OPERATIONS.get(type(operation))
                if apply is None:
                    raise self._refuse("has an operation that is not + - * // %")
                divisor = self.poly(right)
                if isinstance(operation, ast.FloorDiv | ast.Mod) and divisor.constant == 0:
                    raise self._refuse("divides by zero")
                return self._ctx.limited(apply(self._ctx, self.poly(left), divisor))
            case _:
                raise self._refuse("has a part that is neither a name nor an integer")
