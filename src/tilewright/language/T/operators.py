"""Python's operators on values of a kernel and on sizes, dispatched by name.

A class that has them defines in `binary` and `unary` what they do. A request for a truth value, a
number or an item raises an error with the fix: while a kernel is traced there is
none.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn

_PYTHON: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


def apply(operator: str, left: Any, right: Any) -> Any:
    """``left operator right``."""
    return _PYTHON[operator](left, right)


class Operators:
    """Python's operators, through `binary` and `unary`."""

    @abstractmethod
    def binary(self, operator: str, left: Any, right: Any) -> Any:
        """``left operator right``, one of which is this value."""

    @abstractmethod
    def unary(self, operator: str) -> Any:
        """``-``, ``~`` or ``abs`` of this value."""

    @abstractmethod
    def undecided(self) -> str:
        """Why this value is no number, and what to do."""

    def __add__(self, other: Any) -> Any:
        return self.binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return self.binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return self.binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return self.binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return self.binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return self.binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return self.binary("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self.binary("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return self.binary("//", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self.binary("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return self.binary("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return self.binary("%", other, self)

    def __pow__(self, other: Any) -> Any:
        return self.binary("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return self.binary("**", other, self)

    def __lshift__(self, other: Any) -> Any:
        return self.binary("<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return self.binary("<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return self.binary(">>", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return self.binary(">>", other, self)

    def __and__(self, other: Any) -> Any:
        return self.binary("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return self.binary("&", other, self)

    def __or__(self, other: Any) -> Any:
        return self.binary("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return self.binary("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return self.binary("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return self.binary("^", other, self)

    def __lt__(self, other: Any) -> Any:
        return self.binary("<", self, other)

    def __le__(self, other: Any) -> Any:
        return self.binary("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return self.binary(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return self.binary(">=", self, other)

    def __eq__(self, other: Any) -> Any:
        return self.binary("==", self, other)

    def __ne__(self, other: Any) -> Any:
        return self.binary("!=", self, other)

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Any:
        return self.unary("-")

    def __invert__(self) -> Any:
        return self.unary("~")

    def __abs__(self) -> Any:
        return self.unary("abs")

    def __pos__(self) -> Any:
        return self

    def _undecided(self) -> NoReturn:
        raise TypeError(self.undecided())

    def __bool__(self) -> bool:
        self._undecided()

    def __index__(self) -> int:
        self._undecided()

    def __int__(self) -> int:
        self._undecided()

    def __float__(self) -> float:
        self._undecided()
