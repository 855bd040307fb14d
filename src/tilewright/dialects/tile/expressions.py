"""Integer expressions over the coordinates of a tile: the contents of layout attributes.

A layout maps elements to locations: a function from logical coordinates to physical ones, written
with ``+ - * floordiv mod xor``. All functions of hardware layouts (strides, swizzles, MMA
fragments) can be expressed with these six::

    (i : 64, j : 64) -> (j floordiv 64, i, (j mod 64) xor ((i mod 8) * 8))

Expressions are plain values. ``evaluate`` takes integers, and just as well NumPy arrays, since it
uses nothing but Python's operators; ``trace`` builds expressions from a Python function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from xdsl.parser import AttrParser

_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "xor": lambda left, right: left ^ right,
}

_BINDS: Mapping[str, int] = {"xor": 0, "+": 1, "-": 1, "*": 2, "floordiv": 2, "mod": 2}
"""How tightly an operator binds; equal ones group to the left."""

_ATOM = 3

_NAMES = "ijklmn"


def coordinate_name(index: int) -> str:
    """The name under which coordinate `index` is printed: ``i``, ``j``, ... ``d6``."""
    return _NAMES[index] if index < len(_NAMES) else f"d{index}"


class LayoutExpr:
    """Base of expressions; Python's operators build larger ones."""

    def __add__(self, other: ExprLike) -> LayoutExpr:
        return binary("+", self, other)

    def __radd__(self, other: ExprLike) -> LayoutExpr:
        return binary("+", other, self)

    def __sub__(self, other: ExprLike) -> LayoutExpr:
        return binary("-", self, other)

    def __rsub__(self, other: ExprLike) -> LayoutExpr:
        return binary("-", other, self)

    def __mul__(self, other: ExprLike) -> LayoutExpr:
        return binary("*", self, other)

    def __rmul__(self, other: ExprLike) -> LayoutExpr:
        return binary("*", other, self)

    def __floordiv__(self, other: ExprLike) -> LayoutExpr:
        return binary("floordiv", self, other)

    def __rfloordiv__(self, other: ExprLike) -> LayoutExpr:
        return binary("floordiv", other, self)

    def __mod__(self, other: ExprLike) -> LayoutExpr:
        return binary("mod", self, other)

    def __rmod__(self, other: ExprLike) -> LayoutExpr:
        return binary("mod", other, self)

    def __xor__(self, other: ExprLike) -> LayoutExpr:
        return binary("xor", self, other)

    def __rxor__(self, other: ExprLike) -> LayoutExpr:
        return binary("xor", other, self)

    def __lshift__(self, other: int) -> LayoutExpr:
        return binary("*", self, 1 << other)

    def __rshift__(self, other: int) -> LayoutExpr:
        return binary("floordiv", self, 1 << other)

    def __and__(self, other: int) -> LayoutExpr:
        """The low bits of a coordinate: the mask has to be one less than a power of two."""
        if other < 0 or other & (other + 1):
            raise ValueError(f"mask {other} is not supported: layouts support x & (2**n - 1) only")
        return binary("mod", self, other + 1)

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        """The value at `coordinates`, integers or arrays of them."""
        raise NotImplementedError

    def text(self, names: Sequence[str], tightness: int = 0) -> str:
        """The expression as text, in brackets if it binds less than `tightness`."""
        raise NotImplementedError


ExprLike: TypeAlias = LayoutExpr | int


@dataclass(frozen=True)
class Coordinate(LayoutExpr):
    """One of the coordinates a layout is a function of."""

    index: int

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        return coordinates[self.index]

    def text(self, names: Sequence[str], tightness: int = 0) -> str:
        return names[self.index]


@dataclass(frozen=True)
class Constant(LayoutExpr):
    """A number."""

    value: int

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        return self.value

    def text(self, names: Sequence[str], tightness: int = 0) -> str:
        return str(self.value) if self.value >= 0 else f"({self.value})"


