"""Allocators in numba-cuda's simulator: views of pools, local arrays, zeroing, nesting.

A view of a pool can be taken anywhere; a local array only inside a kernel, so those are launched.
"""

import sys

import numpy as np
import pytest

pytest.importorskip(
    "numba", reason="allocators run in the simulator of numba-cuda, which is not installed"
)

from numba import cuda

from tests.memory.registry.support import Owner, group_of
from tilewright.buffers import BufferGroup, BufferRegistry, CUDABuffer
from tilewright.memory.registry import allocators

POISON = -77.0
BOTH = pytest.mark.parametrize("policy", ["compat", "strict"])


def pools(shared, persistent, dtype=np.float32):
    return np.full(shared, POISON, dtype), np.full(persistent, POISON, dtype)


def window(view, pool):
    """Start and stop of `view` in elements of `pool`."""
    ends = [array.__array_interface__["data"][0] for array in (view, pool)]
    start = (ends[0] - ends[1]) / pool.itemsize
    return start, start + view.nbytes / pool.itemsize


def test_the_first_place_given_is_used():
    buffer = CUDABuffer("b", 2, "local")
    shared, persistent = pools(10, 10)
    first = buffer.build_allocator(slice(3, 5), slice(6, 8), 2)(shared, persistent)
    second = buffer.build_allocator(None, slice(6, 8), 2)(shared, persistent)
    assert window(first, shared) == (3, 5)
    assert window(second, persistent) == (6, 8)


@BOTH
def test_names(policy):
    group = group_of("S s3, P p3, L l3", policy=policy)
    for name in "spl":
        for zero in (False, True):
            assert group.get_allocator(name, zero).__name__ == "allocate_buffer"


@BOTH
def test_views_lie_where_the_layout_says(policy):
    group = group_of("S a3, S b5, S c2>b, P p4, P q2", policy=policy)
    shared, persistent = pools(8, 6)
    at = {n: window(group.get_allocator(n)(shared, persistent), shared) for n in "abc"}
    assert at == {"a": (0, 3), "b": (3, 8), "c": (3, 5)}
    at = {n: window(group.get_allocator(n)(shared, persistent), persistent) for n in "pq"}
    assert at == {"p": (0, 4), "q": (4, 6)}


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("precision", [np.float16, np.float32, np.float64, np.int32, np.int64])
@BOTH
def test_local_arrays(policy, precision, zero):
    group = BufferGroup(policy=policy)
    group.register("l", 5, "local", precision=precision)
    group.register("empty", 0, "local", precision=precision)
    take, take_empty = group.get_allocator("l", zero), group.get_allocator("empty", zero)
    seen = []

    @cuda.jit
    def kernel(out):
        made = take(out, out)
        seen.append((made.shape, made.dtype, take_empty(out, out).shape))
        if not zero:
            for i in range(5):
                made[i] = 0
        for i in range(5):
            out[i] = made[i]

    out = np.full(5, POISON)
    kernel[1, 1](out)
    assert seen == [((5,), np.dtype(precision), (1,))]
    np.testing.assert_array_equal(out, 0)


@BOTH
def test_zeroing_happens_at_every_call_and_nowhere_else(policy):
    group = group_of("S a2, S b3, P p2, P q2", policy=policy)
    shared, persistent = pools(5, 4)
    clear_b, clear_p = group.get_allocator("b", zero=True), group.get_allocator("p", zero=True)
    for _ in range(2):
        clear_b(shared, persistent)[1] = 5
        clear_p(shared, persistent)[0] = 6
        np.testing.assert_array_equal(shared, [POISON, POISON, 0, 5, 0])
        np.testing.assert_array_equal(persistent, [6, 0, POISON, POISON])
    np.testing.assert_array_equal(group.get_allocator("b")(shared, persistent), [0, 5, 0])


@BOTH
def test_zeroing_an_alias_clears_part_of_its_target(policy):
    group = group_of("S p5, S c2>p, S d2>p", policy=policy)
    shared, persistent = pools(5, 0)
    group.get_allocator("d", zero=True)(shared, persistent)
    np.testing.assert_array_equal(shared, [POISON, POISON, 0, 0, POISON])


