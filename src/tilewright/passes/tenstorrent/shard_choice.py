"""Shards of a tensor that suit the cores which work on it.

A core works *in place* if all tiles that it accesses are in its own shard. Shards are as small as
that allows: the smallest number of rows (height), columns (width) or both (block) such that every
core's tiles are in one shard and no two cores have the same. Where there is none, tiles are
distributed evenly and read over the NoC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.passes.tenstorrent.shard_accesses import TileBox

_Core = tuple[int, int]
Boxes = Mapping[_Core, TileBox]


def all_cores(grid: tuple[int, int]) -> list[_Core]:
    """The cores of a grid of columns and rows, row by row."""
    return [(x, y) for y in range(grid[1]) for x in range(grid[0])]


def is_in_place(shards: ShardPlan, boxes: Boxes) -> bool:
    """Whether all tiles of every core are in its own shard."""
    return all(
        {
            shards.owner(row, column)
            for row in (box.top, box.bottom - 1)
            for column in (box.left, box.right - 1)
        }
        == {core}
        for core, box in boxes.items()
    )


def shards_for(
    strategy: str, tensor: tuple[int, int], boxes: Boxes, grid: tuple[int, int]
) -> ShardPlan | None:
    """The smallest shards in which every core works in place; None if there are none."""
    rows, columns = tensor
    heights = [rows]
    widths = [columns]
    if strategy != "width":
        heights = _bands([(box.top, box.bottom) for box in boxes.values()], rows)
    if strategy != "height":
        widths = _bands([(box.left, box.right) for box in boxes.values()], columns)
    shapes = [(high, wide) for high in heights for wide in widths]
    for shape in sorted(shapes, key=lambda each: (each[0] * each[1], each)):
        found = _owned(tensor, shape, boxes, grid)
        if found is not None:
            return found
    return None


def _bands(intervals: Sequence[tuple[int, int]], extent: int) -> list[int]:
    """The sizes of parts such that every interval is in one part."""
    smallest = max(last - first for first, last in intervals)
    return [
        size
        for size in range(smallest, extent + 1)
        if all(first // size == (last - 1) // size for first, last in intervals)
    ]


def _owned(
    tensor: tuple[int, int], shape: tuple[int, int], boxes: Boxes, grid: tuple[int, int]
) -> ShardPlan | None:
    """Shards of a shape on the cores that access them, the others on spare cores."""
    down, across = (-(-extent // size) for extent, size in zip(tensor, shape, strict=True))
    owners: dict[int, _Core] = {}
    for core, box in boxes.items():
        shard = box.top // shape[0] * across + box.left // shape[1]
        if shard in owners:
            return None
        owners[shard] = core
    spare = [core for core in all_cores(grid) if core not in boxes]
    if down * across - len(owners) > len(spare):
        return None
    free = iter(spare)
    cores = tuple(owners[n] if n in owners else next(free) for n in range(down * across))
    return ShardPlan(tensor, shape, cores)


def even_shards(strategy: str, tensor: tuple[int, int], grid: tuple[int, int]) -> ShardPlan:
    """Tiles distributed evenly over the cores of the grid."""
    rows, columns = tensor
    count = grid[0] * grid[1]
    if strategy == "height":
        shape = -(-rows // min(rows, count)), columns
    elif strategy == "width":
        shape = rows, -(-columns // min(columns, count))
    else:
        shape = -(-rows // min(rows, grid[1])), -(-columns // min(columns, grid[0]))
    down, across = -(-rows // shape[0]), -(-columns // shape[1])
    if strategy == "block":
        cores = tuple((x, y) for y in range(down) for x in range(across))
    else:
        cores = tuple(all_cores(grid)[: down * across])
    return ShardPlan(tensor, shape, cores)
