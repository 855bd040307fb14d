"""P4: every program, iteration and lane of an access or a value, evaluated with NumPy.

Exact once arguments and grid are given, unless there are too many points to visit. Programs and
iterations are rows, lanes the other axes, in the order of execution, so the first hit is the first
witness; rows come in chunks that fit the cache. Loaded integers are looked up if the caller gave
the memory (``contents``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from tilewright.analysis.affine import Atom, Formula, Poly, conjunction
from tilewright.analysis.affine.arrays import ArrayEvaluator, BoolArray, IntArray
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.contents import Contents
from tilewright.analysis.pid_address.checks.questions import opaque_reason
from tilewright.analysis.pid_address.checks.regions import Executions, conjuncts, is_opaque
from tilewright.analysis.pid_address.checks.settings import Effort, Settings

CHUNK = 1 << 18
"""Points evaluated at once."""


class NotEnumerable(Exception):
    """Why the points of an access cannot be listed."""

    def __init__(self, reason: str, *, is_limit: bool = False) -> None:
        """`is_limit`: there is nothing missing, they are too many."""
        super().__init__(reason)
        self.is_limit = is_limit


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows with all their lanes."""

    rows: IntArray
    """Numbers of the rows, each a program and an iteration."""
    programs: IntArray
    """The linear program of each row."""
    offset: IntArray
    active: BoolArray
    """Where it executes; same shape as the offsets: rows first, then lanes."""
    evaluator: ArrayEvaluator

    def value(self, poly: Poly) -> IntArray:
        return np.broadcast_to(self.evaluator.value(poly), self.active.shape)


