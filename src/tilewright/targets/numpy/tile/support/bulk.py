"""What TMA demands of a copy and the hardware reports as an illegal instruction only."""

from __future__ import annotations

from tilewright.analysis.copies.copy_instructions import GRANULE_BYTES
from tilewright.targets.numpy.tile.support.problems import RuntimeFault
from tilewright.targets.numpy.tile.support.regions import TileSlice


def check_tma_start(part: TileSlice, *, is_store: bool) -> None:
    """Raise unless a part of a tensor starts at a multiple of 16 bytes, a store inside of it."""
    if is_store and min(part.offsets) < 0:
        raise RuntimeFault(
            "out of bounds",
            f"TMA store to {part.text()} starts before the tensor: only loads may have "
            "negative offsets",
            ["a GPU ends the kernel with 'an illegal instruction was encountered'"],
        )
    size = part.buffer.data.dtype.itemsize
    column = part.offsets[-1]
    extent = part.buffer.data.shape[-1]
    is_cut = column < extent < column + part.extents[-1]
    if is_store and is_cut and extent * size % GRANULE_BYTES:
        raise RuntimeFault(
            "out of bounds",
            f"TMA store to {part.text()} passes the end of rows of {extent * size} bytes: TMA "
            f"writes up to the next multiple of {GRANULE_BYTES}",
            ["pad the rows, or use T.copy, which uses TMA only where possible"],
        )
    if column * size % GRANULE_BYTES == 0:
        return
    unit = GRANULE_BYTES // size
    raise RuntimeFault(
        "misaligned",
        f"TMA copy of {part.text()} starts at column {column}, byte {column * size} of its row: "
        f"not a multiple of {GRANULE_BYTES}",
        [
            "a GPU ends the kernel with 'an illegal instruction was encountered'",
            f"start at a multiple of {unit} elements, or use T.copy, which uses TMA only where "
            "possible",
        ],
    )
