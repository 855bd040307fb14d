"""Tile-level IR as readable NumPy code, run block by block with every access checked.

`compile_tile_module` makes a `TileKernel`; `TileKernel.launch` runs it.
"""

from __future__ import annotations

from tilewright.targets.numpy.tile.api import TileFault, TileOptions, TileReport
from tilewright.targets.numpy.tile.kernel import TileKernel, TileParameter, compile_tile_module

__all__ = [
    "TileFault",
    "TileKernel",
    "TileOptions",
    "TileParameter",
    "TileReport",
    "compile_tile_module",
]
