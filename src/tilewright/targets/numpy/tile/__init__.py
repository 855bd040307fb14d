"""Tile-level IR as readable NumPy code, run block by block with every access checked.

`compile_tile_module` makes a `TileKernel`; `TileKernel.launch` runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright._exports import load_on_use

if TYPE_CHECKING:
    from tilewright.targets.numpy.tile.api import TileFault as TileFault
    from tilewright.targets.numpy.tile.api import TileOptions as TileOptions
    from tilewright.targets.numpy.tile.api import TileReport as TileReport
    from tilewright.targets.numpy.tile.kernel import TileKernel as TileKernel
    from tilewright.targets.numpy.tile.kernel import TileParameter as TileParameter
    from tilewright.targets.numpy.tile.kernel import compile_tile_module as compile_tile_module
else:
    load_on_use(__name__)
