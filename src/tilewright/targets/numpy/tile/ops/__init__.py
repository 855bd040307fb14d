"""One rule for each op of the tile level; scalar arithmetic is shared with the pointer level."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.numpy.emitter import Rule
from tilewright.targets.numpy.ops import arith, math
from tilewright.targets.numpy.ops.arith.casts import CXX_RULES
from tilewright.targets.numpy.tile.ops import (
    atomics,
    combiners,
    kernel,
    loops,
    memory,
    others,
    sync,
    tensor_core,
    tiles,
)

RULES: Mapping[str, Rule] = {
    **arith.RULES,
    **CXX_RULES,
    **math.RULES,
    **memory.RULES,
    **loops.RULES,
    **tiles.RULES,
    **combiners.RULES,
    **atomics.RULES,
    **others.RULES,
    **sync.RULES,
    **kernel.RULES,
    **tensor_core.RULES,
}