@BOTH
def test_zero_size_views_start_at_the_pool(policy):
    group = group_of("S a4, S e0, P p4, P f0", policy=policy)
    shared, persistent = pools(4, 4)
    for name, pool in (("e", shared), ("f", persistent)):
        for zero in (False, True):
            view = group.get_allocator(name, zero)(shared, persistent)
            assert window(view, pool) == (0, 0)
    assert (shared == POISON).all()
    assert (persistent == POISON).all()


def test_an_allocator_keeps_its_slice():
    group = group_of("S a2, S b3")
    shared, persistent = pools(12, 0)
    old = group.get_allocator("b")
    group.register("a", 7, "shared")
    assert window(old(shared, persistent), shared) == (2, 5)
    assert window(group.get_allocator("b")(shared, persistent), shared) == (7, 10)


def test_compat_views_have_the_type_of_the_pool():
    group = BufferGroup()
    group.register("counter", 2, "shared", precision=np.int32)
    view = group.get_allocator("counter", zero=True)(*pools(2, 0, np.float64))
    assert view.dtype == np.float64
    np.testing.assert_array_equal(view, 0)


@pytest.mark.parametrize("pool", [np.uint8, np.float32, np.float64])
def test_strict_views_have_the_type_of_the_buffer(pool):
    group = BufferGroup(policy="strict")
    group.register("counter", 2, "shared", precision=np.int32)
    group.register("state", 2, "shared", precision=np.float64)
    group.register("kept", 3, "local", persistent=True, precision=np.float16)
    memory = np.zeros(64 // np.dtype(pool).itemsize, pool)
    counter, state, kept = (group.get_allocator(n)(memory, memory) for n in group.entries)
    assert [view.dtype for view in (counter, state, kept)] == [np.int32, np.float64, np.float16]
    counter[:] = (1, -2)
    state[:] = (0.1, 1e300)
    expected = np.array([1, -2], np.int32).tobytes() + np.array([0.1, 1e300]).tobytes()
    assert memory.tobytes()[:24] == expected
    assert len(kept) == 3


class Kernel(Owner):
    def __init__(self, precision, elements):
        self.precision = precision
        self.persistent_local_elements = elements


@BOTH
@pytest.mark.parametrize(
    ("precision", "elements"), [(np.float32, 3), (np.float64, 0), (np.float64, 5)]
)
def test_top_level(policy, precision, elements):
    alloc_shared, alloc_persistent = BufferRegistry(policy=policy).get_toplevel_allocators(
        Kernel(precision, elements)
    )
    assert alloc_shared.__name__ == "alloc_shared"
    assert alloc_persistent.__name__ == "alloc_persistent"
    seen = []

    @cuda.jit
    def kernel():
        seen.append((alloc_shared(), alloc_persistent()))

    kernel[1, 1, 0, 40]()
    [(shared, persistent)] = seen
    assert (shared.dtype, shared.shape) == (np.float32, (10,))
    nbytes = max(1, elements) * np.dtype(precision).itemsize
    if policy == "compat":
        assert (persistent.dtype, persistent.nbytes) == (precision, nbytes)
    else:
        # Made of the widest elements, so that views of any type are aligned.
        assert (persistent.dtype, persistent.nbytes) == (np.float64, (nbytes + 7) // 8 * 8)


@BOTH
def test_two_children_stay_in_their_own_part(policy):
    registry = BufferRegistry(policy=policy)
    parent, left, right = Owner(), Owner(), Owner()
    registry.register("head", parent, 2, "shared")
    for child, size in ((left, 3), (right, 4)):
        registry.register("s", child, size, "shared")
        registry.register("p", child, size - 1, "local", persistent=True)
    regions = {
        child: registry.get_child_allocators(parent, child, name)
        for child, name in ((left, "left"), (right, "right"))
    }
    registry.register("tail", parent, 1, "shared")
    shared, persistent = pools(10, 5)
    for child, value in ((left, 1), (right, 2)):
        inner = [take(shared, persistent) for take in regions[child]]
        for name in "sp":
            registry.get_allocator(name, child)(*inner)[:] = value
    np.testing.assert_array_equal(shared, [POISON] * 2 + [1] * 3 + [2] * 4 + [POISON])
    np.testing.assert_array_equal(persistent, [1] * 2 + [2] * 3)


def test_a_missing_numba_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "tilewright.memory.registry.numba_backend", raising=False)
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r"pip install 'tilewright\[numba\]'"):
        group_of("S a1").get_allocator("a")
    monkeypatch.undo()
    assert allocators.numba_backend().__name__.endswith("numba_backend")
