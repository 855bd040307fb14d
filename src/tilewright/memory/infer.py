"""Implicit regions: overlap inferred from groups alone, and the old form of reusing a buffer.

Implicit overlap (docs/design/storage-alias.md#inferred-overlap): a reuse group states how its
buffers relate, so no separate call is needed. The groups that belong to no other group are the
roots. One root is the tree. Of several, the one with most leaves is placed and the others have to
agree with it.

Legacy reuse (docs/design/storage-alias.md#reuse-of-a-plain-buffer): ``reuse=buffer`` aliases a new
buffer with an existing allocation, both from offset 0. That is a region without a tree. If the
owner is in a region already, the new buffer joins it outside of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.memory.checker import Case, Guarantee, Pair, check
from tilewright.memory.evidence import case_of
from tilewright.memory.phases import Phase
from tilewright.memory.plan import Options, plan_with_fallback
from tilewright.memory.region import StorageRegion
from tilewright.memory.relations import relations
from tilewright.memory.rules import Finding, finding
from tilewright.memory.tree import Group, ReuseKind, groups, leaves, validate
from tilewright.memory.units import Buffer


@dataclass(frozen=True)
class Inference:
    """The region with the tree that was found, and why it may not be used."""

    region: StorageRegion
    findings: tuple[Finding, ...] = ()


def roots(registered: Sequence[Group]) -> tuple[Group, ...]:
    """The groups that are not part of another one, in the order they were made."""
    inner = [group for outer in registered for path, group in groups(outer) if path]
    unique = tuple(dict.fromkeys(registered))
    return tuple(group for group in unique if group not in inner)


def infer_overlap(
    region: StorageRegion, registered: Sequence[Group], options: Options | None = None
) -> Inference:
    """Give a region without overlap definition the one its groups imply.

    An explicit definition wins: then the region comes back as it is.
    """
    found = roots(registered)
    if region.phases or not found:
        return Inference(region)
    # max() takes the first of several maxima, so the earliest group wins a tie.
    main = max(found, key=lambda root: len(leaves(root)))
    chosen = replace(region, phases=(Phase(main),))
    others = [root for root in found if root is not main]
    invalid = tuple(f for root in others for f in _invalid(region, root))
    if invalid or not others:
        return Inference(chosen, invalid)
    # Addresses are what counts here, not how they are made real.
    plan = plan_with_fallback(chosen, options).plan
    if plan is None:
        return Inference(chosen)
    return Inference(chosen, tuple(_contradictions(region, case_of(plan), others)))


def _invalid(region: StorageRegion, root: Group) -> Iterator[Finding]:
    errors = [found for found in validate(root) if found.is_error]
    yield from errors
    if not errors:
        for leaf in leaves(root):
            if leaf.buffer not in region.buffers:
                yield finding("V4", leaf.buffer.name, path=leaf.path)


def _contradictions(
    region: StorageRegion, case: Case, others: Sequence[Group]
) -> Iterator[Finding]:
    """The first guarantee that each of the other roots finds violated."""
    for root in others:
        stated = tuple(_guarantees(root))
        own = {frozenset((pair.first, pair.second)) for pair in stated}
        for violation in check(replace(case, pairs=stated)):
            is_overlap = violation.second_index is not None and violation.second is not None
            if is_overlap and frozenset((violation.first, violation.second)) in own:
                reason = f"{root} does not hold, {violation.text}"
                yield finding("E21", region.name, reason=reason)
                break


def _guarantees(root: Group) -> Iterator[Pair]:
    for relation in relations(root):
        guarantee = Guarantee.DISTINCT if relation.kind is ReuseKind.DISTINCT else Guarantee.SHARED
        first_per, second_per = relation.first_per, relation.second_per
        yield Pair(relation.first, relation.second, guarantee, first_per, second_per)


def legacy_region(owner: Buffer, *newcomers: Buffer) -> StorageRegion:
    """What ``reuse=owner`` means: all from offset 0, none in a tree."""
    return StorageRegion(owner.name, owner.memory, (owner, *newcomers), source=owner.source)


def join_legacy(region: StorageRegion, newcomer: Buffer) -> StorageRegion:
    """``reuse=`` of a buffer that is in `region` already: beside the tree, from offset 0."""
    return replace(region, buffers=(*region.buffers, newcomer))


def deprecation(owner: Buffer, newcomer: Buffer) -> Finding:
    """The warning for one legacy reuse."""
    return finding("W5", newcomer.name, owner=owner.name)
