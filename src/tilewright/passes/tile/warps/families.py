"""Pipelined loops that run sequentially in the same buffers share one ring.

    for t in 0..n { A -> As; gemm As, C }      slot  t mod S
    for t in 0..m { A -> As; gemm As, C }      slot  (n + t) mod S

A cell counts the iterations of all loops of such a family, so that slots and parities go on where
the loop before ended: the producer runs ahead into the next loop as it does into the next
iteration, and the loops take the memory of one.

Loops are of one family if their copies fill the same buffers in the same groups. Loops in
other buffers have rings of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.passes.tile.warps.candidates import Candidate


@dataclass(frozen=True)
class Family:
    """Loops that share a ring, in the order in which they run."""

    members: tuple[Candidate, ...]

    @property
    def counts_in_cell(self) -> bool:
        """Whether there are iterations that the loop counter does not count."""
        return len(self.members) > 1 or any(each.is_entered_again for each in self.members)


def families_of(candidates: Sequence[Candidate]) -> list[Family]:
    """The family of each candidate, which are given in program order."""
    found: dict[object, list[Candidate]] = {}
    for index, each in enumerate(candidates):
        buffers = tuple(group.buffers for group in each.groups)
        found.setdefault(buffers or index, []).append(each)
    of = {each.loop: Family(tuple(members)) for members in found.values() for each in members}
    return [of[each.loop] for each in candidates]
