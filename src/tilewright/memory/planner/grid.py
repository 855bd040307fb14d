"""The grid all offsets of a space lie on, and the blocks counted in its steps.

Every offset is a multiple of the greatest common divisor of all alignments, the *granule*. Nobody
can use what is left of a block's last granule, so blocks take whole granules and the height of a
space is counted in whole granules too: two plans whose tops differ by less are equally good.

A lowest plan puts every block at 0 or on top of another one, so when all sizes are multiples of
something larger, its offsets are as well. Counting in such steps makes numbers small and leaves no
heights between the possible ones::

    sizes 32768, 8192, alignments 128, 1024       granule 128, step 8192
    sizes 32768, 8, alignments 1024, 16           granule 16, step 16
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

from tilewright.memory.planner.bound import rounded_up
from tilewright.memory.planner.problem import Block, Inside, Relation


def granule(blocks: Sequence[Block]) -> int:
    """What all alignments have in common."""
    return gcd(*(block.align for block in blocks)) or 1


@dataclass(frozen=True)
class Grid:
    """Blocks and relations of one space in steps of `step` units."""

    step: int
    blocks: tuple[Block, ...]
    relations: tuple[Relation, ...]
    rooms: tuple[int, ...]
    """By relation, how far a child can be from the start of its parent; 0 for other relations."""


def grid_of(blocks: Sequence[Block], relations: Sequence[Relation]) -> Grid | None:
    """A space on its grid. None where a distance asked for is not on the grid."""
    size = granule(blocks)
    whole = [replace(block, size=rounded_up(block.size, size)) for block in blocks]
    step = _step(whole, relations)
    if any(isinstance(r, Inside) and (r.offset or 0) % step for r in relations):
        return None
    return Grid(
        step,
        tuple(_counted(block, step) for block in whole),
        tuple(_relation(relation, step) for relation in relations),
        tuple(_room(relation, blocks, step) for relation in relations),
    )


def _step(blocks: Sequence[Block], relations: Sequence[Relation]) -> int:
    sizes = gcd(*(block.size for block in blocks), *(block.fixed or 0 for block in blocks))
    if not sizes or any(isinstance(relation, Inside) for relation in relations):
        # Children end where their parents do, so sizes do not tell which offsets matter.
        return granule(blocks)
    return gcd(sizes, *(block.align for block in blocks if sizes % block.align))


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


def _room(relation: Relation, blocks: Sequence[Block], step: int) -> int:
    if not isinstance(relation, Inside):
        return 0
    sizes = {block.id: block.size for block in blocks}
    return (sizes[relation.parent] - sizes[relation.child]) // step
