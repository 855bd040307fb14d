"""Loads and stores against the same thing done lane by lane in plain Python."""

from __future__ import annotations

from itertools import product
from math import prod

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.targets.numpy.memory_support import memory_of, site
from tilewright.targets.numpy import memory as memory_module
from tilewright.targets.numpy import terms as terms_module
from tilewright.targets.numpy.api import Buffer, Descriptor, RunOptions, RunReport
from tilewright.targets.numpy.faults import MemoryFault
from tilewright.targets.numpy.memory import open_memory
from tilewright.targets.numpy.selections import Elements, Windows, windows

DTYPES = [
    np.dtype(each)
    for each in (
        np.bool_,
        np.int8,
        np.int16,
        np.int32,
        np.int64,
        np.float16,
        np.float32,
        np.float64,
        ml_dtypes.bfloat16,
        ml_dtypes.float8_e4m3fn,
        ml_dtypes.float8_e5m2,
    )
]


@pytest.fixture(params=[0, terms_module.FEW_LANES], ids=["windows", "elements"])
def _way(request, monkeypatch):
    """Small accesses go the way of large ones, too."""
    monkeypatch.setattr(terms_module, "FEW_LANES", request.param)
    monkeypatch.setattr(memory_module, "FEW_LANES", request.param)
    monkeypatch.setattr(terms_module, "_MIN_BLOCK", 1 if request.param == 0 else 16)


def numbers(dtype: np.dtype, count: int, first: int = 0) -> np.ndarray:
    """Different bits for different places, none of them a NaN."""
    plain = (np.arange(first, first + count) * 37 + 11) % 61
    return (plain % 2 == 0) if dtype == np.bool_ else plain.astype(dtype)


@st.composite
def accesses(draw):
    """A block shape, terms of an address in elements, and terms of a mask."""
    programs = draw(st.integers(1, 4))
    shape = (programs, *draw(st.lists(st.integers(1, 5), max_size=2)))

    def term(values):
        axes = [draw(st.booleans()) for _ in shape]
        extents = tuple(extent if varies else 1 for extent, varies in zip(shape, axes, strict=True))
        if draw(st.integers(0, 5)) == 0:
            return draw(values(1)).reshape(())[()]
        return draw(values(prod(extents))).reshape(extents)

    def steps(count):
        regular = st.tuples(st.integers(-6, 6), st.integers(-4, 9)).map(
            lambda pair: pair[0] + pair[1] * np.arange(count, dtype=np.int64)
        )
        anything = st.lists(st.integers(0, 20), min_size=count, max_size=count).map(
            lambda flat: np.array(flat, np.int64)
        )
        return regular | regular | anything

    def truths(count):
        prefix = st.integers(0, count).map(lambda end: np.arange(count) < end)
        anything = st.lists(st.booleans(), min_size=count, max_size=count).map(np.array)
        return st.just(np.ones(count, np.bool_)) | prefix | prefix | anything

    address = tuple(term(steps) for _ in range(draw(st.integers(1, 3))))
    mask = tuple(term(truths) for _ in range(draw(st.integers(0, 2))))
    active = draw(st.none() | truths(programs))
    return shape, address, mask, active


def lanes_of(shape, address, mask, active):
    """For each lane its element and whether it takes part, in order of programs."""
    places = np.broadcast_to(sum(address), shape)
    taking_part = np.ones(shape, np.bool_)
    for term in mask:
        taking_part = taking_part & term
    if active is not None:
        taking_part = taking_part & active.reshape((-1,) + (1,) * (len(shape) - 1))
    return [(lane, int(places[lane]), bool(taking_part[lane])) for lane in np.ndindex(shape)]


def launch(access, dtype, kind, *, margin: int, root=0):
    """Memory for the access, its array, and the address in bytes.

    The array ends `margin` elements before the greatest element of any lane: lanes beyond must be
    masked off.
    """
    shape, address, _, active = access
    lanes = lanes_of(*access)
    least = min(place for _, place, _ in lanes)
    size = max([place for _, place, taking_part in lanes if taking_part] + [0, least]) - least + 1
    array = numbers(dtype, size + (0 if margin else 7))
    grid = (shape[0], 1, 1)
    memory = memory_of([site(kind, dtype, shape[1:], root)], array, grid=grid)
    memory.active = active
    base = memory.address_of(0) - least * dtype.itemsize
    terms = (base, *(term * dtype.itemsize for term in address))
    return memory, array, terms, [(lane, place - least, on) for lane, place, on in lanes]


