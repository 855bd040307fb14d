"""Trees: what is wrong with one, its sizes, its paths and its text."""

import pytest

from tests.memory.support import raw, smem, tmem
from tilewright.memory import (
    Group,
    Leaf,
    Memory,
    ReuseKind,
    TmemTile,
    Tree,
    distinct,
    shared,
    tmem_buffer,
    validate,
)
from tilewright.memory.relations import Relation, relations
from tilewright.memory.tree import (
    block,
    describe,
    granule,
    leaves,
    memory_of,
    node_at,
    pretty,
    replace_at,
    size,
    stride,
)

S, T = Memory.SMEM, Memory.TMEM


def a(count: int = 2, unit: int = 256):
    return raw("a", S, count, unit)


def b(count: int = 2, unit: int = 128):
    return raw("b", S, count, unit)


def rules(tree: Tree) -> list[tuple[str, str]]:
    return [(found.rule, found.subject) for found in validate(tree)]


def test_a_good_tree_has_no_findings():
    assert validate(shared(a(), distinct(b(), shared(raw("c", S, 4, 8), group_size=2)))) == ()


def test_an_empty_group():
    (found,) = validate(shared(a(), distinct()))
    assert (found.rule, found.path) == ("V1", (1,))
    assert found.message == "reuse_group requires at least one element"


@pytest.mark.parametrize("group_size", [0, -3])
def test_a_group_size_below_one(group_size: int):
    (found,) = validate(shared(a(), group_size=group_size))
    assert (found.rule, found.path) == ("V2", ())
    assert found.message == f"group_size must be a positive integer, got {group_size}"


def test_the_same_leaf_twice():
    (found,) = validate(shared(a(), distinct(b(), a())))
    assert (found.rule, found.subject, found.path) == ("V3", "a", (1, 1))
    assert found.message == (
        "reuse_group tree contains duplicate elements; "
        "each allocation can only appear once in the tree"
    )


def test_two_memories_in_one_tree():
    assert rules(shared(a(), raw("t", T, 2, 8))) == [("V4", "t")]


def test_tensor_memory_without_a_count():
    flat = tmem_buffer("t", (128, 64), 32, TmemTile(128, 64))
    (found,) = validate(shared(flat))
    assert (found.rule, found.subject) == ("V5", "t")


def test_group_size_on_a_distinct_group():
    (found,) = validate(shared(distinct(a(4), b(4), group_size=2)))
    assert (found.rule, found.path) == ("E13", (0,))
    assert found.message == "group_size 2 is only meaningful on a shared group"
    assert found.notes == ("write shared(distinct(a, b), group_size=2)",)


def test_count_that_is_no_multiple_of_the_group_sizes():
    tree = shared(shared(a(6), group_size=2), group_size=2)
    (found,) = validate(tree)
    assert (found.rule, found.subject, found.path) == ("E16", "a", (0, 0))
    assert found.message == "buffer count (6) must be a multiple of the accumulated group_size (4)"


def test_uneven_counts_are_judged_by_the_majority():
    c = raw("c", S, 2, 8)
    (found,) = validate(shared(a(4), b(), c))
    assert (found.rule, found.subject, found.is_error) == ("W4", "a", False)
    assert found.message == "buffer count 4 gives 4 logical buffers, but its peers have 2"


def test_uneven_counts_of_equal_weight_are_judged_by_the_first():
    assert rules(shared(a(4), b(2))) == [("W4", "b")]


def test_group_sizes_count_for_the_logical_count():
    assert validate(shared(a(2), shared(b(4), group_size=2))) == ()


def test_sizes_in_shared_memory():
    assert size(Leaf(a(unit=200))) == 200
    assert size(shared(a(unit=200), b(unit=300))) == 300
    assert size(distinct(a(unit=200), b(unit=300))) == 256 + 300
    sub = shared(a(unit=200), group_size=3)
    assert (block(sub), size(sub), stride(sub)) == (256, 768, 768)
    assert stride(distinct(a(unit=200), b(unit=300))) == 640


def test_sizes_in_tensor_memory():
    wide, narrow = raw("wide", T, 2, 64), raw("narrow", T, 2, 2)
    assert granule(shared(narrow, wide)) == 64
    assert size(distinct(narrow, wide)) == 128
    assert size(distinct(wide, narrow)) == 66
    assert stride(distinct(wide, narrow)) == 128
    assert block(shared(distinct(wide, narrow), group_size=2)) == 128


def test_wide_elements_raise_the_alignment():
    assert granule(Leaf(smem("a", 1, 4, bits=64))) == 128


def test_paths():
    tree = shared(a(), distinct(b(), shared(raw("c", S, 4, 8), group_size=2)))
    assert [(at.buffer.name, at.path, at.group_size) for at in leaves(tree)] == [
        ("a", (0,), 1),
        ("b", (1, 0), 1),
        ("c", (1, 1, 0), 2),
    ]
    assert node_at(tree, (1, 0)) == Leaf(b())
    assert describe(tree, (1, 1, 0)) == "shared > distinct > shared*2 > c"
    assert describe(tree, ()) == "shared"
    assert memory_of(tree) is S
    with pytest.raises(IndexError, match="leads below the leaf a"):
        node_at(tree, (0, 0))


def test_replacing_a_node():
    tree = shared(a(), distinct(b()), group_size=2)
    assert str(replace_at(tree, (1, 0), Leaf(raw("c", S, 1, 8)))) == (
        "shared(a, distinct(c), group_size=2)"
    )
    with pytest.raises(IndexError, match="leads below the leaf a"):
        replace_at(tree, (0, 0), tree)


def test_text():
    tree = shared(a(), distinct(b(4), group_size=1))
    assert str(tree) == "shared(a, distinct(b))"
    assert pretty(shared(a(), distinct(b(), shared(raw("c", S, 4, 8), group_size=2)))) == (
        "shared 384 bytes\n"
        "  a 2x256 bytes\n"
        "  distinct 384 bytes\n"
        "    b 2x128 bytes\n"
        "    shared*2 256 bytes\n"
        "      c 4x8 bytes"
    )


def test_groups_are_values():
    assert shared(a(), b()) == Group(ReuseKind.SHARED, (Leaf(a()), Leaf(b())))
    assert len({shared(a(), b()), shared(a(), b()), distinct(a(), b())}) == 2


def test_relations():
    qk, p, s = (
        tmem("qk", 2, 128, 128, bits=32),
        tmem("p", 8, 128, 32, bits=8),
        tmem("s", 4, 128, 1, bits=32),
    )
    tree = shared(qk, shared(distinct(shared(p, group_size=2), s), group_size=2))
    assert [*relations(tree)] == [
        Relation("qk", "p", ReuseKind.SHARED, 1, 4),
        Relation("qk", "s", ReuseKind.SHARED, 1, 2),
        Relation("p", "s", ReuseKind.DISTINCT),
    ]
    assert [*map(str, relations(tree))] == [
        "'qk' and 'p' share where index/1 = index/4",
        "'qk' and 's' share where index/1 = index/2",
        "'p' and 's' are distinct",
    ]


def test_relation_inside_a_repeated_group_is_by_repetition():
    (relation,) = relations(shared(a(4), b(4), group_size=2))
    assert (relation.first_per, relation.second_per) == (1, 1)
