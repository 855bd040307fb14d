"""Accesses of many iterations against one iteration after another, on random index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tilewright.targets.numpy.tile.support import elements
from tilewright.targets.numpy.tile.support.buffers import Filled, TileBuffer
from tilewright.targets.numpy.tile.support.elements import load, store
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import RuntimeFault


@st.composite
def _case(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], list[tuple[int, int, int]]]:
    """Extents of a loop and a buffer, and for each axis of the buffer a loop axis, step and start."""
    loop = tuple(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    rank = draw(st.integers(1, 3))
    shape = tuple(draw(st.integers(1, 6)) for _ in range(rank))
    index = [
        (
            draw(st.integers(-1, len(loop) - 1)),
            draw(st.sampled_from((1, 1, 1, -1, 2, 0))),
            draw(st.integers(-2, 4)),
        )
        for _ in range(rank)
    ]
    return loop, shape, index


def _indices(lanes: Lanes, index: list[tuple[int, int, int]]) -> tuple[Any, ...]:
    own = lanes.indices
    return tuple(
        np.int64(start) if axis < 0 else own[axis] * np.int64(step) + np.int64(start)
        for axis, step, start in index
    )


def _place(at: tuple[int, ...], index: list[tuple[int, int, int]]) -> tuple[int, ...]:
    return tuple(start if axis < 0 else at[axis] * step + start for axis, step, start in index)


def _is_inside(place: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(0 <= i < n for i, n in zip(place, shape, strict=True))


@given(_case(), st.booleans(), st.booleans(), st.sampled_from((1, 1024)))
@settings(max_examples=examples(150), deadline=None)
def test_load(case: Any, masked: bool, is_global: bool, least: int) -> None:
    loop, shape, index = case
    elements.MESH, before = least, elements.MESH  # both ways must agree
    try:
        lanes = Lanes(loop)
        data = np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1
        buffer = TileBuffer("b", data, "global" if is_global else "shared")
        if masked:
            lanes.active = (np.arange(lanes.size) % 3 != 1).reshape(loop)
        expected = np.zeros(loop, np.float32)
        is_outside = False
        for at in np.ndindex(*loop):
            if masked and not lanes.active[at]:
                continue
            place = _place(at, index)
            if _is_inside(place, shape):
                expected[at] = data[place]
            else:
                is_outside = True
        try:
            found = np.broadcast_to(load(lanes, buffer, _indices(lanes, index)), loop)
        except RuntimeFault as problem:
            assert problem.kind == "out of bounds"
            assert is_outside and not is_global
            return
        assert is_global or not is_outside
        seen = np.ones(loop, np.bool_) if lanes.active is None else lanes.active
        assert np.array_equal(found[seen], expected[seen])
    finally:
        elements.MESH = before


@given(_case(), st.booleans(), st.sampled_from((1, 1024)))
@settings(max_examples=examples(150), deadline=None)
def test_store(case: Any, masked: bool, least: int) -> None:
    loop, shape, index = case
    elements.MESH, before = least, elements.MESH
    try:
        lanes = Lanes(loop)
        data = np.zeros(shape, np.float32)
        shadow = Filled(np.zeros(shape, np.bool_))
        buffer = TileBuffer("b", data, "global", shadow)
        if masked:
            lanes.active = (np.arange(lanes.size) % 3 != 1).reshape(loop)
        values = np.arange(lanes.size, dtype=np.float32).reshape(loop) + 1
        expected = np.zeros(shape, np.float32)
        for at in np.ndindex(*loop):
            place = _place(at, index)
            if _is_inside(place, shape) and (not masked or lanes.active[at]):
                expected[place] = values[at]
        store(lanes, buffer, values, _indices(lanes, index))
        assert np.array_equal(data, expected)
        assert np.array_equal(shadow.flags, expected != 0)
    finally:
        elements.MESH = before


@given(_case(), st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_races_are_found_exactly(case: Any, reads: bool) -> None:
    """Two iterations at one element, one of them writing something else than is there."""
    loop, shape, index = case
    lanes = Lanes(loop)
    lanes.watch()
    data = np.zeros(shape, np.float32)
    buffer = TileBuffer("b", data, "global")
    values = (np.arange(lanes.size, dtype=np.float32) % 4 + 1).reshape(loop)
    by_place: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for at in np.ndindex(*loop):
        place = _place(at, index)
        if _is_inside(place, shape):
            by_place.setdefault(place, []).append(at)
    together = [group for group in by_place.values() if len(group) > 1]
    if reads:
        is_race = bool(together)
    else:
        is_race = any(len({float(values[at]) for at in group}) > 1 for group in together)
    where = _indices(lanes, index)
    try:
        if reads:
            load(lanes, buffer, where, 0)
        store(lanes, buffer, values, where, 1)
    except RuntimeFault as problem:
        assert problem.kind == "race"
        assert is_race
        return
    assert not is_race


def test_only_accessed_elements_are_recorded() -> None:
    """A tile of a large tensor: notes about all of it would take half a gigabyte an array."""
    data = np.zeros((1 << 13, 1 << 13), np.int8)
    buffer = TileBuffer("b", data, "global")
    lanes = Lanes((4, 4))
    lanes.watch()
    i, j = lanes.indices
    store(lanes, buffer, np.int8(1), (i * np.int64(2000), j), 0)
    store(lanes, buffer, np.int8(1), (i * np.int64(2000), j), 0)
    assert lanes.races is not None
    (log,) = lanes.races._logs.values()
    assert len(log.elements) == 16
    try:
        store(lanes, buffer, np.int8(2), (i * np.int64(2000), j[:, ::-1]), 1)
    except RuntimeFault as problem:
        assert "iteration (0, 0) writes b[0, 3], which iteration (0, 3) writes" in problem.message
    else:
        raise AssertionError("not found")
