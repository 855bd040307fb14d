"""A layout of a fragment, or of a parallel loop, as two tables.

`owners` gives the threads of every element (several, if it is replicated), `registers` the register
in each of them. For a loop, elements are its iterations, and owners the threads that run them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.analysis.layout_inference.fit import Formula, IntArray, formula, forward_expression
from tilewright.dialects.tile.attributes import FragmentAttr
from tilewright.dialects.tile.expressions import Coordinate, LayoutExpr
from tilewright.dialects.tile.maps import FragmentMap
from tilewright.layouts.fragment import Fragment

_FEW_PAIRS = 8
"""Pairs of an owner and a thread that are compared, rather than looked up in a table of all."""
_CACHED_TABLES = 32
_SAMPLED = 64
"""Values of a table that its hash depends on."""


class NotALayout(ValueError):
    """Elements cannot be assigned to threads as required; the message gives the reason."""


@dataclass(frozen=True, eq=False)
class Table:
    """The owning threads and the register of every element."""

    owners: IntArray
    """Threads: the shape of the tile, and the replicas as a last axis, in rising order."""
    registers: IntArray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.registers.shape

    @property
    def replicas(self) -> int:
        return self.owners.shape[-1]

    @cached_property
    def num_registers(self) -> int:
        return int(self.registers.max()) + 1

    @cached_property
    def num_threads(self) -> int:
        return int(self.owners.max()) + 1

    def is_held_by_all(self, element: tuple[int, ...], num_threads: int) -> bool:
        """Whether every one of so many threads owns an element."""
        owners: list[int] = np.unique(self.owners[element]).tolist()
        return owners == list(range(num_threads))

    def at(self, elements: tuple[IntArray, ...]) -> Table:
        """The layout of elements, in the shape of their coordinates."""
        return Table(self.owners[elements], self.registers[elements])

    def part(self, elements: tuple[IntArray, ...]) -> Table | None:
        """The layout of some elements by themselves, if every thread holds as many of them."""
        owners, registers = self.owners[elements], self.registers[elements]
        counts = np.bincount(owners.ravel(), minlength=self.num_threads)
        used, ranks = np.unique(registers, return_inverse=True)
        if (counts != counts[0]).any() or counts[0] != len(used):
            return None
        return Table(owners, ranks.reshape(registers.shape))

    @classmethod
    def of(cls, owners: IntArray, registers: IntArray) -> Table:
        return cls(np.sort(owners, axis=-1), registers)

    @classmethod
    def from_fragment(cls, fragment: Fragment) -> Table:
        """A layout of an instruction."""
        points = _points(fragment.shape)
        threads = [
            _full(fragment.thread_of(*points, replica=replica), fragment.shape)
            for replica in range(fragment.replicas)
        ]
        index = [_full(each, fragment.shape) for each in fragment.index_of(*points)]
        return cls.of(np.stack(threads, axis=-1), _joined(index))

    @staticmethod
    @lru_cache(maxsize=_CACHED_TABLES)
    def from_map(map: FragmentMap) -> Table:
        """A layout from a user's function or from an attribute; the same one for equal maps."""
        points = _points(map.extents)
        threads = [
            _full(map.evaluate(*points, replica=replica)[0], map.extents)
            for replica in range(map.replicate)
        ]
        index = [_full(each, map.extents) for each in map.evaluate(*points)[1]]
        return Table.of(np.stack(threads, axis=-1), _joined(index))

    @classmethod
    def free(cls, shape: Sequence[int], threads: int, width: int) -> Table:
        """Runs of `width` elements distributed over the threads, round after round.

        If there are fewer runs than threads, the remaining threads own copies where that divides
        evenly, so that all of them can use the result.
        """
        flat = np.arange(int(np.prod(shape)), dtype=np.int64)
        runs = len(flat) // width
        round_index, thread = np.divmod(flat // width, threads)
        registers = (round_index * width + flat % width).reshape(shape)
        if runs < threads and threads % runs == 0:
            copies = np.arange(threads // runs, dtype=np.int64) * runs
            owners = thread.reshape(shape)[..., None] + copies
        else:
            owners = thread.reshape(shape)[..., None]
        return cls.of(owners, registers)

    @classmethod
    def rows(
        cls, shape: Sequence[int], threads: int, width: int, max_threads: int | None = None
    ) -> Table:
        """Each row to consecutive threads, several rows at a time; rows need not divide evenly.

        A row has at most `max_threads` threads. Threads that are left over own copies, so that all
        of them can use the result of a row.
        """
        *outer, columns = shape
        rows = int(np.prod(outer)) if outer else 1
        across = 1
        while across * 2 <= min(threads, max_threads or threads) and across * 2 * width <= columns:
            across *= 2
        down = threads // across
        flat = np.arange(rows * columns, dtype=np.int64)
        row, column = flat // columns, flat % columns
        rounds = -(-columns // (across * width))
        inside = column // width // across * width + column % width
        if rows < down and down % rows == 0:
            copies = down // rows
            base = row * across + column // width % across
            owners = base[:, None] + np.arange(copies, dtype=np.int64) * (rows * across)
            registers = inside
        else:
            owners = (row % down * across + column // width % across)[:, None]
            registers = row // down * (rounds * width) + inside
        return cls.of(owners.reshape(*shape, -1), registers.reshape(shape))

    @classmethod
    def everywhere(cls, shape: Sequence[int], threads: int) -> Table:
        """Every thread holds all elements."""
        size = int(np.prod(shape))
        registers = np.arange(size, dtype=np.int64).reshape(shape)
        owners = np.broadcast_to(np.arange(threads, dtype=np.int64), (*shape, threads))
        return cls(owners, registers)

    # -- questions ---------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Table):
            return NotImplemented
        return np.array_equal(self.owners, other.owners) and np.array_equal(
            self.registers, other.registers
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.replicas, _sample(self.registers), _sample(self.owners)))

    def collision(self) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Two elements in one register of a thread, if there are any."""
        size = self.registers.size
        owner = self.owners.reshape(size, -1)
        slot = owner * self.num_registers + self.registers.reshape(size, 1)
        order = np.argsort(slot, axis=None, kind="stable")
        sorted_slots = slot.ravel()[order]
        same = np.flatnonzero(sorted_slots[1:] == sorted_slots[:-1])
        if len(same) == 0:
            return None
        first, second = (order[same[0] + step] // owner.shape[1] for step in (0, 1))
        return self._point(int(first)), self._point(int(second))

    def _point(self, linear: int) -> tuple[int, ...]:
        return tuple(int(each) for each in np.unravel_index(linear, self.shape))

    def first_absent(self, elements: Sequence[Any], threads: IntArray) -> tuple[int, ...] | None:
        """A point whose threads do not all own the element it accesses, if there is one.

        `elements` are the coordinates accessed at each point, `threads` its threads (a last axis).
        """
        flat = np.asarray(np.ravel_multi_index(tuple(elements), self.shape))
        good = self.owned_by(flat, threads).all(axis=-1)
        if good.all():
            return None
        return tuple(int(each) for each in np.unravel_index(np.argmin(good), good.shape))

    def owned_by(self, elements: IntArray, threads: IntArray) -> NDArray[np.bool_]:
        """Whether threads (a last axis) own the elements, by their linear indices."""
        size = self.registers.size
        owners = self.owners.reshape(size, -1)
        if owners.shape[1] * threads.shape[-1] <= _FEW_PAIRS:
            return (owners[elements][..., None] == threads[..., None, :]).any(axis=-2)
        has = np.zeros((size, max(self.num_threads, int(threads.max()) + 1)), dtype=np.bool_)
        has[np.arange(size)[:, None], owners] = True
        return has[elements[..., None], threads]

    # -- formulas ----------------------------------------------------------------------------

    @cached_property
    def inverse(self) -> tuple[IntArray, ...]:
        """For every thread and register the coordinates of its element; -1 where there is none."""
        shape = (self.num_threads, self.num_registers)
        flat = np.full(shape, -1, dtype=np.int64)
        size = self.registers.size
        owners, registers = self.owners.reshape(size, -1), self.registers.reshape(size, 1)
        flat[owners, registers] = np.arange(size, dtype=np.int64)[:, None]
        is_free = flat < 0
        coordinates = np.unravel_index(np.maximum(flat, 0), self.shape)
        if not is_free.any():
            return coordinates
        return tuple(np.where(is_free, -1, each) for each in coordinates)

    @cached_property
    def is_full(self) -> bool:
        """Whether every register of every thread up to the last holds an element."""
        return bool((self.inverse[0] >= 0).all())

    def attribute(self) -> FragmentAttr:
        """The layout as an IR attribute."""
        return self._attribute

    @cached_property
    def _attribute(self) -> FragmentAttr:
        return FragmentAttr(self._map)

    def as_map(self) -> FragmentMap:
        """The layout as expressions; raises `NotALayout` if there are none."""
        return self._map

    @cached_property
    def _map(self) -> FragmentMap:
        index = forward_expression(self.registers)
        thread = self.thread_expression()
        if index is not None and thread is not None:
            return FragmentMap(self.shape, thread, (index,), self.replicas)
        for table in self.countings():
            found = self._merged_map(table)
            if found is not None:
                return found
        raise NotALayout("no formula gives the threads and registers of this layout")

    def thread_expression(self) -> LayoutExpr | None:
        """The threads of an element, as an expression of its coordinates and the replica."""
        if self.replicas == 1:
            return forward_expression(self.owners[..., 0])
        return forward_expression(self.owners)

    def countings(self) -> list[Table]:
        """The same layout, linearised: all dimensions but the last as one, then all of them."""
        found: list[Table] = []
        for trailing in (1, 0):
            lead = len(self.shape) - trailing
            if lead > 1:
                shape = (int(np.prod(self.shape[:lead])), *self.shape[lead:])
                owners = self.owners.reshape(*shape, self.replicas)
                found.append(Table(owners, self.registers.reshape(shape)))
        return found

    def _merged_map(self, table: Table) -> FragmentMap | None:
        """The layout as a function of linear element indices, for sizes that do not divide."""
        index, thread = forward_expression(table.registers), table.thread_expression()
        if index is None or thread is None:
            return None
        linear: LayoutExpr = Coordinate(0)
        lead = len(self.shape) - len(table.shape) + 1
        for axis in range(1, lead):
            linear = linear * self.shape[axis] + Coordinate(axis)
        rest = [Coordinate(axis) for axis in range(lead, len(self.shape) + 1)]
        return FragmentMap(
            self.shape,
            _replaced(thread, (linear, *rest)),
            (_replaced(index, (linear, *rest)),),
            self.replicas,
        )

    def filled(self) -> Table | None:
        """The layout of a tile with more elements that leaves no register empty, if there is one.

        The formulas of such a tile hold for this one; registers of elements beyond are not used.
        """
        if self.is_full:
            return self
        try:
            map = self.as_map()
        except NotALayout:
            return None
        sizes = [self._even_size(map, axis) for axis in range(len(self.shape))]
        extents = tuple(size for size in sizes if size is not None)
        if len(extents) != len(self.shape):
            return None
        wider = Table.from_map(replace(map, extents=extents))
        is_same = wider.num_registers == self.num_registers
        return wider if is_same and wider.collision() is None and wider.is_full else None

    def _even_size(self, map: FragmentMap, axis: int) -> int | None:
        """The smallest size of a dimension that fills all its registers in all its threads."""
        size = self.shape[axis]
        limit = 2 * size + self.num_threads
        points = [np.zeros(limit, dtype=np.int64) for _ in self.shape]
        points[axis] = np.arange(limit, dtype=np.int64)
        thread, index = map.evaluate(*points)
        threads, registers = _full(thread, (limit,)), _joined([_full(e, (limit,)) for e in index])
        seen: tuple[set[int], set[int]] = (set(), set())
        for count, pair in enumerate(zip(threads.tolist(), registers.tolist(), strict=True), 1):
            for found, value in zip(seen, pair, strict=True):
                found.add(value)
            if count >= size and len(seen[0]) * len(seen[1]) == count:
                return count
        return None

    def coordinates(self) -> tuple[LayoutExpr, ...]:
        """The coordinates of the element in a register of a thread, as expressions of both."""
        found = [formula(each) for each in self.inverse]
        if all(each is not None for each in found):
            return tuple(each.text for each in found if each is not None)
        flat = self._flat_formula()
        if flat is None:
            raise NotALayout("no formula gives the element in a register of a thread")
        coordinates: list[LayoutExpr] = []
        rest = flat.text
        for size in reversed(self.shape[1:]):
            coordinates.append(rest % size)
            rest = rest // size
        return (rest, *reversed(coordinates))

    def _flat_formula(self) -> Formula | None:
        linear: Any = 0
        for size, each in zip(self.shape, self.inverse, strict=True):
            linear = linear * size + each
        return formula(linear) if self.is_full else None


def _replaced(expression: LayoutExpr, values: Sequence[LayoutExpr]) -> LayoutExpr:
    """The expression with others in place of its coordinates."""
    from tilewright.dialects.tile.expressions import as_expr

    return as_expr(expression.evaluate(values))


def _sample(values: IntArray) -> bytes:
    """Some of the values: owners of a layout that all threads have are many."""
    return values.flat[:: values.size // _SAMPLED + 1].tobytes()


def _points(shape: Sequence[int]) -> list[IntArray]:
    return [np.asarray(each, dtype=np.int64) for each in np.indices(shape)]


def _full(values: Any, shape: Sequence[int]) -> IntArray:
    return np.broadcast_to(np.asarray(values, dtype=np.int64), tuple(shape))


def _joined(index: Sequence[IntArray]) -> IntArray:
    """Several coordinates of a register as its number."""
    total: Any = 0
    for each in index:
        total = total * (int(each.max()) + 1) + each
    return np.ascontiguousarray(total)


# -- new tables from old ones ------------------------------------------------------------------


def held_by(
    shape: Sequence[int], elements: Sequence[Any], threads: IntArray, registers: IntArray | None
) -> Table:
    """The layout of a buffer of which every point uses one element.

    `elements` are the coordinates that each point uses, `threads` the threads of the point. If each
    element is used once, it takes the register of its point; otherwise those that a thread owns are
    numbered in increasing order. Raises `NotALayout` if elements have different numbers of owners,
    or owners that number them differently.
    """
    size = int(np.prod(shape))
    coordinates: list[IntArray] = [np.ravel(each) for each in elements]
    flat: IntArray = np.ravel_multi_index(coordinates, tuple(shape))
    count = int(threads.max()) + 1
    uses = np.zeros((size, count), dtype=np.bool_)
    uses[flat[:, None], threads.reshape(len(flat), -1)] = True
    pairs = np.argwhere(uses)
    used, counts = np.unique(pairs[:, 0], return_counts=True)
    if len(used) < size:
        missing = int(np.setdiff1d(np.arange(size), used)[0])
        point = tuple(int(axis[0]) for axis in np.unravel_index([missing], tuple(shape)))
        raise NotALayout(f"no thread uses element {_shown(point)}")
    if (counts != counts[0]).any():
        raise NotALayout("some elements are used by more threads than others")
    owners = pairs[:, 1].reshape(size, -1)
    if registers is not None and len(flat) == size:
        positions = np.empty(size, dtype=np.int64)
        positions[flat] = registers.ravel()
    else:
        positions = _ranks(pairs, size, int(counts[0]))
    return Table.of(owners.reshape(*shape, -1), positions.reshape(shape))


def _ranks(pairs: IntArray, size: int, copies: int) -> IntArray:
    """The position of each element among those of its thread, the same for all its threads."""
    order = np.lexsort((pairs[:, 0], pairs[:, 1]))
    threads = pairs[order, 1]
    starts = np.flatnonzero(np.r_[True, threads[1:] != threads[:-1]])
    lengths = np.diff(np.r_[starts, len(threads)])
    rank = np.arange(len(threads)) - np.repeat(starts, lengths)
    by_pair = np.empty(len(pairs), dtype=np.int64)
    by_pair[order] = rank
    ranks = by_pair.reshape(size, copies)
    if (ranks != ranks[:, :1]).any():
        raise NotALayout("threads that share an element own different numbers of elements")
    return np.ascontiguousarray(ranks[:, 0])


def reduced(table: Table, axis: int) -> Table:
    """The layout of the results of a reduction along `axis`: every thread that owned an element."""
    rest = (*table.shape[:axis], *table.shape[axis + 1 :]) or (1,)
    points = _points(table.shape)
    retained = [each for dimension, each in enumerate(points) if dimension != axis]
    elements = retained or [np.zeros(table.shape, dtype=np.int64)]
    return held_by(rest, elements, table.owners, None)


def _shown(point: Sequence[int]) -> str:
    return f"({', '.join(map(str, point))})"
