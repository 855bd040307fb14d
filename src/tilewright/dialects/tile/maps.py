"""Layouts of buffers as values: where an element lives, and, for fragments, its owner.

``LayoutMap`` maps the coordinates of a shared or global buffer to physical ones. ``FragmentMap``
maps the coordinates of a fragment to the thread that owns the element and the register in that
thread; an element owned by several threads has one *replica* for each::

    (i : 8, j : 8) -> thread (i * 4 + j floordiv 2) index (j mod 2)

Extents are known numbers, so questions about a map are decided by looking at every element.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from tilewright.dialects.tile.expressions import (
    Coordinate,
    LayoutExpr,
    coordinate_name,
    trace,
)

REPLICA = "r"
"""The name of the coordinate that counts the replicas of an element."""


@dataclass(frozen=True)
class LayoutMap:
    """A function from the coordinates of a buffer to physical coordinates."""

    extents: tuple[int, ...]
    results: tuple[LayoutExpr, ...]

    @classmethod
    def from_function(cls, extents: Sequence[int], function: Callable[..., Any]) -> LayoutMap:
        """The map that `function` computes from as many coordinates as there are extents."""
        return cls(tuple(extents), trace(function, len(extents)))

    @classmethod
    def row_major(cls, extents: Sequence[int]) -> LayoutMap:
        """Every element stays where it is."""
        return cls(tuple(extents), tuple(Coordinate(index) for index in range(len(extents))))

    def evaluate(self, *coordinates: Any) -> tuple[Any, ...]:
        """The physical coordinates of an element, or of arrays of elements."""
        _check_count(coordinates, len(self.extents))
        return tuple(result.evaluate(coordinates) for result in self.results)

    def points(self) -> Iterator[tuple[int, ...]]:
        """All logical coordinates, last one fastest."""
        return product(*map(range, self.extents))

    def physical_shape(self) -> tuple[int, ...]:
        """The smallest shape that holds all physical coordinates."""
        shape = [0] * len(self.results)
        for point in self.points():
            for axis, coordinate in enumerate(self.evaluate(*point)):
                shape[axis] = max(shape[axis], coordinate + 1)
        return tuple(shape)

    def is_injective(self) -> bool:
        """Whether no two elements map to the same location."""
        return len({self.evaluate(*point) for point in self.points()}) == prod(self.extents)

    def problem(self) -> str | None:
        """Why this is no layout, or None. Places may not be negative."""
        if not self.results:
            return "a layout requires at least one physical coordinate"
        return _extents_problem(self.extents)

    def __str__(self) -> str:
        names = coordinate_names(len(self.extents))
        results = ", ".join(result.text(names) for result in self.results)
        return f"({_declared(names, self.extents)}) -> ({results})"


@dataclass(frozen=True)
class FragmentMap:
    """Which threads hold an element of a fragment, and where among their registers."""

    extents: tuple[int, ...]
    thread: LayoutExpr
    index: tuple[LayoutExpr, ...]
    replicate: int = 1
    """How many threads hold each element; their number is the last coordinate."""

    @classmethod
    def from_functions(
        cls,
        extents: Sequence[int],
        thread: Callable[..., Any],
        index: Callable[..., Any],
        replicate: int = 1,
    ) -> FragmentMap:
        """A map from Python functions; `thread` also gets the replica where there are several."""
        rank = len(extents)
        (owner,) = trace(thread, rank + (replicate > 1))
        return cls(tuple(extents), owner, trace(index, rank), replicate)

    def evaluate(self, *coordinates: Any, replica: Any = 0) -> tuple[Any, tuple[Any, ...]]:
        """The thread that owns a replica of an element, and its register."""
        _check_count(coordinates, len(self.extents))
        known = (*coordinates, replica)
        return self.thread.evaluate(known), tuple(each.evaluate(known) for each in self.index)

    def points(self) -> Iterator[tuple[int, ...]]:
        """All logical coordinates, last one fastest."""
        return product(*map(range, self.extents))

    def num_threads(self) -> int:
        """One more than the highest thread that holds anything."""
        replicas = range(self.replicate)
        return 1 + max(
            self.evaluate(*point, replica=replica)[0]
            for point in self.points()
            for replica in replicas
        )

    def index_shape(self) -> tuple[int, ...]:
        """The shape of the registers that each thread needs."""
        locations = [self.evaluate(*point)[1] for point in self.points()]
        return tuple(1 + max(axis) for axis in zip(*locations, strict=True))

    def is_injective(self) -> bool:
        """Whether no two elements share a register of a thread."""
        locations = {
            self.evaluate(*point, replica=replica)
            for point in self.points()
            for replica in range(self.replicate)
        }
        return len(locations) == prod(self.extents) * self.replicate

    def problem(self) -> str | None:
        """Why this is no fragment, or None."""
        if not self.index:
            return "a fragment requires at least one index"
        if self.replicate < 1:
            return f"replicate must be positive, got {self.replicate}"
        return _extents_problem(self.extents)

    def __str__(self) -> str:
        names = coordinate_names(len(self.extents))
        replicas = f" replicate ({REPLICA} : {self.replicate})" if self.replicate > 1 else ""
        index = ", ".join(each.text(names) for each in self.index)
        thread = self.thread.text((*names, REPLICA))
        return f"({_declared(names, self.extents)}){replicas} -> thread ({thread}) index ({index})"


def coordinate_names(rank: int) -> tuple[str, ...]:
    """The names under which the coordinates of a map are printed."""
    return tuple(coordinate_name(index) for index in range(rank))


def _declared(names: Sequence[str], extents: Sequence[int]) -> str:
    return ", ".join(f"{name} : {extent}" for name, extent in zip(names, extents, strict=True))


def _check_count(coordinates: Sequence[Any], rank: int) -> None:
    if len(coordinates) != rank:
        raise ValueError(f"layout of rank {rank} applied to {len(coordinates)} coordinates")


def _extents_problem(extents: Sequence[int]) -> str | None:
    bad = [extent for extent in extents if extent < 1]
    return f"extents of a layout must be positive, got {bad[0]}" if bad else None
