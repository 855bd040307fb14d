"""Polynomials: ring laws, one form whatever the order of building, parts, text."""

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.analysis.affine.expressions import NAMES, Maker, build, declare, makers
from tests.sampling import examples
from tilewright.analysis.affine import Context, Interval, Poly, Space, SymbolKind, evaluate


@st.composite
def polynomials(draw, space: Space, symbols: dict[str, Poly]):
    terms = draw(
        st.lists(
            st.tuples(st.integers(-(2**70), 2**70), st.lists(st.sampled_from(NAMES), max_size=3)),
            max_size=4,
        )
    )
    poly = space.zero
    for coefficient, names in terms:
        poly += prod((symbols[name] for name in names), start=space.const(coefficient))
    return poly


SPACE = Space()
SYMBOLS = declare(SPACE)
polys = polynomials(SPACE, SYMBOLS)


@given(polys, polys, polys)
def test_ring_laws(p, q, r):
    assert p + q == q + p
    assert (p + q) + r == p + (q + r)
    assert p * q == q * p
    assert (p * q) * r == p * (q * r)
    assert p * (q + r) == p * q + p * r
    assert p - p == 0
    assert p - q == -(q - p)
    assert hash(p + q) == hash(q + p)
    assert p * 1 == p
    assert p * 0 == SPACE.zero


@given(polys, polys, makers)
def test_ring_operations_compute_with_big_integers(p, q, maker: Maker):
    values = maker.valuation()
    x, y = evaluate(p, values), evaluate(q, values)
    assert evaluate(p + q, values) == x + y
    assert evaluate(p - q, values) == x - y
    assert evaluate(p * q, values) == x * y
    assert evaluate(5 - p * 3 + 1, values) == 6 - 3 * x


@given(polys, st.integers())
def test_mixing_with_integers(p, k):
    assert p + k == k + p == p + SPACE.const(k)
    assert k - p == SPACE.const(k) - p
    assert k * p == p * SPACE.const(k)
    assert (SPACE.const(k) == k) is True
    assert hash(SPACE.const(k)) == hash(k)


# Trees in which the order of operands does not matter are shuffled and regrouped.

_SHUFFLED = ("add", "mul", "min", "max", "and", "or", "xor")
_REGROUPED = ("add", "mul", "min", "max")


def shuffled(maker: Maker, expr: tuple) -> tuple:
    head = expr[0]
    if head in ("sym", "const"):
        return expr
    if head == "sel":
        return (head, shuffled_condition(maker, expr[1]), *(shuffled(maker, e) for e in expr[2:]))
    parts = _chain(expr, head) if head in _REGROUPED else list(expr[1:])
    parts = [shuffled(maker, part) for part in parts]
    if head in _SHUFFLED:
        maker.random.shuffle(parts)
    while len(parts) > 2:
        at = maker.random.randrange(len(parts) - 1)
        parts[at : at + 2] = [(head, parts[at], parts[at + 1])]
    return (head, *parts)


def _chain(expr: tuple, head: str) -> list[tuple]:
    """Operands of nested applications of one operation."""
    if expr[0] != head:
        return [expr]
    return [leaf for part in expr[1:] for leaf in _chain(part, head)]


def shuffled_condition(maker: Maker, condition: tuple) -> tuple:
    head = condition[0]
    if head == "not":
        return (head, shuffled_condition(maker, condition[1]))
    if head in ("all", "any"):
        parts = [shuffled_condition(maker, part) for part in condition[1:]]
        maker.random.shuffle(parts)
        return (head, *parts)
    return (head, *(shuffled(maker, side) for side in condition[1:]))


@settings(max_examples=examples(600))
@given(makers)
def test_equal_values_built_in_another_order_are_equal(maker: Maker):
    expr = ("add", maker.expression(3), ("add", maker.expression(2), maker.expression(2)))
    space = Space()
    symbols = declare(space)
    first = build(space.root, symbols, expr)
    second = build(space.root, symbols, shuffled(maker, expr))
    assert first == second
    assert hash(first) == hash(second)
    assert str(first) == str(second)


@settings(max_examples=examples(300))
@given(makers)
def test_a_quotient_and_its_remainder_make_the_whole_whatever_is_added_in_between(maker: Maker):
    space = Space()
    symbols = declare(space)
    ctx = space.root
    value, divisor, other = (build(ctx, symbols, maker.affine()) for _ in range(3))
    quotient, remainder = ctx.fdiv(value, divisor), ctx.mod(value, divisor)
    assert remainder * other + (other * other + quotient * divisor * other) == (
        value * other + other * other
    )
    assert divisor * ctx.tdiv(value, divisor) + ctx.trem(value, divisor) == value


