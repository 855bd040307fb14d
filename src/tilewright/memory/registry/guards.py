"""Canary mode: every slice between guard words, and which buffer wrote over them.

A slice is a bound that a device does not check: an index past the end of one buffer lands in the
next. With ``guard_words=n`` a registry leaves n words before and after every slice of its pools::

    compat  |a.........|b.....|             b may alias a
    canary  |##|a.........|##|##|b.....|##|     # guard

Overlaps are taken apart, because the guards of a buffer inside another would be overwritten by
rightful use of the outer one. `arm` writes a pattern into the guards and `check` counts the words
that changed, both on the device. A damaged run is blamed on the buffer adjacent to it:

    |a.........|XX|##|b.....|     a ran past its end
    |a.........|##|#X|b.....|     b ran before its start

Words are elements of the pool in the compat policy. In strict they are bytes, eight to a guard
word. Local arrays are in no pool and have no guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.memory.registry.aliases import Entries
from tilewright.memory.registry.allocators import numba_backend
from tilewright.memory.registry.buffer import Pool
from tilewright.memory.registry.layout import Layouts
from tilewright.memory.units import align_up

ELEMENT_PATTERN = (1031, 1, 1009)
"""Base, step and period: whole numbers below 2048, exact in every element type."""

BYTE_PATTERN = (3, 29, 251)


def with_guards(layouts: Layouts, entries: Entries, guard: int, bytewise: bool) -> Layouts:
    """The same buffers in the same pools, each alone between `guard` words."""

    def spread(windows: dict[str, slice]) -> dict[str, slice]:
        free = 0
        apart: dict[str, slice] = {}
        for name in sorted(windows, key=lambda name: windows[name].start):
            size = windows[name].stop - windows[name].start
            if size == 0:
                apart[name] = slice(0, 0)
                continue
            start = align_up(free + guard, entries[name].align if bytewise else 1)
            apart[name] = slice(start, start + size)
            free = start + size + guard
        return {name: apart[name] for name in windows}

    return replace(
        layouts,
        shared=spread(layouts.shared),
        persistent=spread(layouts.persistent),
        consumed=dict.fromkeys(layouts.consumed, 0),
        tail=guard,
    )


@dataclass(frozen=True)
class Span:
    """The words of a pool that belong to one buffer; `owner` is its path through the children."""

    pool: Pool
    start: int
    stop: int
    owner: str


@dataclass(frozen=True)
class Damage:
    """A run of guard words that changed, and the buffers that can have done it."""

    pool: Pool
    start: int
    stop: int
    culprits: tuple[str, ...]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Canary:
    """The guard words of a component and of all its children, by their offset in its pools."""

    spans: tuple[Span, ...]
    shared_words: tuple[int, ...]
    persistent_words: tuple[int, ...]
    bytewise: bool

    def device_functions(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """``arm(shared, persistent)`` and ``check(shared, persistent, report)``.

        Every thread that has pools of its own arms them before the first allocator runs and checks
        them after the last use.
        """
        pattern = BYTE_PATTERN if self.bytewise else ELEMENT_PATTERN
        return numba_backend().guards(
            self.shared_words, self.persistent_words, self.bytewise, pattern
        )

    def arm(self, shared: npt.NDArray[Any], persistent: npt.NDArray[Any]) -> None:
        """Arm pools that are NumPy arrays, without a device."""
        for pool, words in self._arrays(shared, persistent):
            pool[words] = self._expected(words)

    def inspect(self, shared: npt.NDArray[Any], persistent: npt.NDArray[Any]) -> tuple[Damage, ...]:
        """The damage in pools that are NumPy arrays and were armed."""
        changed = [
            pool[words] != self._expected(words) for pool, words in self._arrays(shared, persistent)
        ]
        return self.damage(np.concatenate(changed).astype(np.int32))

    def _arrays(
        self, shared: npt.NDArray[Any], persistent: npt.NDArray[Any]
    ) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[np.intp]]]:
        pools = ((shared, self.shared_words), (persistent, self.persistent_words))
        for pool, words in pools:
            yield pool.view(np.uint8) if self.bytewise else pool, np.array(words, np.intp)

    def _expected(self, words: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        base, step, period = BYTE_PATTERN if self.bytewise else ELEMENT_PATTERN
        return base + step * words % period

    def new_report(self) -> npt.NDArray[np.int32]:
        """Zeros, one counter a guard word, for `check` to add to."""
        return np.zeros(max(1, len(self.shared_words) + len(self.persistent_words)), np.int32)

    def damage(self, report: Sequence[int] | npt.NDArray[np.int32]) -> tuple[Damage, ...]:
        """The damage that the counters show, in the order of the pools."""
        shared = len(self.shared_words)
        counters = [int(count) for count in report]
        return (
            *self._damage("shared", self.shared_words, counters[:shared]),
            *self._damage("persistent", self.persistent_words, counters[shared:]),
        )

    def _damage(self, pool: Pool, words: Sequence[int], counters: list[int]) -> list[Damage]:
        changed = {word for word, count in zip(words, counters, strict=False) if count}
        found: list[Damage] = []
        for gap in runs_of(words):
            before = self._adjacent(pool, "stop", gap.start)
            after = self._adjacent(pool, "start", gap.stop)
            for run in runs_of(word for word in range(gap.start, gap.stop) if word in changed):
                found.append(_blame(pool, gap, run, before, after, self.bytewise))
        return found

    def _adjacent(self, pool: Pool, edge: str, offset: int) -> str | None:
        for span in self.spans:
            if span.pool == pool and getattr(span, edge) == offset:
                return span.owner
        return None


def guard_words_between(spans: Iterable[Span], extent: int) -> tuple[int, ...]:
    """The words below `extent` that belong to no buffer."""
    owned = {word for span in spans for word in range(span.start, span.stop)}
    return tuple(word for word in range(extent) if word not in owned)


def runs_of(words: Iterable[int]) -> list[range]:
    """Ascending words as maximal ranges."""
    runs: list[range] = []
    for word in words:
        if runs and runs[-1].stop == word:
            runs[-1] = range(runs[-1].start, word + 1)
        else:
            runs.append(range(word, word + 1))
    return runs


def _blame(
    pool: Pool, gap: range, run: range, before: str | None, after: str | None, bytewise: bool
) -> Damage:
    past = before is not None and run.start == gap.start
    ahead = after is not None and run.stop == gap.stop
    amount = f"{len(run)} {'byte' if bytewise else 'word'}{'s' if len(run) > 1 else ''}"
    accusations = [
        *([f"'{before}' wrote {amount} past its end"] if past else []),
        *([f"'{after}' wrote {amount} before its start"] if ahead else []),
    ]
    culprits = tuple(name for name, guilty in ((before, past), (after, ahead)) if guilty and name)
    text = " or ".join(accusations) or (
        f"a stray write of {amount} between {_edge(before, 'start')} and {_edge(after, 'end')}"
    )
    where = f"{pool}[{run.start}:{run.stop}]"
    return Damage(pool, run.start, run.stop, culprits, f"{where}: {text}")


def _edge(name: str | None, side: str) -> str:
    return f"'{name}'" if name is not None else f"the {side} of the pool"
