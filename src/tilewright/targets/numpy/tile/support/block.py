"""The block that runs: what generated code calls `rt`.

It allocates buffers, has the block index, prints and asserts. Kernels with asynchronous
operations or roles use `concurrent.ConcurrentBlock` instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from tilewright.targets.numpy.reached import ReachedMemory
from tilewright.targets.numpy.support.control import Control
from tilewright.targets.numpy.tile.support.block_races import BlockLog, Events, Seen
from tilewright.targets.numpy.tile.support.buffers import Filled, TileArena, TileBuffer, in_arena
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.pointers import Pointer, pointer_into
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, by_zero
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region

_MAX_PRINTED = 1024
_PLACEHOLDER = re.compile(r"%[-+ #0-9.]*(?:hh|h|ll|l)?[diufFeEgGxXcsp]")
_POISON = 0xA5
"""The value of every byte of uninitialised memory."""
MAX_TRIP_COUNT = 1 << 22
"""Iterations of one `while` loop in one block after which it is considered endless."""


@dataclass(eq=False)
class BlockState:
    """A block that runs, and the storage its buffers share."""

    block: tuple[int, ...]
    arenas: dict[str, TileArena] = field(default_factory=dict[str, TileArena])
    trip_counts: dict[int, int] = field(default_factory=dict[int, int])
    """Iteration counts of `while` loops, by source site."""
    events: Events = field(init=False)
    """What it did to global memory, in terms of order."""

    def __post_init__(self) -> None:
        self.events = Events(self.block)


class Runtime(Control):
    """What blocks of a launch share."""

    def __init__(
        self, *, checked: bool, output: Callable[[str], None], arena_bytes: int = 0
    ) -> None:
        super().__init__()
        self.checked = checked
        self.check_uninitialised = checked
        self.output = output
        self._state = BlockState((0, 0, 0))
        self.cluster: tuple[int, ...] = (1, 1, 1)
        self.grid: tuple[int, ...] = (1, 1, 1)
        self.threads: tuple[int, ...] = (1, 1, 1)
        self._arena_bytes = arena_bytes
        self._workspaces: dict[int, TileBuffer] = {}
        self.log: BlockLog | None = None
        """Follows what blocks do to global memory, if that is checked."""
        self.reached: ReachedMemory[TileBuffer] = ReachedMemory(())
        """Memory that addresses may point into."""
        self.launcher: Callable[..., None] | None = None
        """Runs the blocks of a kernel."""

    def begin(self, block: tuple[int, ...]) -> None:
        """Start a block: shared and local memory is uninitialised."""
        self._state = BlockState(block)

    @property
    def state(self) -> BlockState:
        """Of the block that runs at the moment."""
        return self._state

    @property
    def block(self) -> tuple[int, ...]:
        """The index of the block in the grid."""
        return self.state.block

    def cluster_rank(self) -> Any:
        """The number of the block in its cluster."""
        rank, step = 0, 1
        for index, extent in zip(self.block, self.cluster, strict=True):
            rank += index % extent * step
            step *= extent
        return np.int32(rank)

    # -- memory ------------------------------------------------------------------------------

    def pointer_at(self, address: Any, scalar: Any, divisor: int) -> Pointer:
        """The memory at an address, which compiled code takes to be a multiple of `divisor`."""
        return pointer_into(self.reached, int(address), np.dtype(scalar), divisor)

    def alloc(
        self,
        name: str,
        shape: Sequence[Any],
        scalar: Any,
        space: str,
        site: int | None = None,
        *,
        unsigned: bool = False,
        safe: Any = None,
        lanes: Lanes | None = None,
    ) -> TileBuffer:
        """A buffer of its own; in a parallel loop, one for each iteration."""
        extents = tuple(int(extent) for extent in shape)
        if lanes is not None:
            extents = (*lanes.shape, *extents)
        dtype = np.dtype(scalar)
        raw = np.full(int(np.prod(extents, dtype=np.int64)) * dtype.itemsize, _POISON, np.uint8)
        if dtype.kind == "b":
            raw[:] = 0
        data = raw.view(dtype).reshape(extents)
        shadow = Filled(np.zeros(extents, np.bool_)) if self.check_uninitialised else None
        return TileBuffer(name, data, space, shadow, site, is_unsigned=unsigned, safe=safe)

    def workspace(
        self, name: str, shape: Sequence[Any], scalar: Any, space: str, site: int, **options: Any
    ) -> TileBuffer:
        """Global memory that all blocks of the launch share."""
        found = self._workspaces.get(site)
        if found is None:
            found = self.alloc(name, shape, scalar, space, site, **options)
            found.seen = Seen.of_array(name, found.data)
            found.seen.trace.log = self.log if prod(self.grid) > 1 else None
            self._workspaces[site] = found
        return found

    def place(
        self,
        arena: str,
        offset_bytes: int,
        name: str,
        shape: Sequence[Any],
        scalar: Any,
        space: str,
        site: int | None = None,
        *,
        unsigned: bool = False,
    ) -> TileBuffer:
        """A buffer at an offset of memory that others share."""
        arenas = self.state.arenas
        found = arenas.get(arena)
        if found is None:
            found = arenas[arena] = TileArena(self._arena_bytes, self.check_uninitialised)
            found.bytes[:] = _POISON
        extents = tuple(int(extent) for extent in shape)
        buffer = in_arena(found, name, extents, np.dtype(scalar), offset_bytes, space, site)
        buffer.is_unsigned = unsigned
        return buffer

    def parallel(self, *extents: Any, outer: Lanes | None = None, watch: bool = False) -> Lanes:
        """The iterations of a parallel loop."""
        lanes = Lanes(extents, outer)
        if watch and self.checked:
            lanes.watch()
        return lanes

    def need(
        self, site: int, what: str, defined: Sequence[Any], origins: Sequence[int], mask: Any
    ) -> None:
        """Stop if the result of a division by zero is used."""
        if not all(each is np.True_ or np.all(each) for each in defined):
            raise by_zero(origins[0], what, site)

    def turn(self, site: int) -> None:
        """Count the iterations of a `while` loop of the block."""
        trip_counts = self.state.trip_counts
        count = trip_counts[site] = trip_counts.get(site, 0) + 1
        if count > MAX_TRIP_COUNT:
            raise RuntimeFault(
                "endless",
                f"a while loop did not terminate within {MAX_TRIP_COUNT} iterations in one block",
                ["blocks run sequentially: a block cannot wait for a later block"],
                site=site,
            )

    def advance(self, source_id: int, low: Any, high: Any, step: Any) -> None:
        if step <= 0:
            raise RuntimeFault(
                "endless", f"the step of a loop must be positive, got {step}", site=source_id
            )

    # -- reports -----------------------------------------------------------------------------

    def check(self, condition: Any, message: str, lanes: Lanes | None = None) -> None:
        """Fail unless a condition holds in every iteration that takes part."""
        holds = np.asarray(condition)
        bad = ~holds if lanes is None or lanes.active is None else ~holds & lanes.active
        if not bad.any():
            return
        notes: list[Note | str] = []
        if lanes is not None:
            lane = int(np.argmax(lanes.spread(bad).reshape(-1)))
            notes.append(f"in {lanes.text(lane)} of T.Parallel")
        raise RuntimeFault(
            "assertion", f"assertion failed: {message}" if message else "assertion failed", notes
        )

    def assumed(
        self,
        condition: Any,
        message: str,
        names: Sequence[str],
        values: Sequence[Any],
        lanes: Lanes | None = None,
    ) -> None:
        """Fail, in a checked run, unless a `T.assume` holds in every active iteration."""
        if not self.checked:
            return
        holds = np.asarray(condition)
        bad = ~holds if lanes is None or lanes.active is None else ~holds & lanes.active
        if not bad.any():
            return
        notes: list[Note | str] = []
        lane = None if lanes is None else int(np.argmax(lanes.spread(bad).reshape(-1)))
        found = zip(names, values, strict=True)
        shown = dict.fromkeys(f"{name} is {_at(value, lane, lanes)}" for name, value in found)
        if shown:
            notes.append(", ".join(shown))
        if lanes is not None and lane is not None:
            notes.append(f"in {lanes.text(lane)} of T.Parallel")
        notes.append("the compiler relies on T.assume: it may omit a guard, or use TMA")
        text = "T.assume does not hold"
        raise RuntimeFault("assertion", f"{text}: {message}" if message else text, notes)

    def print(self, message: str, *values: Any, lanes: Lanes | None = None) -> None:
        """Print values or buffers, a line for each iteration that takes part."""
        if lanes is None:
            self.output(self._line(message, [_shown(value) for value in values]))
            return
        mask = (
            np.ones(lanes.shape, np.bool_) if lanes.active is None else lanes.spread(lanes.active)
        )
        whole = [value if _is_memory(value) else lanes.spread(value) for value in values]
        for count, lane in enumerate(zip(*np.nonzero(mask), strict=True)):
            if count == _MAX_PRINTED:
                self.output(f"… and {int(mask.sum()) - count} more iterations")
                return
            shown = [_shown(value) if _is_memory(value) else str(value[lane]) for value in whole]
            self.output(self._line(message, shown))

    def _line(self, message: str, shown: Sequence[str]) -> str:
        """The text, with values in its placeholders or appended to it."""
        parts = _PLACEHOLDER.split(message)
        if len(parts) == len(shown) + 1 and shown:
            pairs = zip(parts, (*shown, ""), strict=True)
            text = "".join(f"{part}{value}" for part, value in pairs)
        else:
            text = " ".join(filter(None, (message, *shown)))
        return f"block {tuple(self.block)}: {text}"

    # -- launch ------------------------------------------------------------------------------

    def launch(
        self,
        kernel: Callable[..., Any],
        grid: Sequence[Any],
        threads: tuple[int, ...],
        **options: Any,
    ) -> None:
        """Run a kernel for every block of a grid."""
        assert self.launcher is not None
        self.launcher(kernel, grid, threads, **options)


def _is_memory(value: Any) -> bool:
    return isinstance(value, TileBuffer | TileSlice)


def _shown(value: Any) -> str:
    if not _is_memory(value):
        return str(value)
    region = as_region(value)
    values, _ = region.read(partial=True)
    return f"{region.text()} =\n{np.array2string(np.asarray(values), threshold=_MAX_PRINTED)}"


# Loops.


def persistent(
    domain: Sequence[Any], wave: Any, index: Any, group: int
) -> Iterator[tuple[Any, ...]]:
    """The tiles of a domain that fall to one worker, in grouped order."""
    extents = [int(extent) for extent in domain]
    last = extents[-1]
    width = max(1, min(group, last))
    radices = [-(-last // width), *extents[:-1], width]
    total = int(np.prod(radices, dtype=np.int64))
    for tile in range(int(index), total, int(wave)):
        digits: list[int] = []
        rest = tile
        for radix in reversed(radices):
            rest, digit = divmod(rest, radix)
            digits.append(digit)
        digits.reverse()
        final = digits[0] * width + digits[-1]
        if final < last:
            yield tuple(np.int64(digit) for digit in (*digits[1:-1], final))


def _at(value: Any, lane: int | None, lanes: Lanes | None) -> Any:
    """A value, of one iteration if it differs."""
    if lanes is None or lane is None or not np.ndim(value):
        return value
    return lanes.spread(value).reshape(-1)[lane]
