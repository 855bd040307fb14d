"""The checker finds every mutation that breaks a promise, and complains about nothing else.

A mutation changes one number of a good placement: an offset, a block or stride, the length of the
buffers, the extent of the backing, its residue, or the capacity. Whether that broke anything is
decided by the oracle, which works on sets of points.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from tests.memory.oracle import Promises, broken
from tests.memory.random_trees import seeded_tree
from tests.sampling import every
from tilewright.memory import Level, Memory, Mode, Options, StoragePlan, Tree, case_of, region_of
from tilewright.memory.checker import Case, PlacementViolation, Span, check
from tilewright.memory.placement import Placement
from tilewright.memory.plan import try_plan

SEEDS = range(300)
WHOLE = range(700)


@dataclass
class Subject:
    """A placement on its way to a mutant: everything the checker and the oracle get to see."""

    tree: Tree
    plan: StoragePlan
    starts: dict[str, list[tuple[int, int]]]
    promises: Promises

    @property
    def case(self) -> Case:
        case = case_of(self.plan, self.promises.capacity)
        claims = tuple(
            replace(
                claim,
                spans=tuple(
                    Span(index, start, length)
                    for index, (start, length) in enumerate(self.starts[claim.name])
                ),
            )
            for claim in case.claims
        )
        backing = replace(case.backing, extent=self.promises.extent, residue=self.promises.residue)
        return replace(case, backing=backing, claims=claims)


def subject(seed: int) -> Subject:
    memory = Memory.SMEM if seed % 2 else Memory.TMEM
    tree = seeded_tree(seed, memory, max_leaves=6)
    plan = try_plan(region_of("r", tree), Options(mode=Mode.EXPLICIT)).unwrap()
    starts = {p.buffer.name: places(p) for p in plan.placements}
    backing = plan.backing
    promises = Promises(
        tree,
        plan.trees[0].stride,
        backing.allocated,
        backing.alignment,
        backing.residue,
        capacity=backing.allocated,
    )
    return Subject(tree, plan, starts, promises)


def places(placement: Placement, length: int | None = None) -> list[tuple[int, int]]:
    return [(start, length or placement.buffer.unit) for start in placement.addresses]


def distance(rng: random.Random, subject: Subject) -> int:
    """Small steps, alignments and strides, both ways."""
    unit = rng.choice(subject.plan.placements).buffer.unit
    options = [1, 2, 4, 16, 64, 128, 256, unit, subject.promises.stride]
    return rng.choice(options) * rng.choice([1, -1])


def shift_offset(rng: random.Random, subject: Subject) -> None:
    placement = rng.choice(subject.plan.placements)
    moved = replace(placement, offset=placement.offset + distance(rng, subject))
    subject.starts[placement.buffer.name] = places(moved)


def change_block(rng: random.Random, subject: Subject) -> None:
    placement = rng.choice(subject.plan.placements)
    changed = [*placement.levels]
    number = rng.randrange(len(changed))
    changed[number] = Level(changed[number].radix, changed[number].block + distance(rng, subject))
    subject.starts[placement.buffer.name] = places(replace(placement, levels=tuple(changed)))


def change_length(rng: random.Random, subject: Subject) -> None:
    placement = rng.choice(subject.plan.placements)
    length = max(1, placement.buffer.unit + distance(rng, subject))
    subject.starts[placement.buffer.name] = places(placement, length)


def change_extent(rng: random.Random, subject: Subject) -> None:
    extent = max(1, subject.promises.extent + distance(rng, subject))
    subject.promises = replace(subject.promises, extent=extent)


def change_residue(rng: random.Random, subject: Subject) -> None:
    residue = subject.promises.residue + abs(distance(rng, subject))
    subject.promises = replace(subject.promises, residue=residue)


def change_capacity(rng: random.Random, subject: Subject) -> None:
    capacity = max(0, subject.promises.extent + distance(rng, subject))
    subject.promises = replace(subject.promises, capacity=capacity)


MUTATIONS: list[Callable[[random.Random, Subject], None]] = [
    shift_offset,
    change_block,
    change_length,
    change_extent,
    change_residue,
    change_capacity,
]

FAULTS = {
    "capacity": {PlacementViolation.OVER_CAPACITY},
    "negative": {PlacementViolation.OUTSIDE_BACKING},
    "backing": {PlacementViolation.OUTSIDE_BACKING},
    "window": {PlacementViolation.OUTSIDE_WINDOW},
    "alignment": {PlacementViolation.MISALIGNED},
    "self": {PlacementViolation.SELF_OVERLAP},
    "distinct": {PlacementViolation.DISTINCT_OVERLAP},
    "shared": {PlacementViolation.INDEX_OVERLAP},
}


def test_nothing_is_reported_without_a_mutation():
    for seed in WHOLE:
        found = subject(seed)
        assert check(found.case) == ()
        assert broken(found.promises, found.starts) == []


@pytest.mark.parametrize("seeds", every(2, [SEEDS, WHOLE]), ids=len)
def test_every_mutation_that_breaks_a_promise_is_reported(seeds: range):
    counts: Counter[str] = Counter()
    for seed in seeds:
        for mutate in MUTATIONS:
            mutant = subject(seed)
            mutate(random.Random(f"{seed} {mutate.__name__}"), mutant)
            expected = set(broken(mutant.promises, mutant.starts))
            found = {violation.fault for violation in check(mutant.case)}
            # Every rule the oracle sees broken is reported as such, and no other one is.
            wanted = {fault for rule in expected for fault in FAULTS[rule]}
            if "negative" in expected:
                assert PlacementViolation.OUTSIDE_BACKING in found, seed
                counts["negative"] += 1
                continue
            assert found == wanted, (seed, mutate.__name__, mutant.tree)
            counts[mutate.__name__ if expected else "harmless"] += 1
            counts.update(expected)
    caught = sum(counts[mutate.__name__] for mutate in MUTATIONS)
    assert caught >= len(seeds)
    assert counts["harmless"] > len(seeds) // 7
    assert all(counts[mutate.__name__] > len(seeds) // 14 for mutate in MUTATIONS), counts
    assert all(counts[rule] > len(seeds) // 35 for rule in FAULTS), counts


@pytest.mark.parametrize("seed", [3, 8])
def test_a_mutant_differs_from_its_original(seed: int):
    for mutate in MUTATIONS:
        original, mutant = subject(seed), subject(seed)
        mutate(random.Random(1), mutant)
        assert (original.starts, original.promises) != (mutant.starts, mutant.promises)