@pytest.mark.usefixtures("_way")
@given(
    access=accesses(),
    dtype=st.sampled_from(DTYPES),
    margin=st.integers(0, 1),
    with_other=st.booleans(),
    known=st.booleans(),
)
def test_a_load_reads_each_lane(access, dtype, margin, with_other, known):
    memory, array, address, lanes = launch(
        access, dtype, "load", margin=margin, root=0 if known else None
    )
    other = numbers(dtype, 1, 5)[0] if with_other else None
    found = memory.load(0, address, access[2], other)
    assert found.dtype == dtype
    found = np.broadcast_to(found, access[0])
    active = access[3]
    for lane, place, taking_part in lanes:
        if active is not None and not active[lane[0]]:
            continue  # what an inactive program reads is unspecified
        background = np.zeros((), dtype)[()] if other is None else other
        expected = array[place] if taking_part else background
        assert found[lane] == expected, lane


@pytest.mark.usefixtures("_way")
@given(
    access=accesses(),
    dtype=st.sampled_from(DTYPES),
    margin=st.integers(0, 1),
    known=st.booleans(),
    whole=st.booleans(),
)
def test_a_store_writes_each_lane_in_order(access, dtype, margin, known, whole):
    memory, array, address, lanes = launch(
        access, dtype, "store", margin=margin, root=0 if known else None
    )
    extents = access[0] if whole else (1,) * (len(access[0]) - 1) + access[0][-1:]
    value = numbers(dtype, prod(extents), 3).reshape(extents)
    expected = array.copy()
    values = np.broadcast_to(value, access[0])
    for lane, place, taking_part in lanes:
        if taking_part:
            expected[place] = values[lane]
    memory.store(0, address, value, access[2])
    assert array.tobytes() == expected.tobytes()


@st.composite
def views(draw):
    """A strided view of an array of at most three axes, and the array."""
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    whole = numbers(np.dtype(np.int32), prod(shape)).reshape(shape)
    cuts = [
        slice(None, None, draw(st.sampled_from([1, 2, 3, -1, -2]))) if extent > 1 else slice(None)
        for extent in shape
    ]
    order = draw(st.permutations(range(len(shape))))
    return whole[tuple(cuts)].transpose(order), whole


@pytest.mark.usefixtures("_way")
@given(view=views(), data=st.data())
def test_a_view_is_accessed_by_its_strides(view, data):
    array, whole = view
    picks = data.draw(st.lists(st.integers(0, array.size - 1), min_size=1, max_size=6))
    indices = np.array([np.unravel_index(pick, array.shape) for pick in picks])
    offsets = (indices * np.array(array.strides)).sum(axis=1)[None]
    sites = [site("load", "i4", (len(picks),)), site("store", "i4", (len(picks),))]
    memory = memory_of(sites, array)
    address = (memory.address_of(0), offsets)
    expected = array.reshape(-1)[picks]
    np.testing.assert_array_equal(memory.load(0, address, (), None), expected[None])
    around = whole.copy()
    memory.store(1, address, (expected * 2)[None], ())
    np.testing.assert_array_equal(array.reshape(-1)[picks], expected * 2)
    changed = np.flatnonzero((around != whole).reshape(-1))
    assert len(changed) <= len(set(picks))


@given(view=views(), distance=st.integers(-8, 60))
def test_bytes_between_the_elements_of_a_view_are_not_accessed(view, distance):
    """Every address is an element of the view or a fault; which, is decided by looking at them all."""
    array, _ = view
    memory = memory_of([site("load", "i4")], array)
    addresses = {
        sum(index * stride for index, stride in zip(indices, array.strides, strict=True))
        for indices in product(*map(range, array.shape))
    }
    low = min(addresses)
    address = (memory.address_of(0) + np.int64(low + distance * 4),)
    if low + distance * 4 in addresses:
        assert memory.load(0, address, (), None) in array
    else:
        with pytest.raises(MemoryFault) as fault:
            memory.load(0, address, (), None)
        inside = 0 <= distance * 4 <= max(addresses) - low
        assert fault.value.kind == ("between elements" if inside else "out of bounds")


# Other element sizes than the array's, truth values, NaNs.


def test_a_packed_load_reads_several_elements_at_once():
    array = np.arange(8, dtype=np.int8)
    memory = memory_of([site("load", "i4", (2,))], array)
    found = memory.load(0, (memory.address_of(0), np.array([[0, 4]])), (), None)
    np.testing.assert_array_equal(found, array.view(np.int32)[None])


