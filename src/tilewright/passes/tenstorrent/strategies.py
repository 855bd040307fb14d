"""How a GEMM accumulates over K: sub-blocks of DST and where partial sums are stored.

    whole      the block fits DST: one section for the whole K loop
    resident   the panels of A and B for all of K fit L1: sub-block after sub-block, all of K each
    spill      one section per K step and sub-block, partial sums in a circular buffer

A sub-block of h x w tiles divides the block, as large as DST allows; of equal sizes the one that
reads the fewest operand tiles (1/h + 1/w), then the widest.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

WHOLE, RESIDENT, SPILL = "whole", "resident", "spill"


@dataclass(frozen=True)
class KLoopPlan:
    """How one K loop is executed."""

    strategy: str
    subblock: tuple[int, int]
    steps: int
    """Iterations of the loop; 0 if that is a run-time value."""


def subblock(rows: int, columns: int, slots: int) -> tuple[int, int]:
    """The sub-block of a block of tiles for so many slots of DST."""
    candidates = [
        (h, w)
        for h in range(1, rows + 1)
        for w in range(1, columns + 1)
        if rows % h == 0 and columns % w == 0 and h * w <= slots
    ]
    return max(candidates, key=lambda each: (each[0] * each[1], -_reads(*each), each[1]))


def _reads(height: int, width: int) -> Fraction:
    return Fraction(1, height) + Fraction(1, width)


def k_loop_plan(
    tiles: tuple[int, int, int],
    steps: int,
    slots: int,
    panel_pages: int,
    given: tuple[int, int] | None = None,
) -> KLoopPlan:
    """The plan of a K loop; `panel_pages` is how many pages the panels may take.

    `given` is the sub-block that the user has set.

    Raises:
        ValueError: if that does not divide the block, or does not fit DST.
    """
    rows, columns, depth = tiles
    if given is not None and (rows % given[0] or columns % given[1] or given[0] * given[1] > slots):
        raise ValueError(
            f"sub-blocks of {given[0]} x {given[1]} tiles: the block has {rows} x {columns} tiles "
            f"and DST {slots}; use divisors of the block with at most {slots} tiles"
        )
    chosen = given or subblock(rows, columns, slots)
    if chosen == (rows, columns):
        return KLoopPlan(WHOLE, chosen, steps)
    if steps and (rows + columns) * depth * steps <= panel_pages:
        return KLoopPlan(RESIDENT, chosen, steps)
    return KLoopPlan(SPILL, chosen, steps)