class Enumeration:
    """The points of one access in a launch whose grid is known."""

    def __init__(
        self,
        region: Executions,
        grid: tuple[int | None, ...],
        settings: Settings,
        contents: Contents,
        every_program: bool = False,
        may_sample: bool = False,
        effort: Effort | None = None,
    ) -> None:
        """`every_program` keeps programs apart that the access does not distinguish; `may_sample`
        takes rows at equal distances where all of them would be too many. Each visit of all points
        is charged to `effort`."""
        if not region.complete:
            raise NotEnumerable("it is inside a loop of unknown trip count")
        self.region = region
        self.contents = contents
        space = region.where.space
        symbols = [a for a in space.atoms_within((region.where, region.value)) if a.is_symbol]
        for atom in symbols:
            if kind_of(atom) not in ("pid", "it", "lane"):
                raise NotEnumerable(f"{atom.name} is not given")
        self.axes = [
            axis
            for axis, pid in enumerate(region.pids)
            if pid.atom in symbols or (every_program and grid[axis] != 1)
        ]
        self.counters = [counter for counter, _ in region.loops]
        self.lanes = [a for a in region.symbols if kind_of(a) == "lane"]
        self.extents = [*self._programs(grid), *self._trips()]
        self.shape = tuple(_extent(lane) for lane in self.lanes)
        self.points = prod(self.extents) * prod(self.shape)
        self.step = max(1, -(-self.points // settings.budget))
        if self.step > 1 and not may_sample:
            reason = f"{self.points} points exceed the budget of {settings.budget}"
            raise NotEnumerable(reason, is_limit=True)
        self._plain = self._conditions_without_memory()
        self._effort = effort
        self._weight = max(1, len(space.atoms_within((region.where, region.value))))

    def _programs(self, grid: tuple[int | None, ...]) -> Iterator[int]:
        for axis in self.axes:
            count = grid[axis]
            if count is None:
                raise NotEnumerable(f"the number of programs along axis {axis} is not given")
            yield count

    def _trips(self) -> Iterator[int]:
        """The most iterations of each loop; rows beyond a shorter one are not active."""
        region = self.region
        root = region.where.space.root
        for counter, trips in region.loops:
            if not self._matters(counter):
                yield 1
                continue
            if trips is None:
                last = root.assume(region.where).range(region.where.space.of_atom(counter)).hi
                bound = None if last is None else last + 1
            else:
                bound = root.range(trips).hi
            if bound is None:
                raise NotEnumerable(f"the trip count of the loop {counter.name} has no bound")
            yield max(bound, 0)

    def _matters(self, counter: Atom) -> bool:
        return counter in self.region.symbols

    def _conditions_without_memory(self) -> Formula:
        space = self.region.where.space
        parts = [p for p in conjuncts(self.region.where) if not is_opaque(space, (p,))]
        return conjunction(space, parts)

    def chunks(self, first: int = 0, last: int | None = None) -> Iterator[Chunk]:
        """All rows, or those of the linear programs from `first` to `last`."""
        per_program = prod(self.extents[len(self.axes) :])
        end = prod(self.extents) if last is None else (last + 1) * per_program
        size = max(1, CHUNK // max(prod(self.shape), 1)) * self.step
        for start in range(first * per_program, end, size):
            rows = np.arange(start, min(start + size, end), self.step)
            if last is None:
                self._charge(len(rows))
            yield self._chunk(rows, per_program)

    def _charge(self, rows: int) -> None:
        work = rows * prod(self.shape) * self._weight
        if self._effort is not None and not self._effort.take(work):
            limit = self._effort.settings.work
            reason = f"comparing all programs takes more than {limit} steps"
            raise NotEnumerable(reason, is_limit=True)

    def _chunk(self, rows: IntArray, per_program: int) -> Chunk:
        values: dict[str, int | IntArray | Callable[..., IntArray]] = {}
        tail = (1,) * len(self.lanes)
        indices = np.unravel_index(rows, self.extents) if self.extents else ()
        names = [f"pid{axis}" for axis in self.axes] + [atom.name for atom in self.counters]
        for name, index in zip(names, indices, strict=True):
            values[name] = np.asarray(index).reshape(-1, *tail)
        for at, lane in enumerate(self.lanes):
            extents = [1] * (len(self.lanes) + 1)
            extents[at + 1] = -1
            values[lane.name] = np.arange(self.shape[at]).reshape(extents)
        reads = self.contents.session()
        values.update(reads.functions)
        evaluator = ArrayEvaluator(values)
        shape = (len(rows), *self.shape)
        region = self.region
        try:
            active = np.broadcast_to(evaluator.truth(region.where), shape)
            offset = np.broadcast_to(evaluator.value(region.value), shape)
        except KeyError as error:
            roots = (region.where, region.value)
            raise NotEnumerable(opaque_reason(region.value.space, roots)) from error
        if reads.undefined and np.any(evaluator.truth(self._plain) & reads.anywhere()):
            raise NotEnumerable("it depends on a value that a masked load leaves undefined")
        return Chunk(rows, rows // max(per_program, 1), offset, active, evaluator)

    def values_at(self, chunk: Chunk, flat: int) -> dict[str, int]:
        """The symbols at a point, given by its number within a chunk."""
        where = np.unravel_index(flat, chunk.active.shape)
        row = int(chunk.rows[where[0]])
        values = self.values_of_row(row)
        for lane, index in zip(self.lanes, where[1:], strict=True):
            values[lane.name] = int(index)
        return values

    def values_of_row(self, row: int) -> dict[str, int]:
        indices = np.unravel_index(row, self.extents) if self.extents else ()
        names = [f"pid{axis}" for axis in self.axes] + [atom.name for atom in self.counters]
        return {name: int(index) for name, index in zip(names, indices, strict=True)}

    def first_where(
        self, test: Callable[[Chunk], BoolArray], first: int = 0, last: int | None = None
    ) -> dict[str, int] | None:
        """The symbols at the first active point that passes a test."""
        for chunk in self.chunks(first, last):
            hits = np.flatnonzero(chunk.active & test(chunk))
            if hits.size:
                return self.values_at(chunk, int(hits[0]))
        return None


def _extent(lane: Atom) -> int:
    last = lane.range.hi
    assert last is not None, "lanes have extents"
    return last + 1
