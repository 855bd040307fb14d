"""``Layout``: the locations of the elements of a buffer, as a function of their coordinates.

    Layout((64, 64), lambda i, j: (i, j ^ (i % 8)))

The function is written with ``+ - * // % ^ >>`` and so works on numbers, on arrays of numbers and
on the expressions of a code generator. Sizes are any positive numbers, not only powers of two. All
properties (is it one to one, are two layouts equal, what is the inverse) are decided by going
through the elements, at most a few hundred thousand, so there is no case that cannot be decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any, cast

from tilewright.layouts.grid import tabulate

Function = Callable[..., Any]
"""Coordinates in; one value or a sequence of values out. Numbers, arrays and expressions alike."""


def listed(values: Any) -> tuple[Any, ...]:
    """What a function returned, as a tuple."""
    if isinstance(values, (tuple, list)):
        return tuple(cast("Sequence[Any]", values))  # isinstance() has no element type
    return (values,)


def row_major(coordinates: Sequence[Any], shape: Sequence[int]) -> Any:
    """The linear offset of an element in a dense array of this shape."""
    offset: Any = 0
    for coordinate, size in zip(coordinates, shape, strict=True):
        offset = offset * size + coordinate
    return offset


def coordinates_of(offset: Any, shape: Sequence[int]) -> tuple[Any, ...]:
    """The coordinates of a linear offset in a dense array of this shape."""
    found: list[Any] = []
    for size in reversed(shape):
        found.append(offset % size)
        offset = offset // size
    return tuple(reversed(found))


def check_extents(shape: Sequence[int]) -> None:
    if not shape or any(size < 1 for size in shape):
        raise ValueError(f"a layout needs positive sizes, got {list(shape)}")


@dataclass(frozen=True, eq=False)
class Layout:
    """A function from the coordinates of a buffer to those of its memory."""

    shape: tuple[int, ...]
    forward: Function = field(repr=False)

    def __post_init__(self) -> None:
        check_extents(self.shape)

    # --- making layouts ---------------------------------------------------------------------

    @classmethod
    def row_major(cls, shape: Sequence[int]) -> Layout:
        """Every element where it would be without a layout."""
        return cls(tuple(shape), lambda *index: index)

    @classmethod
    def strided(cls, shape: Sequence[int], strides: Sequence[int]) -> Layout:
        """Elements at a sum of multiples of the strides."""
        steps = tuple(strides)
        return cls(
            tuple(shape), lambda *index: sum(i * s for i, s in zip(index, steps, strict=True))
        )

    @classmethod
    def padded(cls, shape: Sequence[int], padding: int) -> Layout:
        """Row-major with `padding` empty elements after each row, so that columns change banks."""
        *outer, inner = shape
        pitch = inner + padding
        return cls(tuple(shape), lambda *index: row_major(index, (*outer, pitch)))

    # --- looking ----------------------------------------------------------------------------

    def __call__(self, *index: Any) -> tuple[Any, ...]:
        """The physical coordinates of an element, or of arrays of elements."""
        if len(index) != len(self.shape):
            raise ValueError(f"this layout takes {len(self.shape)} coordinates, got {len(index)}")
        return listed(self.forward(*index))

    def offset(self, *index: Any) -> Any:
        """The offset of an element, counted row by row in the physical shape."""
        return row_major(self(*index), self.physical_shape)

    def points(self) -> Iterator[tuple[int, ...]]:
        """All elements, the last coordinate fastest."""
        return product(*map(range, self.shape))

    @property
    def size(self) -> int:
        return prod(self.shape)

    @cached_property
    def locations(self) -> tuple[tuple[int, ...], ...]:
        """The physical coordinates of every element, in the order of `points`."""
        return tuple(zip(*tabulate(self, self.shape), strict=True))

    @cached_property
    def physical_shape(self) -> tuple[int, ...]:
        """The smallest shape that holds every element."""
        if any(min(location) < 0 for location in self.locations):
            raise ValueError("the layout maps an element to a negative index")
        return tuple(1 + max(axis) for axis in zip(*self.locations, strict=True))

    @property
    def physical_size(self) -> int:
        return prod(self.physical_shape)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The offset of every element, in the order of `points`."""
        (offsets,) = tabulate(lambda *index: (self.offset(*index),), self.shape)
        return tuple(offsets)

    def is_injective(self) -> bool:
        """Whether no two elements share a location."""
        return len(set(self.offsets)) == self.size

    def is_bijective(self) -> bool:
        """Whether the elements also leave no location empty."""
        return self.is_injective() and self.physical_size == self.size

    def collision(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Two elements in the same location, if there are any."""
        seen: dict[int, tuple[int, ...]] = {}
        for point, offset in zip(self.points(), self.offsets, strict=True):
            if offset in seen:
                return seen[offset], point
            seen[offset] = point
        return None

    def __eq__(self, other: object) -> bool:
        """Whether all elements have the same physical coordinates."""
        if not isinstance(other, Layout):
            return NotImplemented
        return self.shape == other.shape and self.locations == other.locations

    def __hash__(self) -> int:
        return hash((self.shape, self.locations))

    def same_memory(self, other: Layout) -> bool:
        """Whether both make the same bytes, however the physical coordinates are cut."""
        return self.shape == other.shape and self.offsets == other.offsets

    # --- new layouts from old ones ----------------------------------------------------------

    def compose(self, outer: Layout) -> Layout:
        """First this layout, then `outer` on its physical coordinates."""
        return Layout(self.shape, lambda *index: outer(*self(*index)))

    def inverse(self) -> Layout:
        """From physical coordinates back to elements; no two elements may share a location.

        The result looks locations up and so takes integers only; empty locations have no element.
        """
        collision = self.collision()
        if collision:
            raise ValueError(f"elements {collision[0]} and {collision[1]} map to the same location")
        back = dict(zip(self.locations, self.points(), strict=True))
        if len(back) != self.physical_size:
            raise ValueError(
                f"{self.physical_size - len(back)} of {self.physical_size} locations are empty"
            )
        return Layout(self.physical_shape, lambda *location: back[location])

    def repeat(self, axis: int, factor: int) -> Layout:
        """The buffer `factor` times as long along `axis`, its pattern again and again."""
        size, rows = self.shape[axis], self.physical_shape[0]
        shape = (*self.shape[:axis], size * factor, *self.shape[axis + 1 :])

        def forward(*index: Any) -> tuple[Any, ...]:
            inside = (*index[:axis], index[axis] % size, *index[axis + 1 :])
            first, *rest = self(*inside)
            return (index[axis] // size * rows + first, *rest)

        return Layout(shape, forward)

    def with_outer(self, *sizes: int) -> Layout:
        """Outer dimensions, for example pipeline stages, each with a whole buffer of its own."""
        count = len(sizes)
        return Layout((*sizes, *self.shape), lambda *index: (*index[:count], *self(*index[count:])))

    def reshaped(self, shape: Sequence[int]) -> Layout:
        """The same memory under other coordinates with the same row-major order."""
        if prod(shape) != self.size:
            raise ValueError(f"{list(shape)} does not have {self.size} elements")
        new_shape = tuple(shape)
        return Layout(
            new_shape, lambda *index: self(*coordinates_of(row_major(index, new_shape), self.shape))
        )

    def __str__(self) -> str:
        sizes = " x ".join(map(str, self.shape))
        return f"Layout({sizes} -> {' x '.join(map(str, self.physical_shape))})"
