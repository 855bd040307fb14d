"""The device functions, by name."""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.targets.cuda.header.barriers import BARRIERS
from tilewright.targets.cuda.header.copies import COPIES, TILES
from tilewright.targets.cuda.header.exchange import ATOMICS, EXCHANGE
from tilewright.targets.cuda.header.function import Function
from tilewright.targets.cuda.header.matrices import PRODUCTS
from tilewright.targets.cuda.header.numbers import CONVERSIONS, NUMBERS, TYPES

FUNCTIONS: Mapping[str, Function] = {
    **TYPES,
    **NUMBERS,
    **CONVERSIONS,
    **BARRIERS,
    **COPIES,
    **TILES,
    **PRODUCTS,
    **EXCHANGE,
    **ATOMICS,
}
