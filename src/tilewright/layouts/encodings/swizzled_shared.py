"""Shared memory in which groups of columns are permuted from row to row.

With vectors of `vec` elements, vector `c` of row `r` is stored where vector ``c ^ (r // per_phase %
max_phase)`` would be without the swizzle, so that a column read by consecutive lanes comes from
different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.bits import is_power_of_two, log2
from tilewright.layouts.encodings.tiling import CgaBases, Shape, shape_per_cta, sized, spread
from tilewright.layouts.linear import OFFSET, LinearLayout


@dataclass(frozen=True)
class SwizzledShared:
    """``#ttg.swizzled_shared``."""

    vec: int
    per_phase: int
    max_phase: int
    order: Shape
    cga: CgaBases = ()

    def __post_init__(self) -> None:
        for value in (self.vec, self.per_phase, self.max_phase):
            if not is_power_of_two(value):
                raise ValueError(f"{self}: swizzle parameters must be powers of two")

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        part = shape_per_cta(shape, self.cga)
        rank = len(part)
        bases: list[tuple[int, ...]] = []
        for position, axis in enumerate(self.order):
            for bit in range(log2(part[axis])):
                basis = [0] * rank
                basis[axis] = 1 << bit
                if position == 1:
                    phase = (1 << bit) // self.per_phase % self.max_phase
                    basis[self.order[0]] = self.vec * phase % part[self.order[0]]
                bases.append(tuple(basis))
        tile = LinearLayout.of({OFFSET: bases}, sized(part))
        return spread(tile, shape, self.cga, OFFSET)
