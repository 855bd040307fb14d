"""Linear layouts: algebra under hypothesis, against enumeration, and against Triton's own."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.layouts import triton_oracle
from tests.sampling import examples
from tilewright.layouts.linear import LANE, REGISTER, WARP, LinearLayout

OUTS = ("dim0", "dim1")


@st.composite
def layouts(draw: st.DrawFn, ins: tuple[str, ...] = (REGISTER, LANE), outs: tuple[str, ...] = OUTS, max_bits: int = 3) -> LinearLayout:  # fmt: skip
    sizes = {name: 1 << draw(st.integers(0, max_bits)) for name in outs}
    bases: dict[str, list[tuple[int, ...]]] = {}
    for name in ins:
        count = draw(st.integers(0, max_bits))
        bases[name] = [
            tuple(draw(st.integers(0, size - 1)) for size in sizes.values()) for _ in range(count)
        ]
    return LinearLayout.of(bases, sizes)


@st.composite
def permutations(draw: st.DrawFn, bits: int, source: str, target: str) -> LinearLayout:
    """An invertible layout of one input and one output: rows added to rows, then shuffled."""
    columns = [1 << bit for bit in draw(st.permutations(range(bits)))]
    for target_bit, source_bit in draw(
        st.lists(st.tuples(st.integers(0, bits - 1), st.integers(0, bits - 1)), max_size=6)
    ):
        if target_bit != source_bit:
            columns[target_bit] ^= columns[source_bit]
    return LinearLayout.of({source: [(c,) for c in columns]}, {target: 1 << bits})


@given(layouts())
def test_apply_is_the_xor_of_bases_and_agrees_with_the_table(layout: LinearLayout):
    table = layout.table()
    for index, (inputs, point) in enumerate(layout.points()):
        expected = np.zeros(2, dtype=int)
        for name, bases in layout.bases:
            for bit, basis in enumerate(bases):
                if inputs[name] >> bit & 1:
                    expected ^= np.array(basis)
        assert point == tuple(expected) == layout(**inputs)
        assert table[index] == expected[0] + layout.out_size("dim0") * expected[1]
        assert layout.apply(inputs) == dict(zip(OUTS, point, strict=True))


@given(layouts())
def test_ranks_and_copies_by_enumeration(layout: LinearLayout):
    table = layout.table()
    assert layout.is_surjective() == (len(set(table)) == layout.total_out_size)
    assert layout.is_injective() == (len(set(table)) == layout.total_in_size)
    assert 1 << layout.rank == len(set(table))
    zeros = {tuple(inputs.values()) for inputs, point in layout.points() if not any(point)}
    reached = {(0, 0)}
    for vector in layout.kernel():
        assert not any(layout(**vector))
        reached |= {(a ^ vector[REGISTER], b ^ vector[LANE]) for a, b in reached}
    assert reached == zeros
    free = sum(mask.bit_count() for mask in layout.free_variables().values())
    assert free == len(layout.kernel())


@given(permutations(4, "a", "b"), permutations(4, "b", "c"), permutations(4, "c", "d"))
def test_composition_is_associative_and_inverts_backwards(
    f: LinearLayout, g: LinearLayout, h: LinearLayout
):
    assert f.compose(g).compose(h) == f.compose(g.compose(h))
    for value in range(16):
        assert f.compose(g)(a=value) == g(b=f(a=value)[0])
    assert f.compose(f.invert()) == LinearLayout.identity(16, "a", "a")
    assert f.compose(g).invert() == g.invert().compose(f.invert())


@given(layouts(max_bits=2), layouts(max_bits=2), layouts(max_bits=2))
def test_multiplication_is_associative_and_tiles(f: LinearLayout, g: LinearLayout, h: LinearLayout):
    assert (f * g) * h == f * (g * h)
    both = f * g
    for (a, p), (b, q) in itertools.product(f.points(), g.points()):
        inputs = {name: a[name] + f.in_size(name) * b[name] for name in a}
        scaled = tuple(x + f.out_size(o) * y for o, x, y in zip(OUTS, p, q, strict=True))
        assert both(**inputs) == scaled
    assert both.divide_left(f) == g


@given(layouts())
def test_the_pseudo_inverse_finds_the_lowest_owner(layout: LinearLayout):
    if not layout.is_surjective():
        with pytest.raises(ValueError, match="does not reach every element"):
            layout.pseudo_inverse()
        return
    inverse = layout.pseudo_inverse()
    lowest: dict[tuple[int, ...], tuple[int, ...]] = {}
    free = layout.free_variables()
    for inputs, point in layout.points():
        if all(not inputs[name] & free[name] for name in inputs):
            assert point not in lowest
            lowest[point] = tuple(inputs.values())
    for point, inputs in lowest.items():
        assert inverse(**dict(zip(OUTS, point, strict=True))) == inputs


@given(layouts(max_bits=2), layouts(ins=(REGISTER, LANE, WARP)))
def test_invert_and_compose_leads_to_the_same_element(f: LinearLayout, g: LinearLayout):
    widened = LinearLayout(f.bases, tuple((n, max(s, g.out_size(n))) for n, s in f.out_dims))
    if not g.is_surjective() or widened.out_shape != g.out_shape:
        return
    map_back = widened.invert_and_compose(g)
    assert map_back.compose(g) == widened


@given(layouts(), layouts())
def test_same_map_looks_at_every_index(f: LinearLayout, g: LinearLayout):
    shapes = {name: f.in_size(name) for name in f.in_names if f.in_size(name) > 1}
    others = {name: g.in_size(name) for name in g.in_names if g.in_size(name) > 1}
    outs = {name: size for name, size in f.out_dims if size > 1}
    other_outs = {name: size for name, size in g.out_dims if size > 1}
    same = shapes == others and outs == other_outs and dict_of_points(f) == dict_of_points(g)
    assert f.same_map(g) == same
    assert f.same_map(f.reordered((LANE, REGISTER), ("dim1", "dim0")))


def dict_of_points(layout: LinearLayout) -> dict[tuple[int, int], tuple[int, ...]]:
    return {(i[REGISTER], i[LANE]): point for i, point in layout.points()}


def test_quotients_take_away_what_goes_straight_through():
    inner = LinearLayout.of({REGISTER: [(2,), (1,)]}, {REGISTER: 4})
    lanes = LinearLayout.identity(32, LANE, LANE)
    whole = inner * lanes
    assert whole.quotient([LANE]) == inner
    assert whole.quotient([REGISTER]) is None
    crossed = LinearLayout.of({REGISTER: [(1, 1)], LANE: [(0, 1)]}, {REGISTER: 2, LANE: 2})
    assert crossed.quotient([LANE]) is None
    assert crossed.quotient([REGISTER]) is None


def test_errors_of_invalid_layouts():
    with pytest.raises(ValueError, match="the size of dim0 must be a power of two, got 3"):
        LinearLayout.of({LANE: []}, {"dim0": 3})
    with pytest.raises(ValueError, match=r"lane: \(4,\) is outside of dim0, which has size 4"):
        LinearLayout.of({LANE: [(4,)]}, {"dim0": 4})
    with pytest.raises(ValueError, match="lane is 2, expected below 2"):
        LinearLayout.identity(2, LANE, "dim0")(lane=2)
    with pytest.raises(ValueError, match="has no input warp"):
        LinearLayout.identity(2, LANE, "dim0")(warp=1)
    with pytest.raises(ValueError, match="one to one"):
        LinearLayout.zeros(2, LANE, "dim0").invert()


def test_text_lists_where_each_bit_goes():
    layout = LinearLayout.of({REGISTER: [(0, 1), (8, 0)], LANE: [(0, 2)], WARP: []}, {"dim0": 16, "dim1": 4})  # fmt: skip
    assert str(layout) == (
        "(dim0: 16, dim1: 4)\n"
        "  register  1→(0,1)  2→(8,0)\n"
        "  lane      1→(0,2)\n"
        "  warp      always 0"
    )


def test_matrix_and_reshape():
    layout = LinearLayout.of({REGISTER: [(1, 0), (0, 1)], LANE: [(1, 2)]}, {"dim0": 2, "dim1": 4})
    assert layout.as_matrix() == [[1, 0, 1], [0, 1, 0], [0, 0, 1]]
    flat = layout.reshaped_outs({"flat": 8})
    assert flat.bases_of(LANE) == ((5,),)
    assert layout.flattened().table() == layout.table()
    assert layout.image(0b101) == 0b100


# --- against Triton's own class ---------------------------------------------------------------


def of_triton(layout: LinearLayout, require_surjective: bool = False) -> Any:
    triton_oracle.require()
    from triton._C.libtriton.linear_layout import LinearLayout as Triton

    names = list(layout.out_names)
    bases = [(name, [list(b) for b in group]) for name, group in layout.bases]
    return Triton.from_bases(bases, names, list(layout.out_shape), require_surjective)


def ours(found: Any) -> LinearLayout:
    bases = {name: [tuple(b) for b in group] for name, group in found.bases}
    return LinearLayout.of(bases, dict(found.out_dims))


@settings(max_examples=examples(60))
@given(layouts(), layouts())
def test_triton_multiplies_and_judges_the_same(f: LinearLayout, g: LinearLayout):
    left, right = of_triton(f), of_triton(g)
    assert ours(left * right) == f * g
    assert left.is_surjective() == f.is_surjective()
    assert left.is_injective() == f.is_injective()
    assert left.is_invertible() == f.is_invertible()
    assert [list(row) for row in left.get_matrix_view()] == f.as_matrix()


@settings(max_examples=examples(60))
@given(layouts(max_bits=2), permutations(4, "dim0", "x"))
def test_triton_composes_and_inverts_the_same(f: LinearLayout, g: LinearLayout):
    assert ours(of_triton(g).invert()) == g.invert()
    narrow = f.sublayout(f.in_names, ["dim0"])
    assert ours(of_triton(narrow).compose(of_triton(g))) == narrow.compose(g)
    if f.is_surjective():
        assert ours(of_triton(f).pseudoinvert()) == f.pseudo_inverse()
