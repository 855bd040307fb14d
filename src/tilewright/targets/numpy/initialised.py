"""Whether an element was ever written: memory from `empty(...)` holds nothing to read.

A buffer that is marked uninitialised gets a table with one truth value per granule. Stores set it;
a load, or an atomic, of an unset granule is a fault, because on a GPU it would return arbitrary
data. After the launch, the same table shows which elements of an output no program wrote: most
often the grid was too small.
"""

from __future__ import annotations

import numpy as np

from tilewright.targets.numpy.access_hooks import CellAccess, Record, Report
from tilewright.targets.numpy.api import Array
from tilewright.targets.numpy.buffers import MemoryBlock, MemoryRegion

_TRUE = np.ones((), np.bool_)


class Initialised:
    """Which granules of a block hold a value."""

    def __init__(self, block: MemoryBlock, record: Record, report: Report) -> None:
        self._block = block
        self._record = record
        self._report = report
        self.written = ~block.table(np.dtype(np.bool_))
        for region in block.regions:
            if not region.initialised:
                self._clear(region)

    def _clear(self, region: MemoryRegion) -> None:
        own = self.of(region)
        if region.is_dense:
            own[...] = False
        else:
            owned = region.owned_bytes().reshape(-1, self._block.granule)
            own &= ~np.logical_and.reduce(owned, axis=1)

    def of(self, region: MemoryRegion) -> Array:
        """The part of the table that belongs to a region of the block."""
        granule = self._block.granule
        first = (region.low - self._block.low) // granule
        return self.written[first : first + region.size // granule]

    def unwritten(self, region: MemoryRegion) -> Array:
        """For each element of the array, in row-major order, whether no program wrote it."""
        granule = self._block.granule
        flat = self.of(region)
        first = flat[(region.base - region.low) // granule :]
        shape = (*region.array.shape, region.array.itemsize // granule)
        strides = (*[stride // granule for stride in region.array.strides], 1)
        elements = np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)
        return ~np.logical_and.reduce(elements, axis=-1).reshape(-1)

    def begin(self, programs: Array) -> None:
        """Batches make no difference here."""

    def read(self, access: CellAccess) -> None:
        if bool(self._unset(access).any()):
            self._report(self._unset)

    def _unset(self, access: CellAccess) -> Array:
        return ~access.selection.take(self.written)

    def write(self, access: CellAccess) -> None:
        self._record(self.written, access.selection)
        access.selection.put(self.written, _TRUE)

    def update(self, access: CellAccess) -> None:
        self.read(access)
        self.write(access)
