"""The iterations of a `tile.parallel`, in lockstep, as arrays over the index space.

Index i of n is an array with n axes that changes along axis i only; everything computed from
indices broadcasts. Where a branch or a loop depends on the iteration, both
branches run with the other iterations inactive (`Control`): the mask `active` then selects the
iterations that take part in a load or store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.control import Control, Fork, Loop, WhileLoop
from tilewright.targets.numpy.tile.support.problems import RuntimeFault, by_zero
from tilewright.targets.numpy.tile.support.races import Races

_MAX_TRIP_COUNT = 1 << 20
_MAX_WALKS = 16
"""Indices whose walks are cached: a statement uses few, often the same for a load and a store."""


class Lanes(Control):
    """The iterations of one execution of a parallel loop."""

    def __init__(self, extents: Sequence[Any], outer: Lanes | None = None) -> None:
        super().__init__()
        inner = tuple(max(int(extent), 0) for extent in extents)
        self.outer = outer
        self.shape: tuple[int, ...] = (*(() if outer is None else outer.shape), *inner)
        self.rank = len(self.shape)
        self.size = int(np.prod(self.shape, dtype=np.int64))
        self._indices = inner
        self.races: Races | None = None
        self._walks: dict[int, tuple[Any, tuple[int, int, int] | None]] = {}
        """Cached results of `walk`, by the identity of arrays, which the cache holds alive."""
        self.beyond: Any = None
        """Iterations that have read beyond the end of a tensor: what they compute is dropped."""
        if outer is not None and outer.active is not None:
            reached = outer.active.reshape(outer.active.shape + (1,) * len(inner))
            self.active = np.broadcast_to(reached, self.shape)

    @property
    def indices(self) -> list[Any]:
        """The index arrays of this loop's own axes."""
        lead = self.rank - len(self._indices)
        return [
            np.arange(extent, dtype=np.int64).reshape(
                [-1 if axis == lead + position else 1 for axis in range(self.rank)]
            )
            for position, extent in enumerate(self._indices)
        ]

    def spread(self, x: Any) -> Any:
        """An array over the whole index space."""
        if np.ndim(x) and np.ndim(x) < self.rank and self.outer is not None:
            x = x.reshape(x.shape + (1,) * (self.rank - x.ndim))
        return np.broadcast_to(x, self.shape)

    def lift(self, x: Any) -> Any:
        """A value of the loop around, with axes for this loop's own indices."""
        if np.ndim(x) and np.ndim(x) < self.rank:
            return x.reshape(x.shape + (1,) * (self.rank - x.ndim))
        return x

    def walk(self, index: Any) -> tuple[int, int, int] | None:
        """Start, length and axis of an index that goes up by one along one axis, or along none."""
        if not index.ndim:
            return int(index), 1, -1
        known = self._walks.get(id(index))
        if known is None:
            if len(self._walks) >= _MAX_WALKS:
                self._walks.clear()
            known = self._walks[id(index)] = index, _walk(index)
        return known[1]

    def text(self, lane: int) -> str:
        """The description of an iteration."""
        index = np.unravel_index(lane, self.shape)
        return f"iteration ({', '.join(str(int(i)) for i in index)})"

    def watch(self) -> None:
        """Look out for races from here on."""
        self.races = Races(self.text)

    @property
    def name(self) -> str:
        """The threads that take part, by their numbers."""
        threads = np.flatnonzero(np.ones(self.size) if self.active is None else self.active)
        return f"threads {threads[0]} to {threads[-1]}" if threads.size else "no threads"

    def parted(self, cond: Any) -> tuple[Lanes, Lanes]:
        """The lanes for which a condition holds, and the other lanes: a divergent branch."""
        taken = self.spread(cond)
        both: list[Lanes] = []
        for mask in (taken, ~taken):
            lanes = Lanes(self._indices, self.outer)
            lanes.active = mask if self.active is None else mask & self.active
            both.append(lanes)
        return both[0], both[1]

    def need(
        self, source_id: int, what: str, defined: Sequence[Any], origins: Sequence[int], mask: Any
    ) -> None:
        """Stop if an iteration that counts uses the result of a division by zero."""
        missing: Any = np.False_
        for term in defined:
            if term is not np.True_:
                missing = missing | ~term
        if missing is np.False_ or not missing.any():
            return
        if self.active is not None:
            missing = missing & self.active
        if self.beyond is not None:
            missing = missing & ~self.beyond
        if missing.any():
            raise by_zero(origins[0], what, source_id, self.text(self.first(missing)))

    def first(self, flags: Any) -> int:
        """The first iteration for which something holds."""
        return int(np.argmax(self.spread(flags).reshape(-1)))

    # -- control flow ------------------------------------------------------------------------

    def fork(self, cond: Any) -> Fork:
        return Fork(self, self.spread(cond))

    def loop(self, low: Any, high: Any, step: Any) -> Loop:
        return Loop(self, *(self.spread(bound) for bound in (low, high, step)))

    def turns(self, source_id: int, spins: bool) -> WhileLoop:
        return _WhileLoop(self, source_id, spins)

    def advance(self, source_id: int, low: Any, high: Any, step: Any) -> None:
        if np.any(np.asarray(step) <= 0):
            raise RuntimeFault("endless", "the step of a loop must be positive", site=source_id)


def _walk(index: Any) -> tuple[int, int, int] | None:
    axes = [axis for axis, extent in enumerate(index.shape) if extent != 1]
    if len(axes) > 1:
        return None
    flat = index.reshape(-1)
    start = int(flat[0])
    if axes and (int(flat[-1]) - start + 1 != flat.size or not (flat[1:] - flat[:-1] == 1).all()):
        return None
    return start, flat.size, axes[0] if axes else -1


class _WhileLoop(WhileLoop):
    """A `while` loop of iterations: the condition may be the same for all of them."""

    def __init__(self, lanes: Lanes, source_id: int, spins: bool) -> None:
        super().__init__(lanes, source_id, spins)
        self._lanes = lanes
        self._trip_count = 0

    def over(self, cond: Any) -> bool:
        self._trip_count += 1
        if self._trip_count > _MAX_TRIP_COUNT:
            raise RuntimeFault(
                "endless", f"a while loop did not terminate within {_MAX_TRIP_COUNT} iterations"
            )
        return super().over(self._lanes.spread(cond))
