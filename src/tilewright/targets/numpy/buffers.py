"""The memory that a launch's pointers refer to: the array that an address belongs to.

    Region    one array: its lowest byte, its length, which bytes between them are elements
    Slots     the region as slots for elements of one size; an access selects from them
    Block     regions that share bytes (the same array given twice, two views of one), so that
              checks of which program accessed what must consider them together

An array may be any strided view. The bytes between its elements belong to other data: a
kernel that treats a view as contiguous accesses them, which is reported, not carried out.

Accesses may have another element size than the array (a packed load, a pointer cast). Slots are
aligned to their own size as the hardware requires, so the first one may start a few bytes in.
"""

from __future__ import annotations

import ctypes
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import gcd
from typing import Any

import numpy as np

from tilewright.targets.numpy.access_hooks import Watcher
from tilewright.targets.numpy.api import Array, Buffer
from tilewright.targets.numpy.selections import Elements, Selection
from tilewright.targets.numpy.terms import Parts, locate, locate_elements

BITS: dict[int, np.dtype[Any]] = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""Elements move as unsigned integers of their size: no type is converted, no NaN is changed."""


class MemoryRegion:
    """The memory of one array."""

    def __init__(self, name: str, array: Array, *, initialised: bool = True) -> None:
        self.name = name
        self.array = array
        self.initialised = initialised
        self.base: int = array.__array_interface__["data"][0]
        """Address of the first element, which a pointer argument holds."""
        self.block = MemoryBlock((self,))
        self._slots: dict[int, Slots] = {}
        self.low, self.size = self.base, array.nbytes
        if not array.flags.c_contiguous:
            self._measure(array)

    def _measure(self, array: Array) -> None:
        """Where a view begins and how far it reaches."""
        reach = [
            stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)
        ]
        below = -sum(step for step in reach if step < 0)
        above = sum(step for step in reach if step > 0)
        self.low = self.base - below
        self.size = below + above + array.itemsize if array.size else 0

    @property
    def writeable(self) -> bool:
        return self.array.flags.writeable

    @cached_property
    def is_dense(self) -> bool:
        """Whether every byte of the region belongs to exactly one element."""
        flags = self.array.flags
        if flags.c_contiguous or flags.f_contiguous:
            return True
        expected = self.array.itemsize
        for stride, extent in sorted(
            (abs(stride), extent)
            for stride, extent in zip(self.array.strides, self.array.shape, strict=True)
            if extent > 1
        ):
            if stride != expected:
                return False
            expected *= extent
        return True

    def slots(self, itemsize: int) -> Slots:
        """The region as elements of `itemsize` bytes."""
        found = self._slots.get(itemsize)
        if found is None:
            found = self._slots[itemsize] = self._make_slots(itemsize)
        return found

    def _make_slots(self, itemsize: int) -> Slots:
        array = self.array
        if itemsize == array.itemsize and array.flags.c_contiguous and not self.low % itemsize:
            bits = array.reshape(-1).view(BITS[itemsize])
            return Slots(self, itemsize, self.low, array.size, bits, None)
        skipped = min(-self.low % itemsize, self.size)
        count = (self.size - skipped) // itemsize
        return Slots(
            region=self,
            itemsize=itemsize,
            start=self.low + skipped,
            count=count,
            bits=self._bits(itemsize, skipped, count),
            owned=self._owned_slots(itemsize, skipped, count),
        )

    def _bits(self, itemsize: int, skipped: int, count: int) -> Array:
        raw = bytes_at(self.low, self.size)
        return raw[skipped : skipped + count * itemsize].view(BITS[itemsize])

    def _owned_slots(self, itemsize: int, skipped: int, count: int) -> Array | None:
        if self.is_dense:
            return None
        owned = self.owned_bytes()[skipped : skipped + count * itemsize]
        return np.logical_and.reduce(owned.reshape(count, itemsize), axis=1)

    def owned_bytes(self) -> Array:
        """For every byte of the region, whether it is part of an element."""
        owned = np.zeros(self.size, np.bool_)
        if self.array.size:
            first = owned[self.base - self.low :]
            shape = (*self.array.shape, self.array.itemsize)
            strides = (*self.array.strides, 1)
            np.lib.stride_tricks.as_strided(first, shape, strides)[...] = True
        return owned

    def __contains__(self, address: int) -> bool:
        return self.low <= address < self.low + self.size


class _Merged(MemoryRegion):
    """Regions that share bytes, as one, for addresses that might belong to any of them."""

    def __init__(self, regions: Sequence[MemoryRegion]) -> None:
        self._regions = tuple(regions)
        low = min(region.low for region in regions)
        high = max(region.low + region.size for region in regions)
        super().__init__(
            MemoryBlock(regions).name,
            bytes_at(low, high - low),
            initialised=all(region.initialised for region in regions),
        )

    @property
    def writeable(self) -> bool:
        return all(region.writeable for region in self._regions)

    @cached_property
    def is_dense(self) -> bool:
        return bool(self.owned_bytes().all())

    def owned_bytes(self) -> Array:
        owned = np.zeros(self.size, np.bool_)
        for region in self._regions:
            first = region.low - self.low
            owned[first : first + region.size] |= region.owned_bytes()
        return owned


@dataclass(frozen=True, slots=True)
class Slots:
    """Places for elements of one size in a region."""

    region: MemoryRegion
    itemsize: int
    start: int
    count: int
    bits: Array
    """The elements, as unsigned integers."""
    owned: Array | None
    """Which slots belong to the region altogether; None for all of them."""

    def find(self, address: Parts) -> Selection | None:
        """The elements at `address`; None if any lane is misaligned or not an element."""
        selection = locate(address, self.start, self.count, self.itemsize)
        return selection if selection is None or self.owns(selection) else None

    def owns(self, selection: Selection) -> bool:
        """Whether all of the slots belong to the region."""
        return self.owned is None or bool(selection.take(self.owned).all())

    def find_each(self, addresses: Array) -> Elements | None:
        """As `find`, of addresses that are added up already."""
        selection = locate_elements((addresses,), self.start, self.count, self.itemsize)
        return selection if selection is None or self.owns(selection) else None

    def holds(self, offsets: Array) -> Array:
        """Which byte offsets from `start` are elements."""
        inside = (offsets >= 0) & (offsets < self.count * self.itemsize)
        inside &= (offsets & (self.itemsize - 1)) == 0
        if self.owned is not None:
            inside[inside] = self.owned[offsets[inside] // self.itemsize]
        return inside

    def tabled(self, selection: Selection) -> Selection:
        """`selection` in the tables of the region's block."""
        block = self.region.block
        ratio = self.itemsize // block.granule
        offset = (self.start - block.low) // block.granule
        return selection if ratio == 1 and offset == 0 else selection.rescaled(ratio, offset)


