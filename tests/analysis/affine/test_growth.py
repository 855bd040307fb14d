"""Long kernels: work grows with their length, and depth is no recursion.

Work is counted in function calls, which do not depend on the machine's mood.
"""

import sys
from collections.abc import Callable

import pytest

from tilewright.analysis.affine import Interval, Space, Substitution, evaluate, substitute
from tilewright.analysis.affine.isl import to_set


def calls_made(run: Callable[[], object]) -> int:
    count = 0

    def tick(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(tick)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def kernel(rounds: int) -> None:
    """Addresses, masks, remainders and loads as an unrolled loop would have them."""
    space = Space()
    np = space.symbol("np", Interval(1, 2**31 - 1))
    pid = space.symbol("pid", Interval(0, 2**31 - 2))
    lane = space.symbol("lane", Interval(0, 1023))
    n = space.symbol("n", Interval(0, 2**31 - 1), divisor=16)
    stride = space.symbol("stride", Interval(1, 2**31 - 1), divisor=16)
    ctx = space.root.assume(space.root.compare("<", pid, np))
    running = pid
    for k in range(rounds):
        offset = ctx.limited(pid * 1024 + lane + k)
        row, column = ctx.tdiv(offset, stride + k), ctx.trem(offset, stride + k)
        inside = ctx.assume(ctx.compare("<", offset, n + k))
        load = space.call(f"u{k}", (lane,), Interval.of_bits(32), deps=("mem",))
        address = inside.limited(row * stride + column * 4 + inside.bit_and(load, 63))
        chosen = inside.select(ctx.compare("<", load, k), address, inside.minimum(offset, n))
        running = ctx.limited(running + load)
        assert inside.range(chosen + running).lo is None or chosen.depends_on("mem")
        str(chosen)


def test_work_grows_linearly():
    small, large = (calls_made(lambda r=r: kernel(r)) for r in (25, 200))
    assert large < 8 * small * 1.4


def test_a_chain_of_values_that_became_opaque():
    space = Space()
    symbols = [space.symbol(f"x{i}", Interval(0, 1)) for i in range(3000)]
    ctx = space.root
    value = space.one
    for x in symbols:
        value = ctx.limited(value * (x + 1))
    ones = {f"x{i}": int(i < 3) for i in range(3000)}
    assert evaluate(value, ones) == 8
    assert ctx.range(value).lo == 1
    changed = Substitution(ctx, {symbols[0].atom: symbols[1]}).poly(value)
    assert not changed.mentions(symbols[0].atom)
    assert evaluate(changed, dict.fromkeys(ones, 0) | {"x1": 1}) == 4
    assert len(str(value)) < 5000
    assert not to_set(ctx.compare("=", value, 8)).exact
    inside = ctx.assume(ctx.compare("=", symbols[7], 1))
    assert inside.range(value).lo == 1
    assert substitute(ctx, value, {x.atom: 0 for x in symbols}) == 1


def test_conditions_nested_a_thousand_deep():
    space = Space()
    x = space.symbol("x", Interval(0, 2**40))
    y = space.symbol("y")
    ctx = space.root
    for k in range(1000):
        ctx = ctx.assume(ctx.compare("!=", y, k) & space.predicate(f"p{k}"))
        ctx = ctx.assume(ctx.compare("<", x, 2**40 - k))
    assert ctx.range(x) == Interval(0, 2**40 - 1000)
    assert ctx.decide(space.predicate("p500")) is True
    assert ctx.fdiv(space.symbol("z", Interval(0, 7)), 8) == 0


def test_blocks_after_conditionals_have_short_guards():
    space = Space()
    guard = space.predicate("entry")
    for k in range(1000):
        condition = space.predicate(f"c{k}")
        guard = (guard & condition) | (guard & ~condition)
    assert guard is space.predicate("entry")
    a, b = space.predicate("a"), space.predicate("b")
    assert a | (a & b) is a
    assert a & (a | b) is a
    assert (a | b) & (a | ~b) is a


@pytest.mark.parametrize("conditions", [4, 9])
def test_many_conditions_in_one_value_do_not_explode(conditions: int):
    space = Space()
    ctx = space.root
    value = space.zero
    for k in range(conditions):
        x = space.symbol(f"x{k}")
        value = ctx.limited(value + ctx.select(ctx.compare("<", x, value), 1, x - x + 2))
    assert calls_made(lambda: ctx.range(value)) < 200_000
    points = {f"x{k}": k for k in range(conditions)}
    assert evaluate(value, points) in ctx.range(value)
