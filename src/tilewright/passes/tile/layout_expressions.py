"""Layout expressions as index arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp, DivuiOp, MuliOp, RemuiOp, SubiOp, XoriOp
from tilewright.dialects.memref import DimOp, HasExtents
from tilewright.dialects.tile.expressions import Binary, Constant, Coordinate, LayoutExpr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.tile.index_builder import IndexBuilder

_OPS: Mapping[str, type[Operation]] = {
    "+": AddiOp,
    "-": SubiOp,
    "*": MuliOp,
    "floordiv": DivuiOp,
    "mod": RemuiOp,
    "xor": XoriOp,
}


def written(code: IndexBuilder, expression: LayoutExpr, coordinates: Sequence[Mixed]) -> Mixed:
    """The value of an expression at `coordinates`: an integer where all it needs is known."""
    if isinstance(expression, Constant):
        return expression.value
    if isinstance(expression, Coordinate):
        return coordinates[expression.index]
    assert isinstance(expression, Binary)
    left = written(code, expression.left, coordinates)
    right = written(code, expression.right, coordinates)
    return combined(code, expression.operator, left, right)


def combined(code: IndexBuilder, operator: str, left: Mixed, right: Mixed) -> Mixed:
    """Two numbers or values with an operator of layouts between them."""
    if isinstance(left, int):
        if isinstance(right, int):
            found = Binary(operator, Constant(left), Constant(right)).evaluate(())
            assert isinstance(found, int)
            return found
        if (operator in ("+", "xor") and left == 0) or (operator == "*" and left == 1):
            return right
        if operator == "*" and left == 0:
            return 0
    elif isinstance(right, int):
        if right == 0 and operator in ("+", "-", "xor"):
            return left
        if right == 1 and operator in ("*", "floordiv"):
            return left
        if (right == 0 and operator == "*") or (right == 1 and operator == "mod"):
            return 0
    op = _OPS[operator](code.index(left), code.index(right))  # pyright: ignore[reportCallIssue]
    return code.add(op).results[0]


def split(code: IndexBuilder, linear: Mixed, shape: Sequence[int]) -> list[Mixed]:
    """The coordinates of an element, from its linear index."""
    found: list[Mixed] = []
    for size in reversed(shape[1:]):
        found.append(combined(code, "mod", linear, size))
        linear = combined(code, "floordiv", linear, size)
    return [linear, *reversed(found)] if shape else []


def value(code: IndexBuilder, index: Mixed) -> SSAValue:
    return code.index(index)


def extent_of(code: IndexBuilder, tensor: SSAValue, axis: int) -> Mixed:
    """The extent of a tensor: a constant, what a view is given, or a query."""
    extent = shape_of(tensor.type)[axis]
    if extent >= 0:
        return extent
    if isinstance(tensor.owner, HasExtents):
        return tensor.owner.extent(axis)
    return code.add(DimOp(tensor, code.index(axis))).results[0]
