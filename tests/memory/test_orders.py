"""Other orders of siblings: which are tried, and what is said about them."""

from hypothesis import given, settings

from tests.memory.random_trees import trees
from tests.memory.support import raw
from tests.sampling import examples
from tilewright.memory import Memory, Options, Tree, distinct, region_of, shared
from tilewright.memory.orders import MAX_ORDERS, changed_groups, orders, working_order
from tilewright.memory.plan import try_plan
from tilewright.memory.tree import leaves

S = Memory.SMEM
A, B, C, D = (raw(name, S, 1, unit) for name, unit in zip("abcd", (1, 2, 3, 4), strict=True))


def test_likely_orders_come_first_and_each_once():
    found = [str(tree) for tree in orders(distinct(A, B, C))]
    assert found[0] == "distinct(c, b, a)"
    assert len(found) == len(set(found)) == 5
    assert "distinct(a, b, c)" not in found


def test_the_group_of_the_failing_leaf_comes_before_its_parents():
    tree = distinct(A, distinct(B, C), D)
    assert [str(order) for order in orders(tree, (1, 1))][:3] == [
        "distinct(a, distinct(c, b), d)",
        "distinct(d, distinct(b, c), a)",
        "distinct(d, distinct(c, b), a)",
    ]


def test_shared_groups_are_left_alone():
    assert [*orders(shared(A, B, C))] == []


def test_an_order_is_only_returned_if_it_works():
    tried: list[str] = []

    def works(tree: Tree) -> bool:
        tried.append(str(tree))
        return str(tree) == "distinct(b, c, a)"

    assert str(working_order(distinct(A, B, C), (), works)) == "distinct(b, c, a)"
    assert tried[-1] == "distinct(b, c, a)"
    assert working_order(distinct(A, B, C), (), lambda _: False) is None


def test_the_search_is_bounded():
    many = distinct(*(raw(f"x{n}", S, 1, n + 1) for n in range(8)))
    tried: list[Tree] = []
    assert working_order(many, (), lambda tree: bool(tried.append(tree))) is None
    assert len(tried) == MAX_ORDERS


def test_changed_groups_are_the_outermost():
    old = distinct(A, distinct(B, C), D)
    assert changed_groups(old, old) == ()
    assert [*map(str, changed_groups(old, distinct(A, distinct(C, B), D)))] == ["distinct(c, b)"]
    assert [*map(str, changed_groups(old, distinct(D, distinct(C, B), A)))] == [
        "distinct(d, distinct(c, b), a)"
    ]


@settings(max_examples=examples(150))
@given(trees(memories=[S], max_leaves=6))
def test_a_working_order_has_the_same_leaves_and_plans(tree: Tree):
    def works(order: Tree) -> bool:
        return try_plan(region_of("r", order), Options()).plan is not None

    found = working_order(tree, leaves(tree)[-1].path, works)
    if found is None:
        return
    assert works(found)
    assert found != tree
    assert {leaf.buffer for leaf in leaves(found)} == {leaf.buffer for leaf in leaves(tree)}
    assert changed_groups(tree, found) != ()
