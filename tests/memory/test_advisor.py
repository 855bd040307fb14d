"""Sharing that is not needed (docs/design/storage-alias.md#unneeded-sharing)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.random_trees import trees
from tests.memory.support import TMEM_CAPACITY, raw, tmem
from tests.sampling import examples
from tilewright.memory import (
    Buffer,
    Memory,
    Mode,
    Options,
    StoragePlan,
    StorageRegion,
    Tree,
    check_plan,
    distinct,
    plain_region,
    plan_region,
    region_of,
    shared,
    unsharings,
)
from tilewright.memory.plan import try_plan
from tilewright.memory.workload import occupied

S, T = Memory.SMEM, Memory.TMEM


def plans(*regions: StorageRegion) -> list[StoragePlan]:
    return [plan_region(region).unwrap() for region in regions]


def attention(head_dim: int) -> list[StoragePlan]:
    """The forward kernel with two groups and BLOCK_N 128, and its accumulator beside it."""
    p = tmem("p", 4, 128, 64, bits=16)
    scalars = [tmem(name, 2, 128, 1, bits=32) for name in ("alpha", "l", "m")]
    qk = tmem("qk", 2, 128, 128, bits=32)
    tree = shared(qk, distinct(shared(p, group_size=2), *scalars))
    acc = tmem("acc", 2, 128, head_dim, bits=32)
    return plans(region_of("qk_region", tree), plain_region(acc))


def test_attention_with_head_dim_64():
    found = unsharings(attention(64), T, TMEM_CAPACITY)
    assert [(u.moved, u.peers, u.extra) for u in found] == [
        (("p",), ("qk",), 128),
        (("alpha", "l", "m"), ("qk",), 6),
    ]
    assert str(found[0]) == (
        "128 columns of tensor memory are free; 'p' need not share with 'qk' (+128 columns)"
    )
    assert str(found[1]) == (
        "128 columns of tensor memory are free; "
        "'alpha', 'l' and 'm' need not share with 'qk' (+6 columns)"
    )
    assert (found[0].finding.rule, found[0].finding.subject) == ("R2", "qk_region")


def test_what_is_suggested_is_what_planning_gives():
    before = attention(64)
    for advice in unsharings(before, T, TMEM_CAPACITY):
        after = plans(*advice.after)
        total = sum(plan.backing.allocated for plan in after)
        assert total - before[0].backing.allocated == advice.extra
        assert occupied([*after, before[1]]) <= TMEM_CAPACITY
        names = {p.buffer.name for plan in after for p in plan.placements}
        assert names == {"qk", "p", "alpha", "l", "m"}


def test_attention_with_head_dim_128_has_nothing_to_give():
    assert unsharings(attention(128), T, TMEM_CAPACITY) == ()


def test_regions_without_sharing_get_no_advice():
    assert (
        unsharings(
            plans(region_of("r", distinct(raw("a", S, 1, 128), raw("b", S, 1, 128)))), S, 9999
        )
        == ()
    )
    assert unsharings(plans(plain_region(raw("a", S, 1, 128))), S, 9999) == ()
    assert unsharings([], S, 9999) == ()


def test_the_other_memory_does_not_count():
    smem = plans(region_of("r", shared(raw("a", S, 1, 128), raw("b", S, 1, 128))))
    assert unsharings(smem, T, 9999) == ()
    (advice,) = unsharings(smem, S, 256)
    assert (advice.moved, advice.extra, advice.free) == (("a",), 128, 128)


def test_one_region_is_kept_where_two_would_take_as_much():
    (plan,) = plans(region_of("r", shared(raw("a", S, 1, 192), raw("b", S, 1, 64))))
    (advice,) = unsharings([plan], S, 384)
    assert [str(region.tree) for region in advice.after] == ["distinct(a, shared(b))"]
    assert advice.extra == 128


def test_two_regions_are_proposed_where_one_would_take_more():
    advice = unsharings(attention(64), T, TMEM_CAPACITY)[0]
    assert [str(region.tree) for region in advice.after] == [
        "shared(qk, distinct(alpha, l, m))",
        "shared(p, group_size=2)",
    ]
    assert [region.name for region in advice.after] == ["qk_region", "qk_region.p"]


def test_repeated_groups_are_unshared_inside_their_repetition():
    a, b = raw("a", S, 4, 256), raw("b", S, 4, 256)
    tree = shared(a, b, group_size=2)
    (plan,) = plans(region_of("r", tree))
    found = unsharings([plan], S, 4096)
    assert [(u.moved, u.peers, u.extra) for u in found] == [(("a",), ("b",), 1024)]
    (after,) = found[0].after
    assert str(after.tree) == "shared(distinct(shared(b), a), group_size=2)"


@pytest.mark.parametrize(("capacity", "moved"), [(639, ""), (640, "b"), (704, "b"), (768, "cab")])
def test_only_what_fits(capacity: int, moved: str):
    (plan,) = plans(
        region_of("r", shared(raw("a", S, 1, 256), raw("b", S, 1, 128), raw("c", S, 1, 512)))
    )
    found = unsharings([plan], S, capacity)
    assert [advice.moved for advice in found] == [(name,) for name in moved]


@settings(max_examples=examples(60))
@given(trees(max_leaves=6), st.integers(0, 2000))
def test_advice_always_fits_and_is_proved(tree: Tree, spare: int):
    plan = try_plan(region_of("r", tree), Options(mode=Mode.EXPLICIT)).unwrap()
    memory = plan.region.memory
    capacity = plan.backing.allocated + plan.backing.residue + spare
    for advice in unsharings([plan], memory, capacity):
        after = [try_plan(region, Options(mode=Mode.EXPLICIT)).unwrap() for region in advice.after]
        assert [check_plan(new) for new in after] == [()] * len(after)
        assert occupied(after) <= capacity
        assert not _touch(after, advice.moved, advice.peers)


def _touch(plans: list[StoragePlan], moved: tuple[str, ...], peers: tuple[str, ...]) -> bool:
    """Whether a moved buffer still shares bytes with one of those it was moved away from."""

    def points(plan: StoragePlan, buffer: Buffer) -> set[int]:
        starts = plan.of(buffer.name).addresses
        return {point for start in starts for point in range(start, start + buffer.unit)}

    return any(
        points(plan, one) & points(plan, two)
        for plan in plans
        for one in plan.region.buffers
        for two in plan.region.buffers
        if one.name in moved and two.name in peers
    )
