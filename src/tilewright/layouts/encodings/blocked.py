"""Threads laid over a tensor in nested tiles: registers, then lanes, then warps.

Blocked(size_per_thread=(1, 4), threads_per_warp=(8, 4), warps_per_cta=(4, 1), order=(1, 0))

thread 0 holds (0, 0..3), thread 1 (0, 4..7), …, thread 4 (1, 0..3); warp 1 starts at row 8
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from tilewright.layouts.encodings.tiling import (
    CgaBases,
    Shape,
    counting,
    shape_per_cta,
    spread,
)
from tilewright.layouts.linear import LANE, REGISTER, WARP, LinearLayout

WARP_LANES = 32


class Encoding(Protocol):
    """Anything that maps a tensor shape to a linear layout."""

    @property
    def cga(self) -> CgaBases: ...

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        """The layout for a tensor of this shape; sizes are powers of two."""
        ...


@dataclass(frozen=True)
class Blocked:
    """``#ttg.blocked``."""

    size_per_thread: Shape
    threads_per_warp: Shape
    warps_per_cta: Shape
    order: Shape
    cga: CgaBases = ()

    def __post_init__(self) -> None:
        ranks = {
            len(each)
            for each in (
                self.size_per_thread,
                self.threads_per_warp,
                self.warps_per_cta,
                self.order,
                *self.cga,
            )
        }
        if len(ranks) != 1 or sorted(self.order) != list(range(len(self.order))):
            raise ValueError(
                f"{self}: expected one value per dimension, and an order of the dimensions"
            )

    def tile(self) -> LinearLayout:
        """What one CTA holds before any repetition."""
        return (
            counting(REGISTER, self.size_per_thread, self.order)
            * counting(LANE, self.threads_per_warp, self.order)
            * counting(WARP, self.warps_per_cta, self.order)
        )

    def to_linear(self, shape: Sequence[int]) -> LinearLayout:
        return self.with_copies(shape).without_copies(REGISTER)

    def with_copies(self, shape: Sequence[int]) -> LinearLayout:
        """The layout as Triton up to 3.8 has it, with every register of the tile."""
        return spread(self.tile(), shape, self.cga, REGISTER)


def blocked_for(
    shape: Sequence[int],
    size_per_thread: Sequence[int],
    order: Sequence[int],
    num_warps: int,
    cga: CgaBases = (),
    warp_size: int = WARP_LANES,
) -> Blocked:
    """Threads distributed along `order`, as many on each dimension as it has work for.

    The last dimension of the order takes all that are left, needed or not.
    """
    part = shape_per_cta(shape, cga)
    lanes = [1] * len(part)
    warps = [1] * len(part)
    free_lanes, free_warps = warp_size, num_warps
    for axis in order[:-1]:
        needed = max(1, part[axis] // size_per_thread[axis])
        threads = min(free_lanes * free_warps, needed)
        lanes[axis] = min(threads, free_lanes)
        warps[axis] = max(1, min(threads // lanes[axis], free_warps))
        free_lanes //= lanes[axis]
        free_warps //= warps[axis]
    lanes[order[-1]], warps[order[-1]] = free_lanes, free_warps
    return Blocked(tuple(size_per_thread), tuple(lanes), tuple(warps), tuple(order), cga)