def test_elements_of_another_size_are_aligned_to_themselves():
    array = np.arange(12, dtype=np.int8)[1:]
    memory = memory_of([site("load", "i2")], array)
    address = memory.address_of(0)
    assert memory.load(0, (address + 1,), (), None) == array[1:3].copy().view(np.int16)[0]
    with pytest.raises(MemoryFault) as fault:
        memory.load(0, (address,), (), None)
    assert fault.value.kind == "misaligned"


def test_any_byte_but_zero_is_true():
    array = np.array([0, 1, 2, 255], np.uint8)
    memory = memory_of([site("load", np.bool_, (4,))], array)
    found = memory.load(0, (memory.address_of(0), np.arange(4)[None]), (), None)
    assert found.tolist() == [[False, True, True, True]]


def test_bits_of_a_nan_are_preserved():
    array = np.zeros(2, np.float32)
    bits = np.array([0x7F800001, 0xFFC12345], np.uint32)
    memory = memory_of([site("store", "f4", (2,)), site("load", "f4", (2,))], array)
    address = (memory.address_of(0), np.array([[0, 4]]))
    memory.store(0, address, bits.view(np.float32)[None], ())
    assert array.view(np.uint32).tolist() == bits.tolist()
    assert memory.load(1, address, (), None).view(np.uint32).tolist() == [bits.tolist()]


def test_scalars_come_back_as_scalars():
    memory = memory_of([site("load", "f4")], np.array([5.0], np.float32))
    found = memory.load(0, (memory.address_of(0),), (), None)
    assert isinstance(found, np.float32)
    assert found == 5


# Addresses of which nothing is known.


def test_lanes_may_belong_to_different_arrays():
    x, y = np.arange(4, dtype=np.int32), np.arange(10, 14, dtype=np.int32)
    memory = memory_of([site("load", "i4", (3,), None), site("store", "i4", (3,), None)], x, y)
    here, there = memory.address_of(0), memory.address_of(1)
    address = (np.array([[there + 8, here, there]]),)
    assert memory.load(0, address, (), None).tolist() == [[12, 0, 10]]
    memory.store(1, address, np.array([[7, 8, 9]], np.int32), ())
    assert x.tolist() == [8, 1, 2, 3]
    assert y.tolist() == [9, 11, 7, 13]


def test_arrays_that_are_reached_through_memory():
    far = np.arange(4, dtype=np.int32)
    pointers = np.array([far.ctypes.data], np.int64)
    sites = [site("load", "i8"), site("load", "i4", (4,), None)]
    memory = memory_of(sites, pointers, reachable=(Buffer("far", far),))
    pointer = memory.load(0, (memory.address_of(0),), (), None)
    found = memory.load(1, (pointer, np.arange(4)[None] * 4), (), None)
    assert found.tolist() == [[0, 1, 2, 3]]


def test_views_of_one_array_are_one_memory_for_an_unknown_address():
    whole = np.arange(12, dtype=np.int32).reshape(3, 4)
    memory = memory_of([site("load", "i4", (3,), None)], whole[:, 0], whole[:, 2])
    address = memory.address_of(0) + np.array([[0, 8, 16]])
    assert memory.load(0, (address,), (), None).tolist() == [[0, 2, 4]]
    with pytest.raises(MemoryFault) as fault:
        memory.load(0, (address + 4,), (), None)
    assert fault.value.kind == "between elements"


def test_a_descriptor_stands_for_its_buffer():
    array = np.arange(16, dtype=np.float32)
    descriptor = Descriptor(Buffer("d", array), (4, 4), (4, 1))
    memory = open_memory([site("load", "f4")], [descriptor], (1, 1, 1), RunOptions(), RunReport())
    memory.begin(np.arange(1))
    assert memory.load(0, (memory.address_of(0) + 20,), (), None) == 5


def test_an_empty_array_may_be_given_if_it_is_not_accessed():
    memory = memory_of([site("load", "f4", (4,))], np.empty(0, np.float32))
    address = (memory.address_of(0), np.arange(4)[None] * 4)
    found = memory.load(0, address, (np.zeros((1, 4), np.bool_),), np.float32(3))
    assert np.broadcast_to(found, (1, 4)).tolist() == [[3, 3, 3, 3]]
    with pytest.raises(MemoryFault):
        memory.load(0, address, (), None)


def test_without_bounds_checks_bad_lanes_are_left_out():
    array = np.arange(4, dtype=np.int32)
    sites = [site("load", "i4", (3,)), site("store", "i4", (3,))]
    memory = memory_of(sites, array, check_bounds=False)
    address = (memory.address_of(0), np.array([[8, 12, 16]]))
    assert memory.load(0, address, (), None).tolist() == [[2, 3, 0]]
    memory.store(1, address, np.array([[7, 8, 9]], np.int32), ())
    assert array.tolist() == [0, 1, 7, 8]


