"""What programs do to the memory of a launch, traced at both levels.

For each byte of each array: all programs that modify it (stores and atomics), each with a
weight of its own, so that equal totals mean equal multisets of accesses by program; and whether a
program reads it. Both levels are traced by what carries out their accesses: the memory of the
pointer level, the buffers of the tile level. Neither looks at the plan of the raising.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

import numpy as np

from tests.passes.raising.levels import Launch, copied, flat, parsed
from tilewright.passes.tile.raise_to_tile import RaisedKernel
from tilewright.targets.numpy import Buffer, Descriptor, RunOptions, compile_module
from tilewright.targets.numpy.access_hooks import CellAccess
from tilewright.targets.numpy.memory import LaunchMemory
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module
from tilewright.targets.numpy.tile import kernel as tile_kernel
from tilewright.targets.numpy.tile import launch as tile_launch
from tilewright.targets.numpy.tile.support.block import Runtime
from tilewright.targets.numpy.tile.support.block_races import Seen, Trace
from tilewright.targets.numpy.windows import Window

SEED = 20_261_118


@dataclass
class Array:
    """The accesses of one array, by byte."""

    modified: Any
    """The weights of all programs that modify a byte, added up modulo 2^64."""
    read: Any


@dataclass
class Traffic:
    """The accesses of a launch, by the position of the array among the arguments."""

    arrays: dict[int, Array] = field(default_factory=dict[int, Array])
    program: int = 0
    """The linear index of the program that runs."""
    weights: dict[int, np.uint64] = field(default_factory=dict[int, np.uint64])

    def weight(self) -> np.uint64:
        found = self.weights.get(self.program)
        if found is None:
            draw = np.random.default_rng([SEED, self.program])
            found = self.weights[self.program] = draw.integers(1, 2**64, dtype=np.uint64)
        return found

    def array(self, position: int, size: int) -> Array:
        found = self.arrays.get(position)
        if found is None:
            found = Array(np.zeros(size, np.uint64), np.zeros(size, np.bool_))
            self.arrays[position] = found
        return found

    def differences(self, other: Traffic) -> list[str]:
        """What the raised kernel does otherwise: modifies other bytes, or reads more."""
        found: list[str] = []
        for position in sorted({*self.arrays, *other.arrays}):
            actual_array, other_array = self.arrays.get(position), other.arrays.get(position)
            if actual_array is None or other_array is None:
                accessed = actual_array or other_array
                assert accessed is not None
                if accessed.modified.any() or (actual_array is None and accessed.read.any()):
                    found.append(f"array {position} is accessed at one level only")
                continue
            wrong = np.flatnonzero(actual_array.modified != other_array.modified)
            if wrong.size:
                found.append(f"array {position}: {wrong.size} bytes modified otherwise")
            more = np.flatnonzero(other_array.read & ~actual_array.read)
            if more.size:
                found.append(f"array {position}: {more.size} bytes read that were not")
        return found


def _positions(arguments: Sequence[Any]) -> list[tuple[int, Buffer]]:
    found: list[tuple[int, Buffer]] = []
    for position, argument in enumerate(arguments):
        buffer = argument.buffer if isinstance(argument, Descriptor) else argument
        if isinstance(buffer, Buffer):
            found.append((position, buffer))
    return found


# The pointer level.


@dataclass
class _Counter:
    """Watches a block of memory."""

    traffic: Traffic
    block: Any
    array: Array
    grid: tuple[int, int, int]

    def begin(self, programs: Any) -> None:
        (only,) = np.asarray(programs).reshape(-1).tolist()
        self.traffic.program = only

    def _bytes(self, access: CellAccess) -> Any:
        granule = self.block.granule
        first = np.asarray(access.selection.elements()).reshape(-1) * granule
        return (first[:, None] + np.arange(granule)).reshape(-1)

    def read(self, access: CellAccess) -> None:
        self.array.read[self._bytes(access)] = True

    def write(self, access: CellAccess) -> None:
        np.add.at(self.array.modified, self._bytes(access), self.traffic.weight())

    update = write


def traffic_on_pointers(launch: Launch) -> Traffic:
    """The accesses of the kernel as it is, program by program."""
    traffic = Traffic()
    arguments = [copied(each) for each in launch.arguments]
    starts = {buffer.array.ctypes.data: position for position, buffer in _positions(arguments)}
    original = LaunchMemory._watch

    def watch(self: Any, sites: Any) -> Any:
        watched = {id(each.block): each for each in original(self, sites)}
        found: list[Any] = []
        for block in self._space.blocks:
            own = [site for site in sites if self._may_access(site, block.regions)]
            if not own:
                continue
            block.fit({site.dtype.itemsize for site in own})
            position = starts[block.low]
            counter = _Counter(traffic, block, traffic.array(position, block.size), launch.sizes)
            known = watched.get(id(block))
            if known is None:
                from tilewright.targets.numpy.memory import _Watched

                known = _Watched(block, own, (), ())
            found.append(replace(known, always=(*known.always, counter)))
        return found

    kernel = compile_module(parsed(launch.text))
    with patch.object(LaunchMemory, "_watch", watch):
        kernel.launch(launch.sizes, arguments, RunOptions(batch=1, output=lambda _: None))
    return traffic


# The tile level.


class _Following:
    """Stands for the log of a traced tensor."""

    def give_up(self, trace: Trace) -> None:
        raise NotTraced(trace.name)


class NotTraced(Exception):
    """A view has elements of another size than its memory: bytes are not followed."""


class _Seen(Seen):
    """Counts accesses instead of checking them."""

    __slots__ = ("array", "offsets", "size", "traffic")

    def __init__(self, trace: Trace, window: Window, traffic: Traffic, array: Array, size: int):
        super().__init__(trace, window)
        self.traffic, self.array, self.size = traffic, array, size
        self.offsets: Any = None

    def viewed(self, window: Window, same_size: bool) -> Seen | None:
        if not same_size:
            raise NotTraced(self.trace.name)
        inner = window.inside(self.window)
        return _Seen(self.trace, inner, self.traffic, self.array, self.size)

    def _elements(self, index: Any) -> Any:
        """The first bytes of the elements at `index`."""
        if self.offsets is None:
            self.offsets = self.window.over(np.arange(self.trace.size))
        return np.asarray(self.offsets[index]).reshape(-1) * self.size

    def _bytes(self, index: Any) -> Any:
        return (self._elements(index)[:, None] + np.arange(self.size)).reshape(-1)

    def read(self, name: str, index: Any) -> None:
        self.array.read[self._bytes(index)] = True

    def write(self, name: str, index: Any) -> None:
        np.add.at(self.array.modified, self._bytes(index), self.traffic.weight())

    write_one = update = write
    look = read

    def synchronise(self, order: str, *, reads: bool, writes: bool) -> None:
        pass


@contextmanager
def _traced(traffic: Traffic, starts: dict[int, int], grid: tuple[int, int, int]) -> Iterator[None]:
    make, begin = tile_kernel._buffer, Runtime.begin

    def buffer(parameter: Any, argument: Any, tracks: bool) -> Any:
        made = make(parameter, argument, tracks)
        position = starts.get(made.data.ctypes.data)
        if position is not None:
            window = Window.of_array(made.data)
            assert window is not None
            trace = Trace(made.name, made.data.size)
            trace.log = _Following()  # pyright: ignore[reportAttributeAccessIssue]
            array = traffic.array(position, made.data.nbytes)
            made.seen = _Seen(trace, window, traffic, array, made.data.itemsize)
        return made

    def start(self: Any, block: tuple[int, ...]) -> None:
        x, y, z = block
        traffic.program = x + grid[0] * (y + grid[1] * z)
        begin(self, block)

    with (
        patch.object(tile_kernel, "_buffer", buffer),
        patch.object(Runtime, "begin", start),
        patch.object(tile_launch, "_follow", lambda written, log: None),
    ):
        yield


def traffic_on_tiles(kernel: RaisedKernel, launch: Launch) -> Traffic:
    """The accesses of the raised kernel, program by program."""
    traffic = Traffic()
    compiled = compile_tile_module(kernel.module)
    arguments = [copied(each) for each in launch.arguments]
    given: list[Any] = []
    starts: dict[int, int] = {}
    for position, argument in enumerate(arguments):
        buffer = argument.buffer if isinstance(argument, Descriptor) else argument
        given.append(flat(buffer, compiled.parameters[position].scalar.dtype))
        if isinstance(buffer, Buffer):
            starts[buffer.array.ctypes.data] = position
    options = TileOptions(output=lambda _: None, check_races=False, check_uninitialised=False)
    with _traced(traffic, starts, launch.sizes):
        compiled.launch([*given, *launch.sizes], options)
    return traffic


def traffic_differences(kernel: RaisedKernel, launch: Launch) -> list[str]:
    """How the accesses of both levels differ; nothing if they do not."""
    return traffic_on_pointers(launch).differences(traffic_on_tiles(kernel, launch))
