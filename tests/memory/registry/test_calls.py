"""Calls of nested components: intervals from an order, and the proof over a whole tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples

pytest.importorskip(
    "numba", reason="allocators run in the simulator of numba-cuda, which is not installed"
)

from numba import cuda

from tests.memory.registry.support import Owner
from tilewright.buffers import BufferRegistry, PlanError
from tilewright.memory import planner
from tilewright.memory.registry.calls import Component, calls_in_order, check_tree, tree_problem


def test_intervals_of_an_order():
    assert calls_in_order(["a", "b", "a", "c"]) == {
        "a": ((0, 1), (2, 3)),
        "b": ((1, 2),),
        "c": ((3, 4),),
    }
    assert calls_in_order([]) == {}


def tree(orders=True):
    """step > predictor, corrector; both > solver. Sizes in float32."""
    registry = BufferRegistry(policy="strict")
    step, predictor, corrector, solver = (Owner() for _ in range(4))
    registry.register("residual", solver, 6, "shared")
    registry.register("guess", solver, 2, "local", persistent=True)
    for owner, size in ((predictor, 4), (corrector, 10)):
        registry.register("work", owner, size, "shared")
        registry.register_child(owner, solver, "solver")
    registry.register("y", step, 3, "shared")
    registry.register_child(step, predictor, "predictor")
    registry.register_child(step, corrector, "corrector")
    if orders:
        registry.register_calls(step, ["predictor", "corrector", "predictor"])
    return registry, step, predictor, corrector, solver


def test_siblings_overlap_by_themselves():
    registry, step, *_ = tree()
    assert registry.shared_buffer_size(step) == 4 * (3 + 10 + 6)
    assert registry.persistent_local_buffer_size(step) == 4 * (2 + 2)
    plain, other, *_ = tree(orders=False)
    assert plain.shared_buffer_size(other) == 4 * (3 + 4 + 6 + 10 + 6)
    registry.verify(step)
    plain.verify(other)


def test_the_whole_picture():
    registry, step, predictor, *_ = tree()
    problem, offsets = tree_problem(registry._component(registry._groups[step], "", (step,)))
    assert sorted(block.id for block in problem.blocks) == [
        "corrector.solver.guess",
        "corrector.solver.residual",
        "corrector.work",
        "predictor.solver.guess",
        "predictor.solver.residual",
        "predictor.work",
        "y",
    ]
    # Whatever is in the predictor beside whatever is in the corrector, and nothing that persists.
    assert {frozenset(relation.pair) for relation in problem.relations} == {
        frozenset((f"predictor.{one}", f"corrector.{other}"))
        for one in ("work", "solver.residual")
        for other in ("work", "solver.residual")
    }
    outer, inner = (
        registry._groups[owner].shared_layout[region].start
        for owner, region in ((step, "predictor_shared"), (predictor, "solver_shared"))
    )
    assert offsets["predictor.solver.residual"] == outer + inner


def test_refused_orders():
    registry, step, *_ = tree(orders=False)
    with pytest.raises(KeyError, match="Child 'nobody' not registered for parent"):
        registry.register_calls(step, ["predictor", "nobody"])
    with pytest.raises(KeyError, match="has no registered buffer group"):
        registry.register_calls(Owner(), [])
    assert registry._groups[step].calls == {}
    compat, owner = BufferRegistry(), Owner()
    compat.register("a", owner, 1, "shared")
    compat.register_child(owner, Owner(), "kid")
    with pytest.raises(ValueError, match="Call intervals need policy 'strict'"):
        compat.register_calls(owner, ["kid"])
    with pytest.raises(ValueError, match="A proof needs policy 'strict'"):
        compat.verify(owner)


def test_an_order_changes_the_layout_that_was_built():
    registry, step, *_ = tree(orders=False)
    before = registry.shared_buffer_size(step)
    registry.register_calls(step, ["predictor", "corrector"])
    assert registry.shared_buffer_size(step) < before


def test_the_proof_does_not_believe_the_layouts():
    registry, step, predictor, *_ = tree()
    group = registry._groups[step]
    group.layouts()
    group._layouts.shared["y"] = group._layouts.shared["corrector_shared"]
    with pytest.raises(PlanError, match=r"overlap: '(y|corrector\.\w+)' at"):
        registry.verify(step)
    # Deeper down: the predictor's own work over its solver's.
    registry, step, predictor, *_ = tree()
    inner = registry._groups[predictor]
    inner.layouts()
    inner._layouts.shared["work"] = inner._layouts.shared["solver_shared"]
    with pytest.raises(PlanError, match=r"'predictor\.(work|solver\.residual)'"):
        registry.verify(step)
    # And a buffer off its alignment.
    inner._layouts.shared["work"] = slice(1, 17)
    with pytest.raises(PlanError, match=r"misaligned: 'predictor\.work' starts at"):
        registry.verify(step)


@pytest.mark.parametrize(
    "order",
    [None, ["predictor", "corrector"], ["predictor"]],
    ids=["unknown", "known", "one known"],
)
def test_children_may_share_only_if_both_are_known_never_to_run_together(order):
    registry, step, *_ = tree(orders=False)
    if order is not None:
        registry.register_calls(step, order)
    at = registry._groups[step].layouts().shared
    both = ("predictor_shared", "corrector_shared")
    start = min(at[name].start for name in both)
    for name in both:
        at[name] = slice(start, start + at[name].stop - at[name].start)
    if order == ["predictor", "corrector"]:
        registry.verify(step)
    else:
        with pytest.raises(PlanError, match=r"overlap: '(predictor|corrector)\."):
            registry.verify(step)


def test_top_level_allocators_are_built_from_a_proved_tree():
    registry, step, *_ = tree()
    registry.get_toplevel_allocators(step)
    group = registry._groups[step]
    group._layouts.shared["y"] = group._layouts.shared["corrector_shared"]
    with pytest.raises(PlanError, match="overlap"):
        registry.get_toplevel_allocators(step)


def test_an_alias_over_a_childs_region_is_the_authors_business():
    registry, step, *_ = tree()
    registry.register("over", step, 8, "shared", aliases="corrector_shared")
    registry.verify(step)
    group = registry._groups[step]
    window = group.shared_layout["over"]
    others = [group.shared_layout["y"], group.shared_layout["predictor_shared"]]
    assert all(o.stop <= window.start or window.stop <= o.start for o in others)


def test_a_child_that_is_never_called_takes_nothing():
    registry, step, child = BufferRegistry(policy="strict"), Owner(), Owner()
    registry.register("own", step, 4, "shared")
    registry.register("work", child, 3, "shared")
    registry.register("kept", child, 1, "local", persistent=True)
    registry.register_child(step, child, "kid", calls=[])
    assert registry.shared_buffer_size(step) == 16
    assert registry.persistent_local_buffer_size(step) == 4
    registry.verify(step)
    registry.register_calls(step, ["kid"])
    assert registry.shared_buffer_size(step) == 28
    registry.verify(step)


def test_a_grown_child_is_refused_before_the_proof():
    registry, step, predictor, *_ = tree()
    registry.register("late", predictor, 50, "shared")
    with pytest.raises(ValueError, match="Child 'predictor' has grown"):
        registry.verify(step)


def test_a_tree_with_a_cycle_of_children_ends():
    registry, one, other = BufferRegistry(policy="strict"), Owner(), Owner()
    registry.register("a", one, 2, "shared")
    registry.register("b", other, 2, "shared")
    registry.register_child(one, other, "down")
    registry.register_child(other, one, "up")
    check_tree(registry._component(registry._groups[other], "", (other,)))
    assert Component(registry._groups[one]).children == {}


@st.composite
def forests(draw):
    """Levels of components with random scratch, children and orders of calls."""
    registry = BufferRegistry(policy="strict")
    below = []
    for _ in range(draw(st.integers(1, 3))):
        level = []
        for _ in range(draw(st.integers(1, 3))):
            owner = Owner()
            for index in range(draw(st.integers(0, 3))):
                target = draw(st.none() | st.sampled_from(range(index))) if index else None
                registry.register(
                    f"s{index}",
                    owner,
                    draw(st.integers(0, 9)),
                    draw(st.sampled_from(["shared", "local"])),
                    aliases=None if target is None else f"s{target}",
                    precision=draw(st.sampled_from([np.float16, np.float32, np.float64])),
                )
            kids = draw(st.lists(st.sampled_from(below), max_size=3)) if below else []
            spans = st.lists(st.sampled_from([(0, 2), (1, 3), (3, 4), (5, 7)]), max_size=2)
            for index, kid in enumerate(kids):
                registry.register_child(owner, kid, f"k{index}", calls=draw(st.none() | spans))
            registry.register("kept", owner, 1, "local", persistent=True)
            if kids and draw(st.booleans()):
                names = st.sampled_from([f"k{index}" for index in range(len(kids))])
                registry.register_calls(owner, draw(st.lists(names, max_size=4)))
            level.append(owner)
        below = level
    return registry, below[0], below


@given(forests())
@settings(deadline=None, max_examples=examples(60))
def test_random_trees_are_proved(made):
    registry, root, _ = made
    registry.verify(root)


def cut(pool, window):
    return pool[window.start : window.stop]


def act(registry, owner, pool, chance, depth=0):
    """Run a component on its slice of memory: everything it owns must be as it left it after each
    call, and so must regions of children that may run at any time."""
    group = registry._groups.get(owner)
    if group is None:
        return
    at = group.layouts().shared
    regions = {f"{name}_shared" for name in group.children}
    hosts = {entry.aliases for entry in group.entries.values()}
    own = [n for n in at if n not in regions and n not in hosts and not group.entries[n].aliases]
    anytime = [f"{name}_shared" for name in group.children if name not in group.calls]
    held = {
        name: chance.randrange(1, 256) for name in [*own, *(a for a in anytime if a not in hosts)]
    }
    for name, value in held.items():
        cut(pool, at[name])[:] = value
    moments = sorted((a, n) for n, live in group.calls.items() for a, _ in live)
    for _, name in moments:
        act(registry, group.children[name], cut(pool, at[f"{name}_shared"]), chance, depth + 1)
        for kept, value in held.items():
            assert (cut(pool, at[kept]) == value).all(), (name, kept)
    for region in anytime:
        name = region.removesuffix("_shared")
        act(registry, group.children[name], cut(pool, at[region]), chance, depth + 1)
        held.pop(region, None)
        for kept, value in held.items():
            assert (cut(pool, at[kept]) == value).all(), (name, kept)


@given(forests(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=examples(60))
def test_random_trees_run_without_losing_anything(made, chance):
    registry, root, _ = made
    registry.refresh(root)
    act(registry, root, np.zeros(registry.shared_buffer_size(root), np.uint8), chance)


def test_calls_that_run_keep_their_scratch():
    """The tree as device functions: every component fills its scratch, calls, and finds it whole."""
    registry, step, predictor, corrector, solver = tree()
    take = {
        (owner, name): registry.get_allocator(name, owner)
        for owner, names in (
            (step, ("y", "predictor_shared", "corrector_shared")),
            (predictor, ("work", "solver_shared")),
            (corrector, ("work", "solver_shared")),
            (solver, ("residual",)),
        )
        for name in names
    }
    wrong = []

    def fill(view, value):
        for i in range(len(view)):
            view[i] = value

    def expect(view, value, who):
        wrong.extend(who for i in range(len(view)) if view[i] != value)

    def run_solver(pool, value):
        fill(take[solver, "residual"](pool, pool), value)

    def run_part(owner, pool, value):
        work = take[owner, "work"](pool, pool)
        fill(work, value)
        run_solver(take[owner, "solver_shared"](pool, pool), value + 1)
        expect(work, value, owner)

    @cuda.jit
    def kernel(pool):
        y = take[step, "y"](pool, pool)
        fill(y, 1)
        for owner, region, value in (
            (predictor, "predictor_shared", 10),
            (corrector, "corrector_shared", 20),
            (predictor, "predictor_shared", 30),
        ):
            run_part(owner, take[step, region](pool, pool), value)
        expect(y, 1, "step")

    pool = np.full(registry.shared_buffer_size(step) // 4, -1, np.float32)
    kernel[1, 1](pool)
    assert wrong == []
    assert (pool != -1).all()


@pytest.mark.parametrize("policy", ["compat", "strict"])
def test_pools_as_rigid_blocks_beside_other_memory(policy):
    registry, owner = BufferRegistry(policy=policy), Owner()
    owner.precision = np.float64
    registry.register("a", owner, 3, "shared", precision=np.float64)
    registry.register("b", owner, 2, "shared", aliases="a", precision=np.float64)
    registry.register("kept", owner, 1, "local", persistent=True, precision=np.float64)
    shared, kept = registry.pool_blocks(owner, "step", ((4, 9),))
    assert shared == planner.Block("step.shared", 24, 8, "shared", ((4, 9),))
    assert kept == planner.Block("step.persistent", 8, 8, "persistent", planner.ALWAYS)
    tile = planner.Block("tile", 4096, 128, "shared", ((0, 4),))
    spaces = (planner.Space("shared"), planner.Space("persistent"))
    plan = planner.plan_problem(planner.Problem(spaces, (tile, shared, kept)))
    assert plan.height("shared") == 4096
    registry.clear_own(owner)
    registry.register("none", owner, 0, "shared")
    assert registry.pool_blocks(owner, "step") == ()
