"""Layouts of buffers and fragments."""

import pytest

from tests.language.T.kernels import body, mistake
from tilewright import T
from tilewright.frontend import builder


def test_a_layout_becomes_part_of_the_allocation():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8, 8), "float32")
            f = T.alloc_fragment((8,), "float32")
            fragment = T.Fragment(
                (8,), forward_thread_fn=lambda i: i // 2, forward_index_fn=lambda i: i % 2
            )
            T.annotate_layout({s: lambda i, j: [i, j ^ i], f: fragment})
            T.clear(s)
            T.clear(f)

    text = body(kernel)
    assert "#tile.layout<(i : 8, j : 8) -> (i, j xor i)>" in text
    assert "#tile.fragment<(i : 8) -> thread (i floordiv 2) index (i mod 2)>" in text


def test_a_fragment_by_one_function():
    fragment = T.Fragment((4, 8), forward_fn=lambda i, j: (i * 2 + j // 4, j % 4))
    data = fragment.attribute().data
    assert data.evaluate(3, 5) == (7, (1,))


@pytest.mark.parametrize(("shape", "dtype"), [((64, 64), "float16"), ((16, 32), "float32"),
                                              ((8, 128), "int8"), ((64, 48), "float16")])  # fmt: skip
def test_a_swizzle_moves_every_element_to_a_place_of_its_own(shape, dtype):
    found = {}

    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared(shape, dtype)
            found["layout"] = T.make_swizzled_layout(s)

    T.prim_func(kernel)
    data = found["layout"].attribute().data
    assert data.is_injective()
    assert tuple(data.physical_shape()) == shape


def test_layouts_need_numbers():
    m = T.dynamic("m")

    def kernel(A: T.Tensor((m,), "float32")):
        with T.Kernel(1):
            T.annotate_layout({A: T.Layout(A.shape, lambda i: [i])})

    assert "T.Layout needs a shape known at compile time, got (m,)" in mistake(kernel)


def test_what_is_no_layout():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            T.annotate_layout({A: 3})

    assert "the layout of A must be T.Layout, T.Fragment or a function" in mistake(kernel)


def test_a_fragment_with_replicas_by_one_function():
    fragment = T.Fragment((4,), forward_fn=lambda i, rep: (i * 2 + rep, 0), replicate=2)
    data = fragment.attribute().data
    assert [data.evaluate(3, replica=replica)[0] for replica in (0, 1)] == [6, 7]


def test_two_layouts_of_one_shape_are_read_back_as_two():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((8, 8), "float32")
            b = T.alloc_shared((8, 8), "float32")
            c = T.alloc_shared((8, 8), "float32")
            T.annotate_layout({a: lambda i, j: [j, i], b: lambda i, j: [i, j ^ i]})
            T.annotate_layout({c: lambda i, j: [j, i]})
            T.clear(a)
            T.clear(b)
            T.clear(c)

    text = body(kernel)  # read back by `body`
    assert text.count("(j, i)>") == 2
    assert text.count("(i, j xor i)>") == 1


# -- layouts that are made of others, and layouts by name ------------------------------------------


def owners(fragment):
    """(thread, register) of every element and replica."""
    found = fragment.attribute().data
    return {
        (*point, replica): found.evaluate(*point, replica=replica)
        for point in found.points()
        for replica in range(fragment.copies)
    }


def test_a_fragment_is_repeated_in_registers_and_in_threads():
    base = T.make_gemm_fragment_8x8()
    assert owners(base)[3, 5, 0] == (14, (1,))
    wide = base.repeat([2, 3])  # counted along the last dimension first
    assert owners(wide)[11, 13, 0] == (14, (1 + 2 * (3 + 1),))
    tall = base.repeat([2, 3], lower_dim_first=False)
    assert owners(tall)[11, 13, 0] == (14, (1 + 2 * (1 + 2),))
    threads = base.repeat([2, 1], repeat_on_thread=True)
    assert owners(threads)[11, 5, 0] == (14 + 32, (1,))
    assert (threads.get_thread_size(), threads.get_output_shape()) == (64, [2])
    twice = threads.replicate(2)
    assert [owners(twice)[11, 5, each][0] for each in (0, 1)] == [46, 46 + 64]
    again = twice.replicate(2)
    assert [owners(again)[11, 5, each][0] for each in range(4)] == [46, 110, 174, 238]
    assert base.replicate(1) is base
    with pytest.raises(ValueError, match="takes 2 counts"):
        base.repeat([2])


def test_layouts_are_compared_repeated_and_expanded():
    atom = T.Layout([8, 64], lambda i, j: i * 64 + j)
    assert atom.is_equal(T.Layout([8, 64], lambda a, b: b + 64 * a))
    assert not atom.is_equal(T.Layout([8, 64], lambda i, j: j * 8 + i))
    assert atom.repeat(0, 2).is_equal(T.Layout([16, 64], lambda i, j: [i // 8, i % 8 * 64 + j]))
    assert atom.repeat(-1, 3).get_output_shape() == [3, 512]
    assert atom.repeat(0, 1) is atom
    assert atom.expand([2]).is_equal(T.Layout([2, 8, 64], lambda b, i, j: [b, i * 64 + j]))
    for dim, factor in ((2, 2), (-3, 2), (0, 0), (0, 1.5)):
        with pytest.raises(ValueError, match=r"Layout\.repeat"):
            atom.repeat(dim, factor)


@pytest.mark.parametrize(("name", "width"), [("full", 128), ("half", 64), ("quarter", 32)])
def test_swizzles_spread_a_column_over_the_banks(name, width):
    columns = width // 2
    layout = getattr(T, f"make_{name}_bank_swizzled_layout")(8, 2 * columns, 16)
    found = layout.attribute().data
    places = {point: found.evaluate(*point) for point in found.points()}
    assert len(set(places.values())) == 8 * 2 * columns
    for (row, column), (panel, line, place) in places.items():
        chunk = column % columns // 8
        assert (panel, line) == (column // columns, row)
        assert place == (chunk ^ row % 8 // (128 // width)) * 8 + column % 8
    with pytest.raises(ValueError, match="needs a multiple of 8 rows"):
        getattr(T, f"make_{name}_bank_swizzled_layout")(4, columns, 16)


def test_constants_of_the_language_are_numbers_of_a_layout(monkeypatch):
    from tilewright.compat.tvm import const

    # What compat builds outside of kernels stays allowed for the process: not for other tests.
    monkeypatch.setattr(builder, "_outside", [])

    first = T.Layout([4, 2], lambda i, j: const(0, "int32"))
    assert first.is_equal(T.Layout([4, 2], lambda i, j: 0))
    assert not first.is_equal(T.Layout([4, 2], lambda i, j: i))


def test_sizes_that_come_first_are_positive_integers():
    layout = T.Layout([4, 2], lambda i, j: [i, j])
    with pytest.raises(TypeError, match="positive integers"):
        layout.expand("4")
    with pytest.raises(ValueError, match="positive integers"):
        layout.expand([0])
