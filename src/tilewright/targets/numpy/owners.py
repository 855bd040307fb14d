"""Whether a batch is equivalent to running its programs sequentially.

A batch runs op by op, all programs at each; the meaning of a launch is program by program. The two
orders differ for a pair of accesses exactly if the later op's program is the smaller one:

    op 1   program 0 | program 1 | program 2         batch: rows, top to bottom
    op 2   program 0 | program 1 | program 2         launch: columns, left to right

So a batch is correct as long as no program accesses an element that a *greater* program has
accessed by an earlier op, where one of the two writes. `Owners` keeps, per granule of a block, the
greatest program that read it, wrote it or updated it, and raises `OrderConflict` when the rule is
broken; the batch is then rolled back and run sequentially. Programs that keep to blocks of their
own, as most do, are recognised by the ends of these blocks (`spans`) and need no tables. Inside one
op the order is right by itself: lanes are carried out in order of programs.

Batches follow each other in order of programs, so entries of earlier batches are smaller than
any current program, and the tables are never cleared.

Integer atomics whose result is unused commute with atomics of the same kind, so they conflict only
with reads, writes and other kinds of updates. `is_ordered` decides from the ops alone which blocks
need no tables at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np

from tilewright.targets.numpy.access_hooks import CellAccess
from tilewright.targets.numpy.api import Array, Site
from tilewright.targets.numpy.buffers import MemoryBlock
from tilewright.targets.numpy.spans import Spans

_Entry: TypeAlias = Callable[[CellAccess], None]

_MAX_PAST = 16
"""Accesses that are saved to be entered into the tables late."""

_COMMUTING = frozenset(("add", "and", "or", "xor", "max", "min", "umax", "umin"))


class OrderConflict(Exception):
    """A batch must be rolled back and its programs run sequentially."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def commutes(site: Site) -> bool:
    """Whether the op may be exchanged with another of its kind."""
    return (
        site.kind == "atomic_rmw"
        and site.rmw in _COMMUTING
        and not site.result_used
        and np.issubdtype(site.dtype, np.integer)
    )


def is_ordered(sites: Sequence[Site]) -> bool:
    """Whether any batch of these ops, all that access a block, is correct whatever they access."""
    if all(site.kind == "load" for site in sites):
        return True
    if len(sites) == 1 and not sites[0].in_loop:
        return True
    # One kind of update and nothing else; the type decides what, for example, `max` compares.
    return len({(site.rmw, site.dtype) for site in sites}) == 1 and all(map(commutes, sites))


class Owners:
    """Shows that a batch is in order, or raises.

    First by what each program covers: as long as these spans do not overlap, programs share no
    element, and the tables are not even allocated. From the first overlapping access on, by
    granule; the earlier accesses are entered late.
    """

    def __init__(self, block: MemoryBlock) -> None:
        self._tables = _Tables(block)
        self._spans: Spans | None = None
        self._name = block.name
        self._past: list[tuple[_Entry, CellAccess]] | None = []
        self._is_interleaved = False

    def begin(self, programs: Array) -> None:
        self._tables.begin()
        self._past = []
        # Programs that interleave their elements in one batch will do so in the next.
        self._spans = None if self._is_interleaved else Spans(programs)

    def read(self, access: CellAccess) -> None:
        self._enter(self._tables.read, access, writes=False)

    def write(self, access: CellAccess) -> None:
        self._enter(self._tables.write, access, writes=True)

    def update(self, access: CellAccess) -> None:
        self._enter(self._tables.update, access, writes=True)

    def _enter(self, entry: _Entry, access: CellAccess, *, writes: bool) -> None:
        if self._spans is None:
            entry(access)
        elif self._spans.admit(access, writes=writes):
            self._remember(entry, access)
        else:
            self._spans = None
            self._is_interleaved = True
            self._enter_past(access)
            entry(access)

    def _remember(self, entry: _Entry, access: CellAccess) -> None:
        # A loop must not keep all of its accesses: the spans alone then have to do.
        if self._past is not None and len(self._past) < _MAX_PAST:
            self._past.append((entry, access))
        else:
            self._past = None

    def _enter_past(self, access: CellAccess) -> None:
        if self._past is None:
            raise OrderConflict(
                f"programs may share elements of {self._name}: {access.site.text} accesses memory "
                "between the elements of another program"
            )
        for entry, past in self._past:
            entry(past)
        self._past = []


class _Tables:
    """The greatest programs that accessed each granule of a block."""

    def __init__(self, block: MemoryBlock) -> None:
        self._name = block.name
        self._block = block
        self._update: tuple[str | None, np.dtype[Any]] | None = None
        self.begin()

    @cached_property
    def _readers(self) -> Array:
        return self._block.table(np.dtype(np.int32))

    @cached_property
    def _writers(self) -> Array:
        return self._block.table(np.dtype(np.int32))

    @cached_property
    def _updaters(self) -> Array:
        return self._block.table(np.dtype(np.int32))

    def begin(self) -> None:
        # Which tables have entries of this batch: the others need no comparison.
        self._was_read = self._was_written = self._was_updated = False

    def read(self, access: CellAccess) -> None:
        self._require(access, readers=False)
        _raise_entries(self._readers, access)
        self._was_read = True

    def write(self, access: CellAccess) -> None:
        self._require(access)
        _raise_entries(self._writers, access)
        self._was_written = True

    def update(self, access: CellAccess) -> None:
        kind = (access.site.rmw, access.site.dtype)
        if not commutes(access.site) or self._update not in (None, kind):
            self.write(access)
            return
        self._update = kind
        self._require(access, updaters=False)
        _raise_entries(self._updaters, access)
        self._was_updated = True

    def _require(self, access: CellAccess, *, readers: bool = True, updaters: bool = True) -> None:
        if self._was_written and _is_after(self._writers, access):
            self._fail(access, "written")
        if readers and self._was_read and _is_after(self._readers, access):
            self._fail(access, "read")
        if updaters and self._was_updated and _is_after(self._updaters, access):
            self._fail(access, "updated")

    def _fail(self, access: CellAccess, how: str) -> NoReturn:
        raise OrderConflict(
            f"programs share elements of {self._name}: {access.site.text} accesses an element that "
            f"a later program has already {how}"
        )


def _is_after(table: Array, access: CellAccess) -> bool:
    """Whether an element has an entry greater than a program that accesses it now."""
    return bool((access.selection.take(table) > access.along(access.first)).any())


def _raise_entries(table: Array, access: CellAccess) -> None:
    """Make each entry at least the last program that accesses it.

    Where lanes share an element, all of them read the same old entry and the lane written last is
    that of the greatest program.
    """
    selection = access.selection
    selection.put(table, np.maximum(selection.take(table), access.along(access.last)))
