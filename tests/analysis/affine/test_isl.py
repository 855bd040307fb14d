"""Integer sets of isl against enumeration of small boxes."""

from itertools import product
from random import Random

import islpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.affine.expressions import (
    Maker,
    Symbol,
    Undefined,
    build,
    build_formula,
    declare,
    reference_truth,
)
from tests.sampling import examples
from tilewright.analysis.affine import Formula, Interval, Poly, Space, evaluate, holds
from tilewright.analysis.affine.isl import NotPresburger, to_map, to_set

BOX = {s.name: s for s in (Symbol("i", -3, 5), Symbol("n", 0, 9, 3), Symbol("count", 1, 3))}
NAMES = list(BOX)
POINTS = [
    dict(zip(NAMES, values, strict=True))
    for values in product(*(range(s.lo, s.hi + 1, s.divisor) for s in BOX.values()))
]

small_makers = st.integers(0, 2**64).map(lambda seed: Maker(Random(seed), BOX, huge=40))


def points_of(found: islpy.Set) -> set[tuple[int, ...]]:
    points: set[tuple[int, ...]] = set()

    def add(point: islpy.Point) -> None:
        at = islpy.dim_type.set
        size = found.dim(at)
        points.add(tuple(point.get_coordinate_val(at, d).to_python() for d in range(size)))

    found.foreach_point(add)
    return points


def true_points(formula: Formula) -> set[tuple[int, ...]]:
    return {tuple(point.values()) for point in POINTS if holds(formula, point)}


@settings(max_examples=examples(250))
@given(small_makers)
def test_sets_hold_exactly_the_points_of_the_formula(maker: Maker):
    space = Space()
    symbols = declare(space, BOX)
    condition = maker.condition(2)
    formula = build_formula(space.root, symbols, condition)
    try:
        encoded = to_set(formula, list(symbols.values()))
    except NotPresburger:
        return
    assert encoded.exact
    found = points_of(encoded.set)
    assert found == true_points(formula)
    for point in POINTS:
        try:
            expected = reference_truth(condition, point)
        except Undefined:
            continue
        assert (tuple(point.values()) in found) == expected


@settings(max_examples=examples(150))
@given(small_makers)
def test_maps_take_every_point_to_its_value(maker: Maker):
    space = Space()
    symbols = declare(space, BOX)
    values = [build(space.root, symbols, maker.expression(2)) for _ in range(2)]
    try:
        encoded = to_map(values, list(symbols.values()))
    except NotPresburger:
        return
    pairs = points_of(encoded.map.wrap().flatten())
    assert pairs == {
        (*point.values(), *(evaluate(value, point) for value in values)) for point in POINTS
    }


def test_nearly_all_small_conditions_can_be_described():
    """The two tests above would be empty if everything were refused."""
    described = 0
    for seed in range(200):
        maker, space = Maker(Random(seed), BOX, huge=40), Space()
        formula = build_formula(space.root, declare(space, BOX), maker.condition(2))
        try:
            described += to_set(formula).exact
        except NotPresburger:
            continue
    assert described >= 150


@pytest.fixture
def space() -> Space:
    return Space()


def check_definition(space: Space, value: Poly, dims: list[Poly]) -> None:
    """The set of (dims, value) has one value a point, the right one."""
    encoded = to_map([value], dims)
    atoms = [dim.atom for dim in dims]
    boxes = [range(atom.range.lo, atom.range.hi + 1) for atom in atoms]
    expected = {
        (*point, evaluate(value, {a.name: v for a, v in zip(atoms, point, strict=True)}))
        for point in product(*boxes)
    }
    assert points_of(encoded.map.wrap().flatten()) == expected


def test_every_operation_is_described(space: Space):
    x = space.symbol("x", Interval(-9, 9))
    y = space.symbol("y", Interval(-2, 3))
    c = space.symbol("c", Interval(1, 3))
    ctx = space.root
    for value in (
        ctx.fdiv(x, 4),
        ctx.fdiv(x, y),
        ctx.mod(x, c),
        ctx.tdiv(x, 4),
        ctx.tdiv(x, y),
        ctx.trem(x, -3),
        ctx.minimum(x, y, 2),
        ctx.maximum(x, 3 * y),
        ctx.select(ctx.compare("<", x, y), x * 2, y),
        ctx.bit_and(x, 0b101),
        ctx.bit_and(x, ~0b101),
        ctx.bit_or(x, 0b101),
        ctx.bit_or(x, ~0b101),
        ctx.bit_xor(x, 0b101),
        ctx.shl(x, c),
        ctx.shr(x, c),
        ctx.table((3, 1, 4, 1, 5), x),
        x * y * c,
        ctx.fdiv(x * y, c) * c,
    ):
        check_definition(space, value, [x, y, c])