class MemoryBlock:
    """Regions that share bytes, and what is known about each granule of them.

    The granule divides every element size and every distance between elements, so an access
    covers whole granules. With one array, accessed as what it is, it is the element.
    """

    def __init__(self, regions: Sequence[MemoryRegion]) -> None:
        self.regions = tuple(regions)
        self.granule = 1
        self.watchers: tuple[Watcher, ...] = ()

    @property
    def low(self) -> int:
        regions = self.regions
        return regions[0].low if len(regions) == 1 else min(region.low for region in regions)

    @property
    def size(self) -> int:
        regions = self.regions
        if len(regions) == 1:
            return regions[0].size
        return max(region.low + region.size for region in regions) - self.low

    @property
    def name(self) -> str:
        return " / ".join(dict.fromkeys(region.name for region in self.regions))

    @property
    def is_initialised(self) -> bool:
        return all(region.initialised for region in self.regions)

    @cached_property
    def whole(self) -> MemoryRegion:
        """All of it, for an address of which nothing else is known."""
        if len(self.regions) == 1:
            return self.regions[0]
        merged = _Merged(self.regions)
        merged.block = self
        return merged

    def fit(self, itemsizes: Iterable[int]) -> None:
        """Choose the granule for accesses of these sizes."""
        low = self.low
        distances = [region.low - low for region in self.regions]
        strides = [stride for region in self.regions for stride in region.array.strides]
        sizes = [region.array.itemsize for region in self.regions]
        # Slots of another size than the array's begin at multiples of it, not of the array.
        misfits = [low % size for size in itemsizes]
        self.granule = gcd(*itemsizes, *distances, *strides, *sizes, *misfits)

    def table(self, dtype: np.dtype[Any]) -> Array:
        """Zeros, one per granule."""
        return np.zeros(self.size // self.granule, dtype)


class AddressSpace:
    """All blocks of a launch, by address."""

    def __init__(self, regions: Iterable[MemoryRegion]) -> None:
        self.blocks = _group(regions)
        self._lows = [block.low for block in self.blocks]

    def at(self, address: int) -> MemoryRegion | None:
        """The memory that contains `address`."""
        position = bisect_right(self._lows, address) - 1
        if position < 0 or address not in self.blocks[position].whole:
            return None
        return self.blocks[position].whole

    def before(self, address: int) -> MemoryRegion | None:
        """The memory that begins at or before `address`, whether it reaches it or not."""
        position = bisect_right(self._lows, address) - 1
        return None if position < 0 else self.blocks[position].whole

    def split(self, addresses: Array) -> list[tuple[MemoryRegion | None, Array]]:
        """Which of `addresses` belong to which memory, as positions; None for unmapped ones."""
        positions = np.searchsorted(np.array(self._lows, np.int64), addresses, side="right") - 1
        ends = np.array([block.low + block.size for block in self.blocks], np.int64)
        if len(ends):
            positions[addresses >= ends[positions]] = -1
        distinct: list[int] = np.unique(positions).tolist()
        return [
            (
                self.blocks[position].whole if position >= 0 else None,
                np.flatnonzero(positions == position),
            )
            for position in distinct
        ]


def bytes_at(low: int, size: int) -> Array:
    """The bytes from the address `low` on. The owner of the arrays keeps them alive."""
    if size == 0:
        return np.empty(0, np.uint8)
    memory = memoryview((ctypes.c_uint8 * size).from_address(low)).cast("B")
    return np.frombuffer(memory, np.uint8)


def region_of(buffer: Buffer) -> MemoryRegion:
    return MemoryRegion(buffer.name, buffer.array, initialised=buffer.initialised)


def _group(regions: Iterable[MemoryRegion]) -> list[MemoryBlock]:
    """Blocks in order of address; regions without bytes overlap nothing and stay alone."""
    blocks: list[MemoryBlock] = []
    members: list[MemoryRegion] = []
    end = 0
    for region in sorted(
        (region for region in regions if region.size), key=lambda region: region.low
    ):
        if members and region.low >= end:
            blocks.append(_join(members))
            members = []
        members.append(region)
        end = max(end, region.low + region.size)
    if members:
        blocks.append(_join(members))
    return blocks


def _join(members: Sequence[MemoryRegion]) -> MemoryBlock:
    block = members[0].block if len(members) == 1 else MemoryBlock(members)
    for region in members:
        region.block = block
    return block