@dataclass(frozen=True)
class Binary(LayoutExpr):
    """Two expressions and what is done with them."""

    operator: str
    left: LayoutExpr
    right: LayoutExpr

    def evaluate(self, coordinates: Sequence[Any]) -> Any:
        apply = _OPERATORS[self.operator]
        return apply(self.left.evaluate(coordinates), self.right.evaluate(coordinates))

    def text(self, names: Sequence[str], tightness: int = 0) -> str:
        binding = _BINDS[self.operator]
        # xor next to sums reads badly without brackets.
        inner = _ATOM if self.operator == "xor" else binding
        left = self.left.text(names, inner)
        right = self.right.text(names, _ATOM if self.operator == "xor" else binding + 1)
        text = f"{left} {self.operator} {right}"
        return f"({text})" if binding < tightness else text


def as_expr(value: ExprLike) -> LayoutExpr:
    """`value` as an expression; integers become constants."""
    return value if isinstance(value, LayoutExpr) else Constant(int(value))


_NEUTRAL_RIGHT: Mapping[str, int] = {"+": 0, "-": 0, "*": 1, "floordiv": 1, "xor": 0}
_NEUTRAL_LEFT: Mapping[str, int] = {"+": 0, "*": 1, "xor": 0}


def binary(operator: str, left: ExprLike, right: ExprLike) -> LayoutExpr:
    """``left operator right``, computed as far as it is constant."""
    a, b = as_expr(left), as_expr(right)
    if operator in ("floordiv", "mod") and (not isinstance(b, Constant) or b.value <= 0):
        raise ValueError(f"the right operand of {operator} must be a positive integer")
    if isinstance(a, Constant) and isinstance(b, Constant):
        return Constant(_OPERATORS[operator](a.value, b.value))
    if isinstance(b, Constant) and _NEUTRAL_RIGHT.get(operator) == b.value:
        return a
    if isinstance(a, Constant) and _NEUTRAL_LEFT.get(operator) == a.value:
        return b
    if isinstance(b, Constant) and (operator, b.value) in (("mod", 1), ("*", 0)):
        return Constant(0)
    return Binary(operator, a, b)


def trace(function: Callable[..., Any], count: int) -> tuple[LayoutExpr, ...]:
    """What `function` computes of `count` coordinates: one expression per value it returns."""
    found = function(*(Coordinate(index) for index in range(count)))
    values = cast("Sequence[ExprLike]", found if isinstance(found, (tuple, list)) else (found,))
    return tuple(as_expr(value) for value in values)


_LEVELS: Sequence[Sequence[str]] = (("xor",), ("+", "-"), ("*", "floordiv", "mod"))


def parse_expression(parser: AttrParser, names: Sequence[str], level: int = 0) -> LayoutExpr:
    """An expression over the coordinates called `names`."""
    if level == len(_LEVELS):
        return _parse_atom(parser, names)
    found = parse_expression(parser, names, level + 1)
    while (operator := _parse_operator(parser, _LEVELS[level])) is not None:
        right = parse_expression(parser, names, level + 1)
        try:
            found = binary(operator, found, right)
        except ValueError as error:
            parser.raise_error(str(error))
    return found


def _parse_operator(parser: AttrParser, operators: Sequence[str]) -> str | None:
    for operator in operators:
        found = (
            parser.parse_optional_keyword(operator)
            if operator.isalpha()
            else parser.parse_optional_punctuation(cast("Literal['+', '-', '*']", operator))
        )
        if found is not None:
            return operator
    return None


def _parse_atom(parser: AttrParser, names: Sequence[str]) -> LayoutExpr:
    if parser.parse_optional_punctuation("(") is not None:
        inner = parse_expression(parser, names)
        parser.parse_punctuation(")")
        return inner
    integer = parser.parse_optional_integer(allow_boolean=False, allow_negative=True)
    if integer is not None:
        return Constant(integer)
    name = parser.parse_optional_identifier()
    if name is None or name not in names:
        parser.raise_error(f"expected an integer or one of the coordinates {', '.join(names)}")
    return Coordinate(names.index(name))
