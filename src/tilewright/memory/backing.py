"""The backing allocation of a region: size, shape, alignment.

Rules: docs/design/storage-alias.md#backing-allocation.

::

    smem   align_up(max over leaves of extent, 128); without a tree max count * unit
    tmem   rows x columns: what the shapes declare, and at least what the tree covers

An explicit size only adds space after the last buffer; it never stretches a stride.

Two numbers describe tensor memory. `Backing.extent` is what the text of the region shows; without a
tree it comes from the shapes alone. `Backing.needed` is what the buffers cover, which is more for
column strides above 1. The storage that is taken in the end is the larger of the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.memory.placement import Placement
from tilewright.memory.region import StorageRegion
from tilewright.memory.rules import Finding, finding
from tilewright.memory.targets import (
    SMEM_BASE_ALIGNMENT,
    SMEM_SIBLING_ALIGNMENT,
    TMEM_COLUMN_BYTES,
    TMEM_HALF_ROWS,
    TMEM_ROWS,
    Memory,
)
from tilewright.memory.units import Buffer, align_up


@dataclass(frozen=True)
class Backing:
    """The backing allocation of a region, in bytes or columns, except `size_bytes`.

    `shape` is ``(bytes,)`` or ``(rows, columns)``. `rows_needed` can exceed the declared rows: two
    blocks of 64 rows next to each other use all 128. The base address is `residue` mod `alignment`.
    """

    memory: Memory
    shape: tuple[int, ...]
    size_bytes: int
    needed: int
    alignment: int
    residue: int = 0
    rows_needed: int = 0

    @property
    def extent(self) -> int:
        """The extent in the IR of the region."""
        return self.shape[-1]

    @property
    def allocated(self) -> int:
        """What is taken from the memory in the end."""
        return max(self.extent, self.needed)

    @property
    def alignment_attribute(self) -> int | None:
        """The alignment to write down, None where the default is enough."""
        return self.alignment if self.alignment > SMEM_BASE_ALIGNMENT else None

    @property
    def tiles(self) -> tuple[int, int, int]:
        """Tensor memory as count, rows, columns with a power of two as columns.

        Types only allow powers of two; other widths become several tiles.
        """
        rows, columns = self.shape
        width = columns & -columns
        return columns // width, rows, width

    def __str__(self) -> str:
        rows = f"{self.shape[0]} rows x " if self.memory is Memory.TMEM else ""
        return f"{rows}{self.extent} {self.memory.unit_name} of {self.memory.full_name}"


def backing_of(region: StorageRegion, placements: Sequence[Placement], residue: int) -> Backing:
    """The storage that holds all `placements`, or the user-specified size."""
    needed = max(placement.extent for placement in placements)
    strictest = max(buffer.alignment for buffer in region.buffers)
    if region.memory is Memory.SMEM:
        total = align_up(needed, SMEM_SIBLING_ALIGNMENT) if region.phases else needed
        shape: tuple[int, ...] = (max(total, region.size_bytes or 0),)
        alignment = max(SMEM_BASE_ALIGNMENT, strictest)
        return Backing(region.memory, shape, shape[0], total, alignment, residue)
    rows, columns = _declared(region.buffers)
    if region.phases:
        columns = max(columns, needed)
    if region.size_bytes is not None:
        columns = max(columns, region.size_bytes // (rows * TMEM_COLUMN_BYTES))
    size = region.size_bytes or rows * columns * TMEM_COLUMN_BYTES
    rows_needed = max(buffer.rows for buffer in region.buffers)
    shape = (rows, columns)
    return Backing(region.memory, shape, size, needed, strictest, residue, rows_needed)


def _declared(buffers: Sequence[Buffer]) -> tuple[int, int]:
    """Rows (64 or 128) and columns that the shapes alone require."""
    shapes = [buffer.declared or (buffer.rows, buffer.packed_size) for buffer in buffers]
    rows = max(rows for rows, _ in shapes)
    return TMEM_HALF_ROWS if rows <= TMEM_HALF_ROWS else TMEM_ROWS, max(c for _, c in shapes)


def required_bytes(region: StorageRegion, backing: Backing) -> int:
    """The smallest explicit size that is enough."""
    if region.memory is Memory.SMEM:
        return backing.needed
    rows, columns = _declared(region.buffers)
    if region.phases:
        columns = max(columns, backing.needed)
    return rows * columns * TMEM_COLUMN_BYTES


def size_findings(region: StorageRegion, backing: Backing) -> Iterator[Finding]:
    """E2 and W2: an explicit size that is too small, or not a whole number of columns."""
    size, name = region.size_bytes, region.name
    if size is None:
        return
    needed = required_bytes(region, backing)
    if size < needed:
        yield finding("E2", name, size=size, needed=needed)
    elif region.memory is Memory.TMEM:
        multiple = backing.shape[0] * TMEM_COLUMN_BYTES
        if size % multiple:
            yield finding("W2", name, size=size, multiple=multiple, rest=size % multiple)


def capacity_findings(
    region: StorageRegion, backing: Backing, capacity: int | None
) -> Iterator[Finding]:
    """E17: more than the target has. Without a capacity nothing is checked."""
    if capacity is not None and backing.allocated > capacity:
        memory = region.memory
        yield finding(
            "E17",
            region.name,
            needed=backing.allocated,
            unit=memory.unit_name,
            memory=memory.full_name,
            capacity=capacity,
        )
