"""The device functions, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.arithmetic import ARITHMETIC, CONVERSIONS, TYPES
from tilewright.targets.cuda.header.atomics import ATOMICS
from tilewright.targets.cuda.header.barriers import BARRIERS
from tilewright.targets.cuda.header.copies import COPIES, TILES
from tilewright.targets.cuda.header.exchange import EXCHANGE
from tilewright.targets.cuda.header.function import Function
from tilewright.targets.cuda.header.hints import ACCESSES, INDICES, POLICIES
from tilewright.targets.cuda.header.matrices import MMA_SUPPORT
from tilewright.targets.cuda.header.tensor_memory import TENSOR_MEMORY

FUNCTIONS: Mapping[str, Function] = {
    **TYPES,
    **ARITHMETIC,
    **CONVERSIONS,
    **BARRIERS,
    **COPIES,
    **TILES,
    **POLICIES,
    **ACCESSES,
    **INDICES,
    **MMA_SUPPORT,
    **TENSOR_MEMORY,
    **EXCHANGE,
    **ATOMICS,
}