def test_other_symbols_are_parameters(space: Space):
    pid = space.symbol("pid", Interval(0, None))
    lane = space.symbol("lane", Interval(0, 255))
    n = space.symbol("n", Interval(0, 2**31 - 1), divisor=16)
    ctx = space.root
    offset = 256 * pid + lane
    outside = to_set(ctx.compare("<", offset, n) & ctx.compare(">=", offset, n), [pid, lane])
    assert outside.set.is_empty()
    inside = to_set(ctx.compare("<", offset, n), [pid, lane])
    assert inside.names == {"pid": "pid", "lane": "lane", "n": "n"}
    assert [inside.set.get_dim_name(islpy.dim_type.param, 0)] == ["n"]
    forty_eight = inside.set.intersect_params(islpy.Set("[n] -> { : n = 48 }"))
    assert points_of(forty_eight.project_out(islpy.dim_type.param, 0, 1)) == {
        (0, lane) for lane in range(48)
    }
    assert inside.set.intersect_params(islpy.Set("[n] -> { : n = 40 }")).is_empty()


def test_a_tile_map_is_seen_to_be_injective(space: Space):
    pid = space.symbol("pid", Interval(0, 35 * 17 - 1))
    ctx = space.root
    group = ctx.fdiv(pid, 8 * 17)
    size = ctx.minimum(35 - 8 * group, 8)
    inside = ctx.mod(pid, 8 * 17)
    row = 8 * group + ctx.trem(inside, size)
    column = ctx.tdiv(inside, size)
    assert to_map([row, column], [pid]).map.is_injective()
    assert not to_map([row], [pid]).map.is_injective()


def test_opaque_values_make_sets_too_large_and_inexact(space: Space):
    lane = space.symbol("lane", Interval(0, 3))
    ctx = space.root
    load = space.call("u", (lane,), Interval(0, 9))
    loaded = to_set(ctx.compare("<", load, 5), [lane])
    assert not loaded.exact
    assert len(points_of(loaded.set)) == 4
    assert to_set(ctx.compare("<", load, 5) & ctx.compare(">", load, 5), [lane]).set.is_empty()
    assert to_set(ctx.compare("<", space.call("v"), lane), [lane]).exact
    unknown = space.predicate("p", (lane,))
    assert not to_set(unknown, [lane]).exact
    assert to_set(unknown & ~unknown, [lane]).set.is_empty()
    scalar = to_set(space.predicate("q") & ctx.compare("=", lane, 1), [lane])
    assert scalar.exact
    assert not scalar.set.is_empty()


def test_names_that_isl_does_not_take(space: Space):
    odd = [space.symbol(name, Interval(0, 1)) for name in ("%x", "%x.y", "_x", "max", "v_x", "0")]
    total = sum(odd, space.zero)
    encoded = to_set(space.root.compare("=", total, 6), odd)
    assert points_of(encoded.set) == {(1,) * 6}
    assert len(set(encoded.names.values())) == 6


@pytest.mark.parametrize("make", ["product", "division", "bits", "table"])
def test_what_cannot_be_described_is_refused(space: Space, make: str):
    x, y = space.symbol("x"), space.symbol("y")
    ctx = space.root
    value = {
        "product": x * y,
        "division": ctx.fdiv(x, y),
        "bits": ctx.bit_xor(x, y),
        "table": ctx.table(tuple(i * i for i in range(300)), x),
    }[make]
    with pytest.raises(NotPresburger):
        to_set(ctx.compare("=", value, 0))


def test_a_dimension_is_a_symbol(space: Space):
    x = space.symbol("x")
    with pytest.raises(ValueError, match="a dimension is a symbol"):
        to_set(space.root.compare("<", x, 3), [x + 1])
