"""Offsets below which a block cannot be in any plan up to a limit, because of alignments.

Blocks of a clique that all start at multiples of `step` are `step` apart in multiples, so another
member between them, unless it fits into a padding, costs a whole step or more. Where the limit does
not have that step to spare, the member is above all of them::

    limit 65568     strict members 8 x 8192, aligned to 1024     barrier of 24, aligned to 16
                    the barrier is at 65536 or higher

Without this a search would find out anew for every order of the strict members.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.memory.planner.bound import rounded_up
from tilewright.memory.planner.decompose import SubProblem, next_free


def lowest_offsets(part: SubProblem, limit: int) -> list[int]:
    """For each block the lowest offset it can have in a plan that is no higher than `limit`."""
    lowest = [*part.floors]
    for clique in part.cliques:
        for step in sorted({part.blocks[member].align for member in clique}):
            for member, offset in _on_top(part, clique, step, limit):
                free = next_free(offset, part.blocks[member].align, part.obstacles[member])
                lowest[member] = max(lowest[member], free)
    return lowest


def _on_top(
    part: SubProblem, clique: Sequence[int], step: int, limit: int
) -> Iterator[tuple[int, int]]:
    """Members that must be above those aligned to `step`, and how high that is."""
    total = padding = 0
    others: list[int] = []
    for member in clique:
        block = part.blocks[member]
        if block.align % step:
            others.append(member)
            continue
        total += rounded_up(block.size, step)
        padding = max(padding, rounded_up(block.size, step) - block.size)
    for member in others:
        block = part.blocks[member]
        if block.fixed is None and block.size > padding:
            between = rounded_up(block.size - padding, step)
            if total + between - padding > limit:
                yield member, total - padding