@pytest.fixture
def space() -> Space:
    return Space()


def test_the_quotient_of_zero_is_zero_whatever_the_divisor(space: Space):
    divisor = 8 * space.symbol("n") + 1
    assert space.root.fdiv(0, divisor) == space.zero
    assert space.root.mod(0, divisor) == space.zero


def test_text_orders_terms_by_degree_then_name(space: Space):
    z, qz, a = (space.symbol(name) for name in ("z", "stride_qz", "a"))
    assert str(2 * qz * z + 64) == "2*stride_qz*z + 64"
    assert str(64 - z + a * 3 - qz * z) == "-stride_qz*z + 3*a - z + 64"
    assert str(z * z - 1) == "z*z - 1"
    assert str(space.zero) == "0"
    assert str(space.const(-7)) == "-7"
    assert repr(a + 1) == "Poly(a + 1)"


def test_text_of_symbols_with_a_divisor(space: Space):
    n = space.symbol("n", divisor=16)
    m = space.symbol("m", divisor=4)
    ctx = space.root
    assert str(n) == "n"
    assert str(256 * n * m) == "256*m*n"
    assert str(ctx.fdiv(n, 16)) == "fdiv(n, 16)"
    assert str(ctx.fdiv(n, 16) * m) == "m*fdiv(n, 16)"
    assert str(ctx.ceil_div(n, 256)) == "fdiv(n + 240, 256)"
    assert str(ctx.fdiv(n, 8)) == "2*fdiv(n, 16)"
    assert ctx.fdiv(n, 16) * 16 == n


def test_text_of_opaque_values(space: Space):
    lane, pid = space.symbol("lane"), space.symbol("pid")
    assert str(space.call("%ids", (lane,)) * 2) == "2*%ids(lane)"
    assert str(space.call("%lda", (pid, lane), hidden=2) * 2) == "2*%lda"
    assert str(space.call("%v", (lane, pid), hidden=1)) == "%v(lane)"
    assert str(space.call("%w")) == "%w"
    assert space.call("%w") != space.call("%w", (pid,), hidden=1)


def test_text_of_views(space: Space):
    x = space.symbol("x")
    s = space.symbol("s")
    ctx = space.root
    quotient = ctx.fdiv(x, 8)
    assert str(ctx.mod(x, 8) * 4) == "4*mod(x, 8)"
    assert str(quotient * 8 * s + ctx.mod(x, 8)) == "8*s*fdiv(x, 8) + mod(x, 8)"
    assert str(ctx.mod(ctx.fdiv(x, 4), 2)) == "mod(fdiv(x, 4), 2)"
    assert str(ctx.mod(ctx.fdiv(x, 2), 3) * 8) == "8*mod(fdiv(x, 2), 3)"
    assert str(ctx.mod(ctx.fdiv(x, 2), 4) * 16 + x) == "x + 16*mod(fdiv(x, 2), 4)"
    two = ctx.mod(x, 4) + ctx.mod(ctx.fdiv(x, 4), 4) * 8
    assert str(two) == "8*mod(fdiv(x, 4), 4) + mod(x, 4)"
    assert str(ctx.fdiv(x, 4) * 4 - ctx.fdiv(x, 16) * 32) == "-32*fdiv(x, 16) + 4*fdiv(x, 4)"
    assert str(quotient * 8 + x) == "x + 8*fdiv(x, 8)"
    assert str(x - ctx.mod(x, 16)) == "16*fdiv(x, 16)"
    assert str(ctx.trem(x, s)) == "trem(x, s)"
    assert str(ctx.select(ctx.compare("<", x, s), x * 2, 5)) == "sel(x < s, 2*x - 5, 0) + 5"
    kinds = {atom.kind for atom in ctx.mod(x, 8).view().atoms()}
    assert kinds == {SymbolKind.MOD}


def test_range_of_a_scaled_remainder_of_a_quotient(space: Space):
    """Its ring form, 8*fdiv(x, 2) - 24*fdiv(x, 6), had a range from -24 to 40."""
    x, t = space.symbol("x", Interval(0, 11)), space.symbol("t", Interval(0, 255))
    ctx = space.root
    column = ctx.mod(ctx.fdiv(x, 2), 3) * 8 + ctx.fdiv(t, 32) * 24 + ctx.mod(t, 4) * 2
    assert ctx.range(column) == Interval(0, 190)
    assert ctx.decide(ctx.compare("<", column + 1, 192)) is True


