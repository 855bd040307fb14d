"""The grid on which a lowest plan can be found, and the blocks counted in its steps.

In a plan where nothing can be lowered, every block is at 0, at a fixed offset, or at the next
aligned offset after the end of another. If all sizes (and fixed offsets, and distances of `Inside`)
are multiples of a step, then so are these offsets, as long as rounding up to an alignment does not
leave the grid: the alignment divides the step, or the step divides the alignment. Counting in steps
makes integers small and leaves no heights to try between the possible ones::

    sizes 32768, 8192     alignments 128, 1024      step 8192
    sizes 32768, 8        alignments 1024, 16       step 8
    sizes 12, 24          alignments 3, 8           step 1: 9 is a multiple of 3 next to 8
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tilewright.memory.planner.problem import Block, Inside, Relation


@dataclass(frozen=True)
class Grid:
    """Blocks and relations of one space in steps of `step` units."""

    step: int
    blocks: tuple[Block, ...]
    relations: tuple[Relation, ...]


def grid_of(blocks: Sequence[Block], relations: Sequence[Relation]) -> Grid:
    """A space on its grid; nothing is rounded."""
    step = step_of(blocks, relations)
    return Grid(
        step,
        tuple(_counted(block, step) for block in blocks),
        tuple(_relation(relation, step) for relation in relations),
    )


def step_of(blocks: Sequence[Block], relations: Sequence[Relation]) -> int:
    """The largest step known to lose nothing."""
    sizes = [block.size for block in blocks]
    fixed = [block.fixed or 0 for block in blocks]
    distances = [r.offset or 0 for r in relations if isinstance(r, Inside)]
    step = gcd(*sizes, *fixed, *distances) or 1
    aligns = sorted({block.align for block in blocks}, reverse=True)
    while leaving := [align for align in aligns if step % align and align % step]:
        step = gcd(step, leaving[0])
    return step


def _counted(block: Block, step: int) -> Block:
    return replace(
        block,
        size=block.size // step,
        align=block.align // gcd(block.align, step),
        fixed=None if block.fixed is None else block.fixed // step,
    )


def _relation(relation: Relation, step: int) -> Relation:
    if isinstance(relation, Inside) and relation.offset is not None:
        return replace(relation, offset=relation.offset // step)
    return relation
