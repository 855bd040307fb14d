"""Layouts of buffers and fragments."""

import pytest

from tests.language.T.kernels import body, mistake
from tilewright import T


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
