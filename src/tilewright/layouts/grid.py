"""All coordinates of a tile at once: a layout's function is called once, not for each element.

A `Grid` behaves like an integer in a layout's function (``+ - * // % ^ & << >>``) and holds one
value for each element. A coordinate varies along its own axis only and is stored so; two grids that
vary along different axes make one that varies along both::

    i = Grid((4, 1), [0, 1, 2, 3])     j = Grid((1, 2), [0, 1])     i * 2 + j   has shape (4, 2)

Functions that do more than arithmetic (look something up, branch) cannot take a grid; they get a
``TypeError`` here and `tabulate` then calls them element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, NoReturn

Operation = Callable[[int, int], int]
Shape = tuple[int, ...]


class Grid:
    """One integer for each element, or for each index along some of the axes."""

    __slots__ = ("shape", "values")

    def __init__(self, shape: Shape, values: list[int]) -> None:
        self.shape = shape
        self.values = values

    def _with(self, other: Grid | int, apply: Operation, neutral: int | None = None) -> Grid:
        if isinstance(other, int):
            if other == neutral:
                return self
            return Grid(self.shape, [apply(value, other) for value in self.values])
        if self.shape == other.shape:
            shape, left, right = self.shape, self.values, other.values
        else:
            shape = tuple(map(max, self.shape, other.shape))
            left, right = self.over(shape), other.over(shape)
        return Grid(shape, list(map(apply, left, right)))

    def _after(self, other: int, apply: Operation, neutral: int | None = None) -> Grid:
        if other == neutral:
            return self
        return Grid(self.shape, [apply(other, value) for value in self.values])

    def over(self, shape: Shape) -> list[int]:
        """The values for every element of a tile, row by row."""
        values, inner = self.values, 1
        for have, want in zip(reversed(self.shape), reversed(shape), strict=True):
            if have < want:
                values = [
                    value
                    for first in range(0, len(values), inner)
                    for value in values[first : first + inner] * want
                ]
            inner *= want
        return values

    def __add__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__add__, 0)

    def __radd__(self, other: int) -> Grid:
        return self._after(other, int.__add__, 0)

    def __sub__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__sub__, 0)

    def __rsub__(self, other: int) -> Grid:
        return self._after(other, int.__sub__)

    def __mul__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__mul__, 1)

    def __rmul__(self, other: int) -> Grid:
        return self._after(other, int.__mul__, 1)

    def __floordiv__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__floordiv__, 1)

    def __mod__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__mod__)

    def __xor__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__xor__, 0)

    def __rxor__(self, other: int) -> Grid:
        return self._after(other, int.__xor__, 0)

    def __and__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__and__)

    def __lshift__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__lshift__)

    def __rshift__(self, other: Grid | int) -> Grid:
        return self._with(other, int.__rshift__)

    def __eq__(self, other: object) -> NoReturn:
        raise TypeError("a grid of integers cannot be compared")

    def __bool__(self) -> NoReturn:
        raise TypeError("a grid of integers has no truth value")

    def __hash__(self) -> NoReturn:
        raise TypeError("a grid of integers cannot be an index")


def coordinates(shape: Sequence[int]) -> list[Grid]:
    """The coordinates of all elements, each varying along its own axis."""
    rank = len(shape)
    return [
        Grid(tuple(size if axis == own else 1 for axis in range(rank)), list(range(size)))
        for own, size in enumerate(shape)
    ]


def tabulate(function: Callable[..., tuple[Any, ...]], shape: Sequence[int]) -> list[list[int]]:
    """For each value that `function` returns, that value for every element, row by row."""
    sizes = tuple(shape)
    try:
        found = function(*coordinates(sizes))
        return [
            value.over(sizes) if isinstance(value, Grid) else [int(value)] * prod(sizes)
            for value in found
        ]
    except TypeError:
        rows = [function(*point) for point in product(*map(range, sizes))]
        return [[int(value) for value in column] for column in zip(*rows, strict=True)]
