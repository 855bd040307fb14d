"""Layouts of tiles on their way through registers from global to shared memory.

A thread reads 16 bytes along the tensor's contiguous axis at a time. Where shared memory holds the
tile in the order of the tensor, it writes them there as they are::

    direct      runs of 8 halves, distributed over the threads round after round

Where shared memory is contiguous along the other axis, a thread holds a block of several rows, and
writes the columns of the block, each of which is contiguous there::

    transposed  (k, n) of the block: register k * v + n        read   v columns of a row at once
                                     iteration n * h + k       write  h rows of a column at once

Neighbouring lanes go down the columns first, which are contiguous in shared memory; the lanes of a
wave together read as much of each row as they have blocks across. Each coordinate is one
digit of the thread index, so that bounds and contiguity of accesses are proved as for other copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.analysis.layout_inference.table import NotALayout, Table

ACCESS_BYTES = 16
"""The most that one access of a thread moves."""
MIN_WRITE_BYTES = 4
"""The least that it should write to shared memory at once: a bank."""


@dataclass(frozen=True)
class Staging:
    """Where a tile is while it is in registers."""

    fragment: Table
    """The registers."""
    store: Table | None = None
    """Of the loop that writes to shared memory, over the dimensions in reverse order; None if it is
    run as the registers are."""


def direct(shape: Sequence[int], threads: int, element_bytes: int) -> Staging | None:
    """Runs along the last dimension, the same for both sides; None if they do not divide evenly."""
    width = ACCESS_BYTES // element_bytes
    while width > 1 and (shape[-1] % width or int(np.prod(shape)) < threads * width):
        width //= 2
    runs = int(np.prod(shape)) // width
    if runs % threads and runs > threads:
        return None
    table = Table.free(shape, threads, width)
    # Threads that are left over would read what others have.
    return _closed(Staging(Table(table.owners[..., :1], table.registers)))


def transposed(shape: Sequence[int], threads: int, element_bytes: int) -> Staging | None:
    """Blocks of several rows for shared memory that is contiguous along them."""
    if len(shape) != 2:
        return None
    rows, columns = shape
    for height, width in _blocks(rows, columns, threads, element_bytes):
        found = _closed(_by_blocks(rows, columns, threads, height, width))
        if found is not None:
            return found
    return None


def _blocks(rows: int, columns: int, threads: int, element_bytes: int) -> Iterator[tuple[int, int]]:
    """Heights and widths of blocks, best first: wide reads, then wide writes, all threads busy."""
    widest = ACCESS_BYTES // element_bytes
    narrowest = max(2, MIN_WRITE_BYTES // element_bytes)
    for width in _halved(widest, 1):
        for height in _halved(widest, narrowest):
            count = rows // height * (columns // width)
            if rows % height == 0 and columns % width == 0 and count and count % threads == 0:
                yield height, width
    for width in _halved(widest, 1):
        for height in reversed([*_halved(widest, narrowest)]):
            count = rows // height * (columns // width)
            if rows % height == 0 and columns % width == 0 and 0 < count < threads:
                yield height, width


def _halved(first: int, last: int) -> Iterator[int]:
    while first >= last:
        yield first
        first //= 2


def _by_blocks(rows: int, columns: int, threads: int, height: int, width: int) -> Staging:
    """Consecutive blocks to consecutive threads, down the columns first."""
    row, column = np.indices((rows, columns))
    block = row // height + rows // height * (column // width)
    first = block // threads * (height * width)
    registers = first + row % height * width + column % width
    written = first + column % width * height + row % height
    owners = (block % threads)[..., None]
    return Staging(
        Table.of(owners, registers),
        Table.of(np.ascontiguousarray(owners.transpose(1, 0, 2)), np.ascontiguousarray(written.T)),
    )


def _closed(staging: Staging) -> Staging | None:
    """The layouts, if formulas give them."""
    try:
        staging.fragment.as_map()
        if staging.store is not None:
            staging.store.as_map()
    except NotALayout:
        return None
    return staging
