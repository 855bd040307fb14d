"""How many slots the ring buffers of a loop get: ``num_stages``, or more where that is free.

Copies have to be issued about a microsecond before their data is used. ``num_stages`` small tiles
may be less than what arrives in that time, so a loop gets up to four slots, until they hold
`_BYTES_AHEAD`.

On Hopper `sink-wgmma-waits` keeps the GEMM of one iteration in flight while the next begins, and
releases its slot an iteration later. That takes a slot from the copies in flight: with two slots
none is left, and the producer waits for the tensor cores as they wait for it. So such a loop gets
one slot more, and at least `DEFERRED`. Operands that the consumers write then get two versions
(`deferral`), unless too little would be fetched meanwhile.

More slots are given only where

* shared memory has space for them beside all other buffers of the kernel,
* as many blocks still share a multiprocessor, as far as their registers and the grid let them, and
* the loop has that many iterations.

Loops that share a ring (`families`) get one number of slots: what all of them could have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from tilewright.dialects.tile import KernelOp, StorageAliasSpecOp
from tilewright.ir.traversal import walk
from tilewright.passes.tile.warps.candidates import Candidate
from tilewright.passes.tile.warps.capacity import Capacity, arch_of, bytes_of
from tilewright.passes.tile.warps.deferral import VERSIONS, Deferral, deferral_of
from tilewright.passes.tile.warps.families import Family, families_of

DEFERRED = 4
"""Slots with which deferring a GEMM pays in any case: three copies are still in flight."""
_HOPPER = 90
_BYTES_AHEAD = 64 << 10
"""An H200 reads 36 KB for each multiprocessor in a microsecond, and from the L2 cache more."""


@dataclass(frozen=True)
class LoopSlots:
    """The ring buffers of one loop."""

    count: int
    """Slots of what the producer copies."""
    rotating: tuple[SSAValue, ...] = ()
    """What the consumers write, in versions of its own."""


def slots_of(candidates: Sequence[Candidate], kernel: KernelOp, producers: int) -> list[LoopSlots]:
    """The slots of each loop."""
    families = families_of(candidates)
    found = [LoopSlots(max(m.loop.stages for m in family.members)) for family in families]
    if arch_of(kernel) != _HOPPER or any(isinstance(op, StorageAliasSpecOp) for op in walk(kernel)):
        return found
    for index, (each, family) in enumerate(zip(candidates, families, strict=True)):
        if each is not family.members[0]:
            continue
        if found[index].count < 2 or not each.groups:  # without a group nothing reads the copies
            continue
        versions = _versions(candidates, found)
        trips = _trip_count(family)
        for proposed in _proposed(family, found[index].count):
            # What is written after the loop may reuse the bytes of a rotating buffer.
            during = family.members[-1].loop if proposed.rotating else None
            capacity = Capacity.of(kernel, versions, producers, during)
            more = (proposed.count - found[index].count) * _bytes_of_slot(each)
            more += sum(map(bytes_of, proposed.rotating))
            if (trips is None or proposed.count <= trips) and capacity.has(more):
                found = [
                    proposed if its is family else given
                    for its, given in zip(families, found, strict=True)
                ]
                break
    return found


def _versions(candidates: Sequence[Candidate], slots: Sequence[LoopSlots]) -> dict[SSAValue, int]:
    versions: dict[SSAValue, int] = {}
    for each, given in zip(candidates, slots, strict=True):
        versions.update({b: given.count for group in each.groups for b in group.buffers})
        versions.update(dict.fromkeys(given.rotating, VERSIONS))
    return versions


def _proposed(family: Family, stages: int) -> Iterator[LoopSlots]:
    """Better than `stages` for every loop of the family, the best first."""
    first, *others = (list(_proposed_for(each, stages)) for each in family.members)
    return (each for each in first if all(each in other for other in others))


def _proposed_for(candidate: Candidate, stages: int) -> Iterator[LoopSlots]:
    deferral = deferral_of(candidate)
    if deferral is not None:
        counts = dict.fromkeys((max(stages + 1, DEFERRED), max(stages, DEFERRED), stages))
        for count in counts:
            if count > stages or (deferral.rotating and _is_enough(candidate, deferral, count)):
                yield LoopSlots(count, deferral.rotating)
    for count in range(min(DEFERRED, _BYTES_AHEAD // _bytes_of_slot(candidate)), stages, -1):
        yield LoopSlots(count)


def _is_enough(candidate: Candidate, deferral: Deferral, slots: int) -> bool:
    """Whether what is to be fetched while the GEMM is in flight has slots: others than that of the
    GEMM, or that one, too, where nothing but the GEMM waits for its copies and the slot is released
    before that wait."""
    ahead = sum(map(bytes_of, deferral.copied)) * (slots - 1)
    waiting = [each for each in candidate.groups if set(each.buffers) & set(deferral.copied)]
    is_apart = all(each.first_user is deferral.gemm for each in waiting)
    return slots >= DEFERRED or ahead >= _BYTES_AHEAD or is_apart


def _bytes_of_slot(candidate: Candidate) -> int:
    return sum(bytes_of(buffer) for group in candidate.groups for buffer in group.buffers)


def _trip_count(family: Family) -> int | None:
    """Iterations of all loops together; None if that is unknown."""
    total = 0
    for each in family.members:
        lower, upper = each.loop.lower, each.loop.upper
        if not isinstance(lower, int) or not isinstance(upper, int):
            return None
        total += max(upper - lower, 0)
    return total
