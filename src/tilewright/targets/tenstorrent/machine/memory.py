"""Memory of the machine: buffers by page, and the L1 of a core with the state of its bytes.

Every 16 bytes of L1 are unwritten, valid or *poisoned*: the destination of a NoC read that is in
flight holds a NaN pattern from issue to completion, so that a missing barrier is visible both to
the sanitizers and in the result. Tiles that were decoded are cached until their bytes change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tilewright.dialects.tensix.formats import Format
from tilewright.targets.tenstorrent.machine.tiles import Tile, decode
from tilewright.targets.tenstorrent.program import Buffer, Core

GRANULE = 16
POISON = 0xFF
"""All bits set is a NaN in every floating-point format."""


class ByteState(IntEnum):
    """What a granule of L1 holds."""

    UNWRITTEN = 0
    VALID = 1
    POISONED = 2


@dataclass(eq=False)
class DramBuffer:
    """One buffer of the program, by page."""

    buffer: Buffer
    address: int
    pages: NDArray[np.uint8]
    """Shape (pages, page bytes)."""
    writes: NDArray[np.int32]
    """How many times each page was written by kernels."""
    writers: dict[int, str] = field(default_factory=dict[int, str])
    """The kernel and core that writes a page."""
    readers: dict[int, Core | None] = field(default_factory=dict[int, Core | None])
    """The core that reads a page; None if several do."""
    page_reads: int = 0

    @property
    def is_l1(self) -> bool:
        """Whether the pages are in the L1 of cores."""
        return False

    def load(self, page: int) -> NDArray[np.uint8]:
        """The bytes of a page."""
        return self.pages[page]

    def store(self, page: int, data: NDArray[np.uint8]) -> None:
        """Replace a page."""
        self.pages[page] = data

    def is_written(self, page: int) -> bool:
        """Whether a kernel has written a page."""
        return bool(self.writes[page])


@dataclass(eq=False)
class ShardedBuffer(DramBuffer):
    """A buffer whose pages are in the L1 of cores; `pages` is not used."""

    locations: Sequence[tuple[L1, int]] = ()
    """The L1 and the address of each page."""

    @property
    @override
    def is_l1(self) -> bool:
        return True

    @override
    def load(self, page: int) -> NDArray[np.uint8]:
        l1, address = self.locations[page]
        return l1.read(address, self.buffer.page_bytes)

    @override
    def store(self, page: int, data: NDArray[np.uint8]) -> None:
        l1, address = self.locations[page]
        l1.write(address, data)

    @override
    def is_written(self, page: int) -> bool:
        l1, address = self.locations[page]
        return l1.worst_state(address, self.buffer.page_bytes) is ByteState.VALID


@dataclass(eq=False)
class L1:
    """The scratchpad of a core."""

    data: NDArray[np.uint8]
    state: NDArray[np.uint8]
    tiles: dict[int, Tile] = field(default_factory=dict[int, Tile])

    @classmethod
    def of_size(cls, size: int) -> L1:
        return cls(np.zeros(size, np.uint8), np.zeros(-(-size // GRANULE), np.uint8))

    def _granules(self, address: int, size: int) -> slice:
        return slice(address // GRANULE, -(-(address + size) // GRANULE))

    def write(self, address: int, data: NDArray[np.uint8]) -> None:
        """Store bytes, which are valid from now on."""
        self.data[address : address + len(data)] = data
        self.state[self._granules(address, len(data))] = ByteState.VALID
        self.tiles.pop(address, None)

    def poison(self, address: int, size: int) -> None:
        """Mark the destination of a transfer in flight."""
        self.data[address : address + size] = POISON
        self.state[self._granules(address, size)] = ByteState.POISONED
        self.tiles.pop(address, None)

    def forget(self, address: int, size: int) -> None:
        """Bytes that a producer may overwrite: not valid until it has."""
        self.state[self._granules(address, size)] = ByteState.UNWRITTEN
        self.tiles.pop(address, None)

    def read(self, address: int, size: int) -> NDArray[np.uint8]:
        return self.data[address : address + size].copy()

    def worst_state(self, address: int, size: int) -> ByteState:
        """Poisoned or unwritten if any byte is, valid if all are."""
        found = self.state[self._granules(address, size)]
        if (found == ByteState.VALID).all():
            return ByteState.VALID
        poisoned = bool((found == ByteState.POISONED).any())
        return ByteState.POISONED if poisoned else ByteState.UNWRITTEN

    def tile(self, address: int, format: Format) -> Tile:
        """The decoded tile at an address."""
        found = self.tiles.get(address)
        if found is None:
            found = decode(self.data[address : address + format.tile_bytes], format)
            self.tiles[address] = found
        return found
