"""How a tensor is arranged in DRAM so that every block that a kernel accesses is whole tiles.

Every access of a tensor is a box of a copy: one dimension runs along tile rows, one along tile
columns, the others are indexed. Two numbers per axis fix the arrangement: the granule, the largest
size that divides the offset and the extent of every access, and the reach, the end of the last box.

    granule 64 (a multiple of 32)   tile = offset / 32          the tensor padded to the reach
    granule 4                       tile = offset / 4           every 4 rows padded to 32

The host pads with 0, which is what reads outside a tensor give; writes to padding are cropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import Any

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.tensix.formats import TILE_HEIGHT, Format
from tilewright.dialects.tensix.json_attr import Json
from tilewright.dialects.tile import CopyOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import shape_of
from tilewright.passes.tenstorrent.block_shapes import COLUMNS, ROWS, Axes, region_shape
from tilewright.passes.tenstorrent.gathered_layouts import Box, Gather, gather_of
from tilewright.passes.tenstorrent.reports import UNBOUNDED

TILE = TILE_HEIGHT
NONE = -1
"""No dimension of the tensor runs along this axis: there is one row (column)."""


class LayoutError(Exception):
    """Why a tensor has no arrangement in tiles, at an op."""

    def __init__(self, op: Operation, message: str, code: str) -> None:
        super().__init__(message)
        self.op, self.code = op, code


_FAR = 2**31
"""Offsets of loaded values have the bounds of their type, which exclude nothing."""
MISALIGNED = "TW7061"
MIXED_AXES = "TW7022"


@dataclass(frozen=True)
class Access:
    """One box of a tensor."""

    op: CopyOp
    offsets: tuple[Mixed, ...]
    extents: tuple[int, ...]
    is_write: bool


@dataclass(frozen=True)
class TensorLayout:
    """The arrangement of one tensor."""

    shape: tuple[int, ...]
    format: Format
    leading: tuple[int, ...]
    """The dimensions that are indexed, in order."""
    row_dim: int
    column_dim: int
    granules: tuple[int, int]
    """Elements of a row and of a column block."""
    blocks: tuple[int, int]
    """How many of them there are."""
    starts: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The first element of each block, where it is not that of the position of the block."""
    limits: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """The valid elements of each block that is written, where those are not all."""

    @property
    def dims(self) -> tuple[int, ...]:
        return (*self.leading, self.row_dim, self.column_dim)

    @property
    def granule_tiles(self) -> tuple[int, int]:
        """Tiles of a row and of a column block."""
        rows, columns = (-(-granule // TILE) for granule in self.granules)
        return rows, columns

    @property
    def leading_extents(self) -> tuple[int, ...]:
        return tuple(self.shape[dim] for dim in self.leading)

    @property
    def tiles(self) -> tuple[int, ...]:
        """Leading extents, tile rows, tile columns."""
        rows, columns = (
            count * tiles for count, tiles in zip(self.blocks, self.granule_tiles, strict=True)
        )
        return (*self.leading_extents, rows, columns)

    @property
    def padded(self) -> tuple[int, ...]:
        return (*self.leading_extents, *(TILE * extent for extent in self.tiles[-2:]))

    @property
    def pages(self) -> int:
        return prod(self.tiles)

    def to_data(self) -> dict[str, Json]:
        """The annotation ``tt.shard`` of the argument."""
        return {
            "layout": "tiled",
            "memory": "dram_interleaved",
            "format": self.format.value,
            "tile": [TILE, TILE],
            "shape": list(self.shape),
            "tiles": list(self.tiles),
            "padded": list(self.padded),
            "dims": list(self.dims),
            "granules": list(self.granules),
            "page_bytes": self.format.tile_bytes,
            "pages": self.pages,
            "needs_padding": list(self.padded) != list(self.shape),
            **({"starts": [list(each) for each in self.starts]} if any(self.starts) else {}),
            **({"limits": [list(each) for each in self.limits]} if any(self.limits) else {}),
        }


def layout_from_data(data: Mapping[str, Any]) -> TensorLayout:
    """The arrangement that ``tt.shard`` states."""
    *leading, row_dim, column_dim = data["dims"]
    granules: list[int] = data["granules"]
    tiles: list[int] = data["tiles"][-2:]
    blocks = [count // -(-each // TILE) for count, each in zip(tiles, granules, strict=True)]
    return TensorLayout(
        tuple(data["shape"]),
        Format(data["format"]),
        tuple(leading),
        row_dim,
        column_dim,
        (granules[0], granules[1]),
        (blocks[0], blocks[1]),
        _two_lists(data.get("starts")),
        _two_lists(data.get("limits")),
    )


def _two_lists(data: list[list[int]] | None) -> tuple[tuple[int, ...], tuple[int, ...]]:
    first, second = data or ((), ())
    return tuple(first), tuple(second)


def accesses_of(tensor: SSAValue, copies: Sequence[CopyOp]) -> list[Access]:
    """The boxes of a tensor that copies read or write."""
    found: list[Access] = []
    for op in copies:
        for value, is_write in ((op.src, False), (op.dst, True)):
            base, offsets, extents = region_shape(value)
            if base is not tensor:
                continue
            known = tuple(extent for extent in extents if isinstance(extent, int))
            if len(known) < len(extents):
                raise LayoutError(
                    op, "the copy has an extent that is a run-time value: use constants", UNBOUNDED
                )
            found.append(Access(op, offsets, known, is_write))
    return found


def layout_of(
    tensor: SSAValue, format: Format, accesses: Sequence[Access], axes: Axes, ranges: IndexRanges
) -> TensorLayout:
    """The arrangement that suits all accesses; `LayoutError` if there is none."""
    shape = tuple(shape_of(tensor.type))
    row_dim, column_dim = _tiled_dims(tensor, shape, accesses, axes)
    granules: list[int] = []
    blocks: list[int] = []
    gathers: list[Gather | None] = []
    for dim in (row_dim, column_dim):
        gather = None
        granule, count = 1, 1
        if dim != NONE:
            try:
                granule, count = _granule(tensor, dim, shape, accesses, ranges)
            except LayoutError:
                gather = gather_of(boxes_of(accesses, dim), shape[dim])
                if gather is None:
                    raise
                granule, count = gather.extent, len(gather.starts)
        granules.append(granule)
        blocks.append(count)
        gathers.append(gather)
    starts, limits = (
        [() if each is None else getattr(each, name) for each in gathers]
        for name in ("starts", "limits")
    )
    leading = tuple(dim for dim in range(len(shape)) if dim not in (row_dim, column_dim))
    return TensorLayout(
        shape,
        format,
        leading,
        row_dim,
        column_dim,
        (granules[0], granules[1]),
        (blocks[0], blocks[1]),
        (starts[0], starts[1]),
        (limits[0], limits[1]),
    )


def boxes_of(accesses: Sequence[Access], dim: int) -> list[Box]:
    """The accesses along a dimension."""
    return [
        Box(
            each.op,
            each.op.dst if each.is_write else each.op.src,
            each.offsets[dim],
            each.extents[dim],
            each.is_write,
            dim,
        )
        for each in accesses
    ]


def _tiled_dims(
    tensor: SSAValue, shape: tuple[int, ...], accesses: Sequence[Access], axes: Axes
) -> tuple[int, int]:
    """The dimensions along tile rows and tile columns."""
    large = [
        dim for dim in range(len(shape)) if any(access.extents[dim] != 1 for access in accesses)
    ]
    if len(large) > 2:
        access = next(a for a in accesses if sum(extent != 1 for extent in a.extents) > 2)
        raise LayoutError(
            access.op,
            f"a box of {len(large)} dimensions is copied, and a block of tiles has 2: copy one "
            "matrix at a time",
            MIXED_AXES,
        )
    found = {ROWS: NONE, COLUMNS: NONE}
    for dim in large:
        axis = axes.axis((tensor, dim))
        if found[axis] != NONE:
            raise LayoutError(
                accesses[0].op,
                f"dimensions {found[axis]} and {dim} of the tensor both run along tile {axis}: "
                "store one of them transposed",
                MIXED_AXES,
            )
        found[axis] = dim
    for axis in (COLUMNS, ROWS):
        # Dimensions of which every access takes one element: the last ones, as long as they fit.
        if found[axis] == NONE:
            found[axis] = _free_dim(tensor, shape, found, axes, axis)
    return found[ROWS], found[COLUMNS]


def _free_dim(
    tensor: SSAValue, shape: tuple[int, ...], found: dict[str, int], axes: Axes, axis: str
) -> int:
    """A dimension that the kernel's buffers put along `axis` although its boxes are 1 wide."""
    for dim in reversed(range(len(shape))):
        if dim not in found.values() and axes.find((tensor, dim)) == axis:
            return dim
    return NONE


def _granule(
    tensor: SSAValue,
    dim: int,
    shape: tuple[int, ...],
    accesses: Sequence[Access],
    ranges: IndexRanges,
) -> tuple[int, int]:
    """The granule of a dimension and how many there are."""
    granule, reach = 0, 1
    for access in accesses:
        offset = ranges.poly(access.offsets[dim])
        highest = ranges.range(access.offsets[dim], access.op).hi
        lowest = ranges.range(access.offsets[dim], access.op).lo
        if lowest is not None and -_FAR < lowest < 0:
            raise LayoutError(
                access.op,
                f"the offset along dimension {dim} is negative, down to {lowest}: tensors have no "
                "tiles before their first; put the copy under a condition such as `if bx > 0`",
                UNBOUNDED,
            )
        if highest is None or lowest is None or lowest < 0 or highest >= _FAR:
            raise LayoutError(
                access.op,
                f"the offset along dimension {dim} has no known bounds: use an index that "
                "depends on block and loop indices only",
                UNBOUNDED,
            )
        granule = gcd(granule, access.extents[dim], offset.content)
        reach = max(reach, highest + access.extents[dim])
    if granule % TILE == 0:
        granule = TILE
    else:
        _check_granule(dim, granule, accesses, ranges)
    return granule, -(-max(reach, shape[dim]) // granule)


def _check_granule(dim: int, granule: int, accesses: Sequence[Access], ranges: IndexRanges) -> None:
    """Blocks smaller than a tile are padded individually: every access has to be one of them."""
    for access in accesses:
        if access.extents[dim] != granule:
            offset = re.sub(r"\.\d+", "", str(ranges.poly(access.offsets[dim])))
            raise LayoutError(
                access.op,
                f"{access.extents[dim]} elements from {offset} on along dimension {dim} are not "
                f"whole tiles: offsets and sizes have the common divisor {granule}; use block "
                f"sizes that are multiples of {TILE}",
                MISALIGNED,
            )
