"""Functions that call each other: when they run, checked against walking through every call."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tilewright.memory.planner import ALWAYS, plan_problem
from tilewright.memory.planner.problems import (
    Call,
    CallError,
    Function,
    Scratch,
    functions_problem,
    in_order,
    running,
    together,
)


def scratch(size, **fields):
    return (Scratch("work", size, **fields),)


SOLVE = Function("solve", scratch(6))
PREDICT = Function("predict", scratch(4), in_order(SOLVE))
CORRECT = Function("correct", scratch(10), in_order(SOLVE, SOLVE))
MAIN = Function("main", scratch(3), in_order(PREDICT, CORRECT, PREDICT))


def test_who_runs_when():
    spans = running(MAIN)
    assert list(spans) == ["main", "correct", "predict", "solve"]
    [main] = spans["main"]
    early, late = spans["predict"]
    [middle] = spans["correct"]
    assert main[0] < early[0] < early[1] == middle[0] < middle[1] == late[0] < late[1] == main[1]
    # Called from two places, and twice from one of them: live over all.
    assert len(spans["solve"]) == 4
    inside = [
        [s for s in spans["solve"] if a <= s[0] < s[1] <= b] for a, b in (early, middle, late)
    ]
    assert [len(found) for found in inside] == [1, 2, 1]


def test_scratch_of_siblings_overlaps():
    plan = plan_problem(functions_problem(MAIN))
    # main 3 under correct 10 under solve 6; predict lies over correct.
    assert plan.height("shared") == 3 + 10 + 6
    assert plan.optimal
    assert set(plan.offsets) == {"main.work", "predict.work", "correct.work", "solve.work"}


def test_without_intervals_nothing_is_known_of_siblings():
    main = Function("main", scratch(3), (Call(PREDICT), Call(CORRECT)))
    assert together(main) == (
        ("correct", "predict"),
        ("predict", "solve"),
        ("correct", "solve"),
    )
    assert plan_problem(functions_problem(main)).height("shared") == 3 + 4 + 10 + 6


def test_an_only_callee_may_run_at_any_time():
    chain = Function("a", scratch(1), (Call(Function("b", scratch(2), in_order(SOLVE, PREDICT))),))
    spans = running(chain)
    assert spans["predict"] != spans["b"]
    assert plan_problem(functions_problem(chain)).height("shared") == 1 + 2 + 4 + 6


def test_what_meets_keeps_the_order_inside_each():
    # x and y never run together; z may run with either.
    one = Function("one", (), in_order(Function("x", scratch(5)), Function("y", scratch(5))))
    two = Function("two", (), in_order(Function("z", scratch(5))))
    main = Function("main", (), (Call(one, ((0, 2),)), Call(two, ((1, 3),))))
    assert plan_problem(functions_problem(main)).height("shared") == 10
    apart = Function("main", (), (Call(one, ((0, 2),)), Call(two, ((2, 3),))))
    assert plan_problem(functions_problem(apart)).height("shared") == 5


def test_what_persists_is_always_live_and_spaces_are_kept():
    kept = Scratch("kept", 8, 8, "persistent", persists=True)
    tile = Scratch("tile", 100, 128)
    main = Function("main", (tile,), in_order(Function("f", (kept,)), Function("g", (kept,))))
    problem = functions_problem(main, {"shared": 4096})
    assert {block.id: block.live == ALWAYS for block in problem.blocks} == {
        "main.tile": False,
        "f.kept": True,
        "g.kept": True,
    }
    assert {space.name: space.capacity for space in problem.spaces} == {
        "shared": 4096,
        "persistent": None,
    }
    assert plan_problem(problem).height("persistent") == 16


def test_refused():
    with pytest.raises(CallError, match="'solve': a call needs a start before its stop: 2, 2"):
        Call(SOLVE, ((2, 2),))
    other = Function("solve", scratch(7))
    with pytest.raises(CallError, match="two functions have the name 'solve'"):
        running(Function("main", (), in_order(PREDICT, other)))
    loop = Function("f")
    object.__setattr__(loop, "calls", (Call(Function("g", (), (Call(loop),))),))
    with pytest.raises(CallError, match="recursive calls need unbounded memory: f -> g -> f"):
        running(loop)


def test_exponentially_many_paths_end():
    function = Function("f0", scratch(1))
    for depth in range(1, 40):
        function = Function(f"f{depth}", scratch(1), in_order(function, function))
    spans = running(function)
    assert len(spans) == 40
    # All of them are on the stack at once, so no two may share.
    assert plan_problem(functions_problem(function)).height("shared") == 40


@st.composite
def programs(draw):
    functions = []
    for index in range(draw(st.integers(1, 6))):
        calls = ()
        if functions:
            kind = draw(st.sampled_from(["order", "intervals", "unknown"]))
            callees = draw(st.lists(st.sampled_from(functions), max_size=4))
            if kind == "order":
                calls = in_order(*callees)
            else:
                unique = {callee.name: callee for callee in callees}.values()
                span = st.tuples(st.integers(0, 4), st.integers(1, 3))
                calls = tuple(
                    Call(
                        callee,
                        None
                        if kind == "unknown" and draw(st.booleans())
                        else tuple((a, a + n) for a, n in draw(st.lists(span, max_size=2))),
                    )
                    for callee in unique
                )
        functions.append(Function(f"f{index}", scratch(draw(st.integers(1, 9))), calls))
    return functions[-1]


def runs(function, stack, found):
    """Enter `function` with `stack` below it; note all that can be active at the same time."""
    here = (*stack, function.name)
    found.update(frozenset(pair) for pair in combinations(set(here), 2))
    for call in function.calls:
        if call.during != ():
            runs(call.function, here, found)
    for one, other in combinations(function.calls, 2):
        if may_meet(one.during, other.during):
            found.update(
                frozenset((a, b)) for a in reach(one.function) for b in reach(other.function)
            )


def may_meet(one, other):
    if one == () or other == ():
        return False
    if one is None or other is None:
        return True
    return any(a < d and c < b for a, b in one for c, d in other)


def reach(function):
    names = {function.name}
    for call in function.calls:
        if call.during != ():
            names |= reach(call.function)
    return names


@given(programs())
@settings(deadline=None)
def test_who_can_be_active_together_is_live_together(main):
    active = set()
    runs(main, (), active)
    spans = running(main)
    for one, other in combinations(spans, 2):
        meet = any(a < d and c < b for a, b in spans[one] for c, d in spans[other])
        if frozenset((one, other)) in active:
            assert meet or (min(one, other), max(one, other)) in together(main)


@given(programs())
@settings(deadline=None)
def test_in_order_nothing_is_live_together_that_is_not_on_one_stack(main):
    def is_ordered(function):
        starts = [call.during for call in function.calls]
        return all(starts) and not any(may_meet(a, b) for a, b in combinations(starts, 2))

    everything = [main]
    for function in everything:
        everything += [call.function for call in function.calls]
    if not all(is_ordered(function) for function in everything):
        return
    active = set()
    runs(main, (), active)
    spans = running(main)
    for one, other in combinations(spans, 2):
        meet = any(a < d and c < b for a, b in spans[one] for c, d in spans[other])
        assert meet == (frozenset((one, other)) in active)


@given(programs())
@settings(deadline=None, max_examples=examples(50))
def test_plans_of_programs_keep_stacks_apart(main):
    problem = functions_problem(main)
    plan = plan_problem(problem)
    active = set()
    runs(main, (), active)
    sizes = {block.id: block.size for block in problem.blocks}
    for pair in active:
        if len(pair) < 2:
            continue
        (a, one), (b, other) = ((plan.offsets[f"{n}.work"], sizes[f"{n}.work"]) for n in pair)
        assert a + one <= b or b + other <= a
