"""How far elements travel between layouts, against looking at every owner."""

from __future__ import annotations

import random

import pytest

from tests.oracles.layouts.block_fragments import mma_accumulator, wgmma_accumulator
from tests.oracles.layouts.conversion import Crossing, crossing, fragment_crossing
from tilewright.layouts.encodings import Blocked, DotOperand, NvidiaMma, Slice
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.linear import BLOCK, LANE, WARP, LinearLayout


def by_looking(source: LinearLayout, target: LinearLayout) -> Crossing:
    owners: dict[tuple[int, ...], set[tuple[int, int, int]]] = {}
    for inputs, point in source.points():
        owner = inputs.get(BLOCK, 0), inputs[WARP], inputs[LANE]
        owners.setdefault(point, set()).add(owner)
    worst = Crossing.NOTHING
    for inputs, point in target.points():
        block, warp, lane = inputs.get(BLOCK, 0), inputs[WARP], inputs[LANE]
        held = owners[point]
        if (block, warp, lane) in held:
            found = Crossing.NOTHING
        elif any((b, w) == (block, warp) for b, w, _ in held):
            found = Crossing.LANES
        elif any(b == block for b, _, _ in held):
            found = Crossing.WARPS
        else:
            found = Crossing.BLOCKS
        worst = max(worst, found)
    return worst


def some_layout(rng: random.Random, cluster: bool) -> LinearLayout:
    kind = "cluster" if cluster else rng.choice(("blocked", "blocked", "mma", "operand"))
    if kind == "mma":
        return NvidiaMma((2, 0), rng.choice([(4, 1), (2, 2)]), (16, 8)).to_linear([32, 32])
    if kind == "operand":
        parent = NvidiaMma((2, 0), rng.choice([(4, 1), (2, 2)]), (16, 8))
        return DotOperand(rng.randrange(2), parent, 2).to_linear([32, 32])
    cga = rng.choice([((1, 0),), ((0, 1),), ((0, 0),)]) if kind == "cluster" else ()
    return Blocked(
        rng.choice([(1, 1), (1, 4), (4, 1), (2, 2)]),
        rng.choice([(8, 4), (4, 8), (32, 1)]),
        rng.choice([(4, 1), (2, 2), (1, 4)]),
        rng.choice([(0, 1), (1, 0)]),
        cga,
    ).to_linear([32, 32])


@pytest.mark.parametrize("seed", range(3))
def test_crossings_by_looking(seed: int):
    rng = random.Random(seed)
    seen: set[Crossing] = set()
    for _ in range(30):
        cluster = rng.random() < 0.3
        source, target = some_layout(rng, cluster), some_layout(rng, cluster)
        found = crossing(source, target)
        assert found == by_looking(source, target), (source, target)
        seen.add(found)
    assert {Crossing.WARPS, Crossing.BLOCKS} <= seen


def test_conversions_that_matter():
    accumulator = NvidiaMma((3, 0), (4, 1), (16, 128, 16))
    operand = DotOperand(0, NvidiaMma((3, 0), (4, 1), (16, 64, 16)), 2)
    shape = [64, 128]
    assert crossing(accumulator.to_linear(shape), operand.to_linear(shape)) == Crossing.NOTHING
    rows = Slice(1, accumulator).to_linear([64])
    assert crossing(rows, Slice(1, operand).to_linear([64])) == Crossing.NOTHING
    bytes_operand = DotOperand(0, NvidiaMma((3, 0), (4, 1), (16, 64, 32)), 4)
    assert crossing(accumulator.to_linear(shape), bytes_operand.to_linear(shape)) == Crossing.LANES
    blocked = Blocked((1, 8), (2, 16), (4, 1), (1, 0)).to_linear(shape)
    assert crossing(accumulator.to_linear(shape), blocked).needs_shared_memory
    with pytest.raises(ValueError, match="different tensors"):
        crossing(rows, blocked)
    fewer = Blocked((1, 8), (2, 16), (2, 1), (1, 0)).to_linear(shape)
    with pytest.raises(ValueError, match="different threads: warp counts to 4 and 2"):
        crossing(blocked, fewer)


def test_fragments_of_any_size():
    whole = wgmma_accumulator((64, 24))
    assert fragment_crossing(whole, whole) == Crossing.NOTHING
    reordered = whole.with_index(lambda i, j: 11 - whole.index(i, j))
    assert fragment_crossing(whole, reordered) == Crossing.NOTHING
    assert fragment_crossing(mma_accumulator((64, 24), (4, 1)), whole) == Crossing.NOTHING
    shifted = Fragment((64, 24), lambda i, j: whole.thread(i, j) ^ 1, whole.index)
    assert fragment_crossing(whole, shifted) == Crossing.LANES
    other = Fragment((64, 24), lambda i, j: whole.thread(i, j) ^ 32, whole.index)
    assert fragment_crossing(whole, other) == Crossing.WARPS
    assert fragment_crossing(whole, other, warp_size=64) == Crossing.LANES
    assert fragment_crossing(Fragment.replicated((64, 24), 128), other) == Crossing.NOTHING
    with pytest.raises(ValueError, match="different tiles"):
        fragment_crossing(whole, wgmma_accumulator((64, 16)))
