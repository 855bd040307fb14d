"""Control flow of a batch: programs that go different ways.

Where all programs of a batch take the same branch or trip count, nothing special happens. Where
they diverge, both sides run, each with the programs of the other side switched off (`active`), and
values are merged afterwards. Programs switched off still compute, on whatever numbers they have;
their loads, stores, prints and assertions do not happen.

Generated code uses these classes as follows::

    fork = rt.fork(cond)            loop = rt.loop(low, high, step)     rest = rt.turns(…)
    if fork.then():                 for k in loop:                      while True:
        x = ...                         ...                                 <condition>
    if fork.otherwise():                x = loop.keep(x, x_1)               r = rest.keep(r, r_1)
        x = fork.merge(x, ...)                                              if rest.over(cond):
    fork.join()                                                                 break
                                                                            x = rest.keep(x, x_1)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import pick

SUSPICIOUS_ITERATIONS = 10_000
"""Iterations after which programs of a batch may be waiting for one another."""
SPINS = 3
"""Iterations after which a loop that only reads memory waits forever."""


def merge(mask: Any, new: Any, old: Any) -> Any:
    """`new` for the programs in `mask`, `old` for the others."""
    extra = max(new.ndim, old.ndim) - mask.ndim
    if extra > 0:
        mask = mask.reshape(mask.shape + (1,) * extra)
    return pick(mask, new, old)


class Control:
    """Which programs (or elements, in a function applied to elements) take part."""

    def __init__(self) -> None:
        self.active: Any = None

    def switch(self, active: Any) -> None:
        """Let these programs take part; None for all."""
        self.active = active

    def fork(self, cond: Any) -> Fork:
        return Fork(self, cond)

    def loop(self, low: Any, high: Any, step: Any) -> Loop:
        return Loop(self, low, high, step)

    def turns(self, source_id: int, spins: bool) -> WhileLoop:
        return WhileLoop(self, source_id, spins)

    def endless(self, source_id: int, spins: bool, left: Any) -> None:
        """Called for loops with very many iterations, or iterations that change nothing.

        `left` is the mask of the programs still in the loop.
        """

    def advance(self, source_id: int, low: Any, high: Any, step: Any) -> None:
        """Called with the bounds of a loop whose step may be less than 1."""

    def blocks(self, count: int) -> Blocks:
        return Blocks(self, count)


class Fork:
    """Two ways, chosen by each program."""

    def __init__(self, control: Control, cond: Any) -> None:
        outer = control.active
        self._control = control
        self._outer = outer
        self._taken = cond if outer is None else cond & outer
        self._left = ~cond if outer is None else ~cond & outer
        self._some = bool(self._taken.any())
        self._rest = bool(self._left.any())

    def then(self) -> bool:
        """Whether some program goes the first way; only those take part from here."""
        if self._some and self._rest:
            self._control.switch(self._taken)
        return self._some

    def otherwise(self) -> bool:
        """Whether some program goes the second way; only those take part from here."""
        if self._some and self._rest:
            self._control.switch(self._left)
        return self._rest

    def merge(self, old: Any, new: Any) -> Any:
        """What the second way gives, and the first for the programs that went there."""
        return merge(self._taken, old, new) if self._some else new

    def join(self) -> None:
        """All take part again."""
        self._control.switch(self._outer)


class Loop:
    """A counted loop whose bounds may differ between programs."""

    def __init__(self, control: Control, low: Any, high: Any, step: Any) -> None:
        self._control = control
        self._low, self._high, self._step = low, high, step
        self._mask: Any = None

    def __iter__(self) -> Iterator[Any]:
        low, high, step = (np.atleast_1d(x) for x in (self._low, self._high, self._step))
        dtype = self._low.dtype
        outer = self._control.active
        counts = trip_counts(low, high, step)
        if outer is not None:
            counts = np.where(outer, counts, 0)  # one for each program from here on
        ends = counts if outer is None else counts[outer]
        together = int(ends.min())  # the trip count that all of them reach
        for iteration in range(int(ends.max())):
            if iteration >= together:
                self._mask = counts > iteration
                self._control.switch(self._mask)
            yield low + step * dtype.type(iteration)
        self._control.switch(outer)

    def keep(self, old: Any, new: Any) -> Any:
        """`new` for the programs still in the loop."""
        return new if self._mask is None else merge(self._mask, new, old)


def trip_counts(low: Any, high: Any, step: Any) -> Any:
    """The trip count of a loop; 0 for a step that is not positive (`Batch.advance` reports it)."""
    low, high, step = (x.astype(np.int64) for x in (low, high, step))
    counts = np.maximum(-((low - high) // np.maximum(step, 1)), 0)
    return np.where(step > 0, counts, 0)


class WhileLoop:
    """A loop that ends when a condition, evaluated in it, fails."""

    def __init__(self, control: Control, source_id: int, spins: bool) -> None:
        self._control = control
        self._source_id = source_id
        self._spins = spins
        """Whether it does nothing but wait for memory to change."""
        self._outer = control.active
        self._mask: Any = None
        self._count = 0

    def over(self, cond: Any) -> bool:
        """Take the programs out whose condition fails; whether none is left."""
        self._count += 1
        active = self._control.active
        left = cond if active is None else cond & active
        if not left.any():
            self._control.switch(self._outer)
            return True
        if self._count == (SPINS if self._spins else SUSPICIOUS_ITERATIONS):
            self._control.endless(self._source_id, self._spins, left)
        if not left.all():
            self._mask = left
            self._control.switch(left)
        return False

    def keep(self, old: Any, new: Any) -> Any:
        """`new` for the programs still in the loop."""
        return new if self._mask is None or old is None else merge(self._mask, new, old)


class Blocks:
    """Basic blocks that run sequentially, each for the programs that reach it."""

    def __init__(self, control: Control, count: int) -> None:
        self._control = control
        self._outer = control.active
        self._here: Any = True
        self._masks: list[Any] = [False] * count

    def enter(self, block: int) -> bool:
        """Whether some program comes to `block`; only those take part from here."""
        mask = self._masks[block]
        self._here = mask
        if mask is False:
            return False
        self._control.switch(self._outer if mask is True else _both(mask, self._outer))
        return True

    def go(self, block: int) -> Any:
        """All programs branch to `block`; returns their mask."""
        self._masks[block] = _either(self._masks[block], self._here)
        return self._here

    def branch(self, cond: Any, block: int, other: int) -> tuple[Any, Any]:
        """Branch to `block` where the condition holds, else to `other`; returns both masks."""
        taken, left = self._split(cond)
        self._masks[block] = _either(self._masks[block], taken)
        self._masks[other] = _either(self._masks[other], left)
        return taken, left

    def _split(self, cond: Any) -> tuple[Any, Any]:
        active = self._control.active
        seen = cond if active is None else np.broadcast_to(cond, active.shape)[active]
        if seen.all():
            return self._here, False
        if not seen.any():
            return False, self._here
        if self._here is True:
            return cond, ~cond
        return cond & self._here, ~cond & self._here

    def put(self, mask: Any, old: Any, new: Any) -> Any:
        """`new` for the programs in `mask`."""
        if mask is False:
            return old
        return new if mask is True or old is None else merge(mask, new, old)

    def here(self) -> Any:
        """The programs that execute the current block."""
        return self._here

    def leave(self) -> None:
        """All take part again."""
        self._control.switch(self._outer)


def _either(a: Any, b: Any) -> Any:
    if a is False or b is True:
        return b
    return a if b is False or a is True else a | b


def _both(a: Any, b: Any) -> Any:
    return a if b is None else a & b
