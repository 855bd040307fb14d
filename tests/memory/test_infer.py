"""Overlap from groups alone (docs/design/storage-alias.md#inferred-overlap), and legacy reuse."""

from tests.memory.support import raw
from tilewright.memory import (
    Buffer,
    Memory,
    Options,
    StorageRegion,
    check_plan,
    deprecation,
    distinct,
    infer_overlap,
    join_legacy,
    legacy_region,
    plan_region,
    region_of,
    shared,
)
from tilewright.memory.infer import roots

S = Memory.SMEM


def buffer(name: str, count: int = 2, unit: int = 256) -> Buffer:
    return raw(name, S, count, unit)


A, B, C, D = (buffer(name) for name in "abcd")


def region(*buffers: Buffer) -> StorageRegion:
    return StorageRegion("r", S, buffers)


def test_roots_are_the_groups_in_no_other_group():
    inner = distinct(B, C)
    outer = shared(A, inner)
    assert roots([inner, outer, distinct(D)]) == (outer, distinct(D))
    assert roots([inner, inner]) == (inner,)
    assert roots([]) == ()


def test_no_group_no_overlap():
    found = infer_overlap(region(A, B), [])
    assert (found.region.phases, found.findings) == ((), ())


def test_one_root_is_the_tree():
    inner = distinct(B, C)
    found = infer_overlap(region(A, B, C), [inner, shared(A, inner)])
    assert found.findings == ()
    assert found.region.tree == shared(A, inner)


def test_an_explicit_definition_wins():
    explicit = region_of("r", shared(A, B))
    assert infer_overlap(explicit, [distinct(A, B)]).region is explicit


def test_other_roots_that_agree():
    found = infer_overlap(region(A, B, C), [distinct(A, C), distinct(A, B, C), shared(A, B)])
    assert found.region.tree == distinct(A, B, C)
    assert found.findings == ()


def test_the_first_of_equally_large_roots_is_placed():
    assert infer_overlap(region(A, B), [distinct(A, B), shared(A, B)]).region.tree == distinct(A, B)


def test_a_distinct_root_against_a_shared_one():
    found = infer_overlap(region(A, B, C), [shared(A, B, C), distinct(B, C)])
    (error,) = found.findings
    assert (error.rule, error.subject) == ("E21", "r")
    assert error.message == (
        "reuse groups of this spec contradict each other: distinct(b, c) does not hold, "
        "'b'[0] (bytes 0..256) and 'c'[0] (bytes 0..256) both have bytes 0..256"
    )


def test_a_shared_root_that_is_read_by_another_index():
    p = buffer("p", 4, 128)
    found = infer_overlap(region(A, p, C), [shared(A, shared(p, group_size=2), C), shared(A, p)])
    (error,) = found.findings
    assert error.rule == "E21"
    assert "'a'[0] (bytes 0..256) and 'p'[1] (bytes 128..256)" in error.message


def test_leaves_of_no_root_but_a_smaller_one_lie_at_the_start():
    found = infer_overlap(region(A, B, C, D), [distinct(A, B, C), distinct(A, D)])
    (error,) = found.findings
    assert "'a'[0] (bytes 0..256) and 'd'[0] (bytes 0..256)" in error.message


def test_smaller_roots_have_to_be_valid_themselves():
    big = distinct(A, B, C)
    assert [f.rule for f in infer_overlap(region(A, B, C), [big, shared(A, A)]).findings] == ["V3"]
    assert [f.rule for f in infer_overlap(region(A, B, C), [big, shared(A, D)]).findings] == ["V4"]


def test_an_order_that_cannot_be_re_indexed_is_still_checked():
    big = buffer("big", 2, 512)
    found = infer_overlap(
        region(A, big, C), [distinct(A, big, C), shared(A, big), distinct(A, big)]
    )
    assert found.findings == ()
    assert [e.rule for e in plan_region(found.region, Options()).errors] == ["E7"]


def test_legacy_reuse_is_a_region_without_a_tree():
    small = buffer("small", 4, 64)
    plan = plan_region(legacy_region(A, small)).unwrap()
    assert plan.backing.shape == (512,)
    assert plan.of("a").addresses == (0, 256)
    assert plan.of("small").addresses == (0, 64, 128, 192)
    assert check_plan(plan) == ()


def test_legacy_reuse_may_grow_the_owner():
    assert plan_region(legacy_region(A, buffer("large", 3, 1024))).unwrap().backing.shape == (3072,)


def test_legacy_reuse_of_a_buffer_in_a_region_joins_it_outside_the_tree():
    joined = join_legacy(region_of("r", distinct(A, B)), D)
    result = plan_region(joined)
    assert result.unwrap().of("d").addresses == (0, 256)
    assert [(w.rule, w.subject) for w in result.warnings] == [("W3", "d")]


def test_legacy_reuse_is_deprecated():
    assert str(deprecation(A, B)) == (
        "warning[W5] 'b': reuse of the buffer 'a' is deprecated; "
        "allocate both from one storage_alias_spec and name it in reuse="
    )