def test_range_of_two_remainders_of_one_value(space: Space):
    """Their quotients have a term in common: fdiv(t, 4) + 8*fdiv(t, 32) - 64*fdiv(t, 128)."""
    t, i = space.symbol("t", Interval(128, 255)), space.symbol("i", Interval(0, 63))
    ctx = space.root
    thread = ctx.mod(t, 128)
    row = ctx.mod(ctx.fdiv(thread, 4), 8) + ctx.fdiv(thread, 32) * 16
    assert ctx.range(row) == Interval(0, 55)
    row = row + ctx.mod(i, 2) * 8 + ctx.fdiv(i, 32) * 64
    assert ctx.range(row) == Interval(0, 127)


def test_parts(space: Space):
    x, y, z = (space.symbol(name) for name in "xyz")
    poly = 6 * x * y + 3 * x * x + 9 * y - 12
    assert poly.content == 3
    assert poly.constant_term == -12
    assert poly.degree == 2
    assert poly.constant is None
    assert (poly - poly).constant == 0
    assert [atom.name for atom in poly.atoms()] == ["x", "y"]
    linear, rest, higher = poly.split(x.atom)
    assert (linear, rest, higher) == (6 * y, 9 * y - 12, 3 * x * x)
    assert poly.coefficient_of(x.atom) is None
    assert poly.coefficient_of(y.atom) == 6 * x + 9
    assert poly.coefficient_of(z.atom) == 0
    assert len(poly) == 4
    assert x.atom is not None and (x * y).atom is None and (x + 1).atom is None
    assert poly.exact_quotient(3) == 2 * x * y + x * x + 3 * y - 4
    with pytest.raises(ValueError, match="does not divide"):
        poly.exact_quotient(2)


def test_affine_means_affine_however_deep(space: Space):
    x, y = space.symbol("x"), space.symbol("y")
    ctx = space.root
    assert (x * y + ctx.fdiv(y, 3)).coefficient_of(x.atom) == y
    assert (x * y + ctx.fdiv(x, 3)).coefficient_of(x.atom) is None
    assert (x * ctx.select(ctx.compare("<", x, 0), y, 0)).coefficient_of(x.atom) is None
    assert ctx.fdiv(ctx.mod(x, 5), y).mentions(x.atom)
    assert not ctx.fdiv(y, 3).mentions(x.atom)
    load = space.call("u", (x,))
    assert load.mentions(x.atom)
    assert load.mentions(load.atom)
    assert [a.name for a in ctx.fdiv(load, 3).atoms_within()] == ["x", "u", "fdiv"]


def test_dependencies_go_through_everything(space: Space):
    pid = space.symbol("pid0", deps=("pid0",))
    lane = space.symbol("lane0", Interval(0, 63))
    load = space.call("u0", (pid,), deps=("mem",))
    ctx = space.root
    chosen = ctx.select(ctx.compare("<", load, 3), lane, 0)
    assert chosen.deps == {"pid0", "mem", "lane0"}
    assert chosen.depends_on("mem")
    assert not lane.depends_on("pid0")
    assert (pid - pid).deps == frozenset()
    assert ctx.mod(pid * 64 + lane, 64).deps == {"lane0"}


def test_a_polynomial_is_no_condition(space: Space):
    with pytest.raises(TypeError, match="no truth value"):
        bool(space.symbol("x"))


def test_the_same_symbol_is_the_same_atom(space: Space):
    assert space.symbol("x", Interval(0, 3)) == space.symbol("x", Interval(0, 3))
    assert space.symbol("x", Interval(0, 3)) != space.symbol("x", Interval(0, 4))
    assert space.symbol("x", role=("lane", 0)).atom.role == ("lane", 0)
    with pytest.raises(ValueError, match="is divisible by 16"):
        space.symbol("n", Interval(1, 15), divisor=16)
    with pytest.raises(ValueError, match="at least 1"):
        space.symbol("n", divisor=0)


def test_values_beyond_the_limits_become_opaque_and_stay_exact(space: Space):
    ctx: Context = space.root
    many = [space.symbol(f"x{i}") for i in range(70)]
    total = sum(many[1:], many[0])
    wrapped = ctx.limited(total)
    assert len(wrapped) == 1
    assert wrapped.atom.is_opaque
    assert wrapped.deps == total.deps
    assert wrapped == ctx.limited(sum(reversed(many), space.zero))
    assert evaluate(wrapped, {f"x{i}": i for i in range(70)}) == sum(range(70))
    assert ctx.limited(prod(many[:7], start=space.one)).atom.kind is SymbolKind.WRAP
    assert ctx.limited(prod(many[:6], start=space.one)).degree == 6
    deep = many[0]
    for i in range(40):
        deep = ctx.fdiv(many[i] - deep, 7)
        assert deep.depth <= 8
    value = 0
    for i in range(40):
        value = (i - value) // 7
    assert evaluate(deep, {f"x{i}": i for i in range(70)}) == value
