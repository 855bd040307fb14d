"""How a tensor is cut into shards that cores hold in L1, one a core.

    height   whole rows of tiles          4 x 4 tiles, shards of 1 x 4 on 4 cores
    width    whole columns of tiles       4 x 4 tiles, shards of 4 x 1 on 4 cores
    block    rectangles                   4 x 4 tiles, shards of 2 x 2 on 4 cores

A tensor is a matrix of tiles here, leading dimensions folded into the rows. Shard i is the i-th
rectangle, row by row, and is on the i-th core of the list; its pages are in row-major order. Shards
at the end of a tensor that the shape does not divide have pages that no tile is at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tilewright.dialects.tensix.json_attr import Json

STRATEGIES = ("height", "width", "block")
DRAM_LAYOUT = "dram_interleaved"
WORDS_BEFORE_CORES = 8
"""Words of a sharded accessor before the coordinates: flags, page size, rank, cores, two shapes."""


def layout_name(strategy: str) -> str:
    """The name of a layout in the plan: ``l1_height_sharded``."""
    return f"l1_{strategy}_sharded"


@dataclass(frozen=True)
class ShardPlan:
    """The shards of one tensor, in tiles."""

    tensor: tuple[int, int]
    """Tile rows, leading dimensions included, and tile columns."""
    shape: tuple[int, int]
    """Tile rows and columns of a shard."""
    cores: tuple[tuple[int, int], ...]
    """The core of each shard, as logical coordinates."""

    @property
    def grid(self) -> tuple[int, int]:
        """How many shards there are down and across."""
        (rows, columns), (high, wide) = self.tensor, self.shape
        return -(-rows // high), -(-columns // wide)

    @property
    def core_pages(self) -> int:
        """Pages of a core, also those that no tile is at."""
        return self.shape[0] * self.shape[1]

    @property
    def accessor_words(self) -> int:
        """The compile-time words of an accessor."""
        return WORDS_BEFORE_CORES + -(-len(self.cores) // 2)

    def owner(self, row: int, column: int) -> tuple[int, int]:
        """The core that holds a tile."""
        (high, wide), (_, across) = self.shape, self.grid
        return self.cores[row // high * across + column // wide]

    def to_data(self) -> dict[str, Json]:
        """The shards as plain values."""
        return {
            "tensor": list(self.tensor),
            "shape": list(self.shape),
            "cores": [list(core) for core in self.cores],
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ShardPlan:
        """The shards that `to_data` stored."""
        rows, columns = data["tensor"]
        high, wide = data["shape"]
        return cls((rows, columns), (high, wide), tuple((x, y) for x, y in data["cores"]))
