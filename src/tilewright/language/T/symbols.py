"""Sizes that are not numbers yet: ``T.const("M")``, ``T.dynamic("m")`` and what is built from them.

A symbolic size is a tree of integers and symbols. It describes a dimension of a parameter, where
the wrapper solves it from the shapes of the arguments (`solve`), and it can be used like any
integer in a kernel, where it becomes the size of a dimension (``memref.dim``).

Solving takes one unknown a dimension: ``M + 1 = 65`` gives ``M = 64``, ``N * K = 128`` gives ``K``
once ``N`` is known. A quotient is not solved, but checked when everything in it is known.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.dtypes import int32
from tilewright.language.T.operators import Operators, apply

_OPERATORS: Final[Mapping[str, Callable[[int, int], int]]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
}
_BINDS: Final[Mapping[str, int]] = {
    "|": 0, "^": 1, "&": 2, "<<": 3, ">>": 3, "+": 4, "-": 4, "*": 5, "//": 5, "%": 5,
}  # fmt: skip
_ATOM = 6


class Symbolic(Operators, ABC):
    """A size that is not a number yet."""

    dtype: Dtype = int32

    def binary(self, operator: str, left: Any, right: Any) -> Any:
        sizes = (int, Symbolic)
        if operator in _OPERATORS and isinstance(left, sizes) and isinstance(right, sizes):
            return compute(operator, left, right)
        if isinstance(left, Symbolic):
            left = _at_run_time(left)
        if isinstance(right, Symbolic):
            right = _at_run_time(right)
        return apply(operator, left, right)

    def unary(self, operator: str) -> Any:
        return compute("-", 0, self) if operator == "-" else _at_run_time(self).unary(operator)

    def __hash__(self) -> int:
        return hash(str(self))

    def undecided(self) -> str:
        if self.is_fixed():
            return (
                f"{self} has no value yet: tensors are declared before their sizes are known. Use "
                "it inside `with T.Kernel(...)`"
            )
        return (
            f"{self} is a run-time size, unknown while the kernel is traced. Declare it with "
            "T.const to compile the kernel for its value"
        )

    def astype(self, dtype: object) -> Any:
        return _at_run_time(self).astype(dtype)

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Its symbols, each once."""

    @abstractmethod
    def is_fixed(self) -> bool:
        """Whether its value becomes part of the kernel."""

    @abstractmethod
    def value(self, known: Mapping[str, int]) -> int | None:
        """The number it is, if all of its symbols are `known`."""

    @abstractmethod
    def text(self, tightness: int = 0) -> str:
        """As a user would write it, in brackets where what is around binds tighter."""

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()


Size: TypeAlias = int | Symbolic


@dataclass(frozen=True, eq=False, repr=False)
class Symbol(Symbolic):
    """One unknown; `is_constant` if its value becomes part of the kernel."""

    name: str
    dtype: Dtype = int32
    is_constant: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def is_fixed(self) -> bool:
        return self.is_constant

    def value(self, known: Mapping[str, int]) -> int | None:
        return known.get(self.name)

    def text(self, tightness: int = 0) -> str:
        return self.name

    __hash__ = Symbolic.__hash__


@dataclass(frozen=True, eq=False, repr=False)
class Computed(Symbolic):
    """Two sizes and what is done with them."""

    operator: str
    left: Size
    right: Size

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*symbols_of(self.left), *symbols_of(self.right))))

    def is_fixed(self) -> bool:
        return all(isinstance(part, int) or part.is_fixed() for part in (self.left, self.right))

    def value(self, known: Mapping[str, int]) -> int | None:
        left, right = evaluate(self.left, known), evaluate(self.right, known)
        return None if left is None or right is None else _OPERATORS[self.operator](left, right)

    def text(self, tightness: int = 0) -> str:
        if self.operator not in _BINDS:
            return f"{self.operator}({text(self.left)}, {text(self.right)})"
        precedence = _BINDS[self.operator]
        shown = f"{text(self.left, precedence)} {self.operator} {text(self.right, precedence + 1)}"
        return f"({shown})" if precedence < tightness else shown

    __hash__ = Symbolic.__hash__


def text(size: Size, tightness: int = 0) -> str:
    return str(size) if isinstance(size, int) else size.text(tightness)


def symbols_of(size: Size) -> tuple[str, ...]:
    return () if isinstance(size, int) else size.names


def evaluate(size: Size, known: Mapping[str, int]) -> int | None:
    """`size` as a number, if everything in it is known."""
    return size if isinstance(size, int) else size.value(known)


def same(one: Size, other: Size) -> bool:
    """Whether two sizes are written the same."""
    return type(one) is type(other) and text(one) == text(other)


def compute(operator: str, left: Size, right: Size) -> Size:
    """``left operator right``, as far as it is known."""
    if isinstance(left, int) and isinstance(right, int):
        return _OPERATORS[operator](left, right)
    if (operator in ("+", "-") and _is(right, 0)) or (operator in ("*", "//") and _is(right, 1)):
        return left
    if (operator == "+" and _is(left, 0)) or (operator == "*" and _is(left, 1)):
        return right
    return Computed(operator, left, right)


def _is(size: Size, value: int) -> bool:
    return isinstance(size, int) and size == value


# -- at run time -------------------------------------------------------------------------------

_materialise: Callable[[Symbolic], Any] | None = None


def _at_run_time(size: Symbolic) -> Any:
    """The value of the kernel that `size` has when it runs."""
    assert _materialise is not None  # set by `session`, which imports this module
    return _materialise(size)


def set_materialiser(materialise: Callable[[Symbolic], Any]) -> None:
    """How a size becomes a value of the kernel being traced."""
    global _materialise
    _materialise = materialise


# -- solving -----------------------------------------------------------------------------------


def solve(size: Size, extent: int, known: MutableMapping[str, int]) -> bool | None:
    """Learn from ``size == number``.

    True if it holds with what is known then, False if it cannot, None if it is still open.
    """
    value = evaluate(size, known)
    if value is not None:
        return value == extent
    assert isinstance(size, Symbolic)
    unknown = [name for name in size.names if name not in known]
    if len(unknown) != 1:
        return None
    return _solve_one(size, extent, known)


def _solve_one(size: Size, value: int, known: MutableMapping[str, int]) -> bool | None:
    if isinstance(size, Symbol):
        known[size.name] = value
        return True
    assert isinstance(size, Computed)
    left, right = evaluate(size.left, known), evaluate(size.right, known)
    if (left is None) == (right is None):  # the unknown is on both sides
        return None
    if left is None:
        assert right is not None
        left_value = _undo_right(size.operator, right, value)
    else:
        left_value = _undo_left(size.operator, left, value)
    if left_value is None:
        return None
    if left_value is False:
        return False
    return _solve_one(size.left if left is None else size.right, left_value, known)


def _undo_right(operator: str, right: int, value: int) -> int | bool | None:
    """``x`` in ``x operator right == number``: None if it is not unique, False if there is none."""
    match operator:
        case "+":
            return value - right
        case "-":
            return value + right
        case "*" if right:
            return value // right if value % right == 0 else False
        case _:
            return None


def _undo_left(operator: str, left: int, value: int) -> int | bool | None:
    """``x`` in ``left operator x == number``."""
    match operator:
        case "+":
            return value - left
        case "-":
            return left - value
        case "*" if left:
            return value // left if value % left == 0 else False
        case _:
            return None