# Large accesses take the quick ways, and only those they may.


def big(monkeypatch, *ways: str):
    """Count which ways are taken."""
    taken: list[str] = []
    for way in ways:
        plain = getattr(memory_module.LaunchMemory, way)

        def counted(self, *arguments, _plain=plain, _way=way):
            taken.append(_way)
            return _plain(self, *arguments)

        monkeypatch.setattr(memory_module.LaunchMemory, way, counted)
    return taken


def test_a_cropped_block_is_not_looked_at_lane_by_lane(monkeypatch):
    taken = big(monkeypatch, "_load_lanes", "_store_lanes")
    rows, columns = 64, 128
    array = numbers(np.dtype(np.int32), rows * 100).reshape(rows, 100)
    sites = [site("load", "i4", (1, columns)), site("store", "i4", (1, columns))]
    memory = memory_of(sites, array, grid=(rows, 1, 1))
    row = np.arange(rows).reshape(-1, 1, 1) * 400
    column = np.arange(columns).reshape(1, 1, -1)
    address = (memory.address_of(0), row, column * 4)
    found = memory.load(0, address, (column < 100,), np.int32(-1))
    assert (found[:, 0, :100] == array).all()
    assert (found[:, 0, 100:] == -1).all()
    memory.store(1, address, found * 2, (column < 100,))
    assert (array == found[:, 0, :100] * 2).all()
    assert taken == []


def test_only_the_last_programs_need_their_mask(monkeypatch):
    taken = big(monkeypatch, "_load_lanes", "_store_lanes")
    programs, lanes = 16, 512
    array = numbers(np.dtype(np.float32), programs * lanes - 300)
    out = np.zeros_like(array)
    sites = [site("load", "f4", (lanes,)), site("store", "f4", (lanes,), 1)]
    memory = memory_of(sites, array, out, grid=(programs, 1, 1))
    offsets = np.arange(programs)[:, None] * lanes + np.arange(lanes)
    terms = (np.arange(programs)[:, None] * lanes * 4, np.arange(lanes)[None] * 4)
    mask = (offsets < len(array),)
    found = memory.load(0, (memory.address_of(0), *terms), mask, None)
    memory.store(1, (memory.address_of(1), *terms), found, mask)
    np.testing.assert_array_equal(out, array)
    assert taken == ["_store_lanes"]


# Selections by themselves.


@given(
    starts=st.integers(40, 60) | st.lists(st.integers(40, 60), min_size=1, max_size=4),
    axes=st.lists(st.tuples(st.integers(1, 4), st.integers(-3, 5)), min_size=1, max_size=3),
    data=st.data(),
)
def test_windows_are_their_elements(starts, axes, data):
    first = starts if isinstance(starts, int) else np.array(starts)
    chosen = windows(
        first, tuple(extent for extent, _ in axes), tuple(stride for _, stride in axes)
    )
    each = Elements(chosen.elements())
    assert each.shape == chosen.shape
    table = np.arange(140, dtype=np.uint16)
    np.testing.assert_array_equal(chosen.take(table), each.take(table))
    values = np.arange(prod(chosen.shape), dtype=np.uint16).reshape(chosen.shape) + 500
    one, other = table.copy(), table.copy()
    chosen.put(one, values)
    for place, value in zip(each.index.reshape(-1), values.reshape(-1), strict=True):
        other[place] = value
    np.testing.assert_array_equal(one, other)
    if chosen.is_injective:
        assert len(np.unique(each.index)) == each.index.size
    ratio, offset = data.draw(st.integers(1, 3)), data.draw(st.integers(0, 5))
    scaled = chosen.rescaled(ratio, offset)
    np.testing.assert_array_equal(scaled.elements(), each.rescaled(ratio, offset).index)
    assert isinstance(scaled, Windows)


def test_what_all_programs_read_has_one_shape_whichever_are_active():
    # Generated code derives the rank of a value from its operands; the active mask must not add one.
    memory = memory_of([site("load", np.int32)], np.arange(4, dtype=np.int32), grid=(3, 1, 1))
    memory.begin(np.arange(3))
    memory.active = np.array([False, True, False])
    found = memory.load(0, (memory.address_of(0) + np.int64(8),), (), None)
    assert (found.shape, int(found)) == ((), 2)
