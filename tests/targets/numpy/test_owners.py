"""A batch leaves memory as running its programs sequentially does, or is undone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.targets.numpy.memory_support import Kernel, Step, site
from tilewright.targets.numpy import owners, selections, spans, terms
from tilewright.targets.numpy.owners import is_ordered

RMW = ["add", "and", "or", "xor", "max", "min", "umax", "umin", "exch"]


@pytest.fixture(params=[0, terms.FEW_LANES], ids=["windows", "elements"])
def _way(request, monkeypatch):
    """Small accesses go the way of large ones, too."""
    monkeypatch.setattr(terms, "FEW_LANES", request.param)
    monkeypatch.setattr(terms, "_MIN_BLOCK", 1 if request.param == 0 else 16)


@st.composite
def tables(draw, programs: int, lanes: int, size: int) -> np.ndarray:
    """Elements for each lane: blocks, adjacent rows, one for all, or anything."""
    kind = draw(st.sampled_from(["block", "same", "reversed", "any", "any"]))
    if kind == "any" or size < programs + lanes:
        flat = st.lists(
            st.integers(0, size - 1), min_size=programs * lanes, max_size=programs * lanes
        )
        return np.array(draw(flat)).reshape(programs, lanes)
    step = draw(st.integers(0, (size - lanes) // programs))
    start = np.arange(programs)[:, None] * step
    row = np.arange(lanes)[None]
    if kind == "same":
        start = start * 0
    if kind == "reversed":
        start = start[::-1]
    return start + row


@st.composite
def kernels(draw) -> Kernel:
    programs, lanes = draw(st.integers(1, 6)), draw(st.integers(1, 5))
    sizes = draw(st.lists(st.integers(1, 24), min_size=2, max_size=2))
    alias = draw(st.sampled_from([[], [0, 0], [1, 0]]))
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        buffer = draw(st.integers(0, 1))
        size = sizes[alias[buffer] if alias else buffer]
        kind = draw(st.sampled_from(["load", "load", "store", "store", "atomic_rmw", "atomic_cas"]))
        mask = draw(
            st.none()
            | st.lists(st.booleans(), min_size=programs * lanes, max_size=programs * lanes).map(
                lambda flat: np.array(flat).reshape(programs, lanes)
            )
        )
        step = Step(
            kind,
            buffer,
            draw(tables(programs, lanes, size)),
            mask=None if kind == "atomic_cas" else mask,
            follows=draw(st.booleans()),
            known_root=draw(st.booleans()),
        )
        if kind == "atomic_rmw":
            step = replace(step, rmw=draw(st.sampled_from(RMW)), result_used=draw(st.booleans()))
        steps.append(step)
    return Kernel(programs, lanes, steps, sizes, alias)


def assert_same(kernel: Kernel, batch: int) -> int:
    expected, registers = kernel.run_plainly()
    found, found_registers, undone = kernel.run_in_batches(batch)
    for number, (one, other) in enumerate(zip(found, expected, strict=True)):
        np.testing.assert_array_equal(one, other, f"buffer {number}")
    np.testing.assert_array_equal(found_registers, registers)
    return undone


@pytest.mark.usefixtures("_way")
@given(kernel=kernels(), batch=st.integers(1, 6))
def test_a_batch_equals_its_programs_one_by_one(kernel: Kernel, batch: int):
    assert_same(kernel, batch)


BLOCKS = np.arange(4)[:, None] * 8 + np.arange(8)
ALL_THE_SAME = np.zeros((4, 8), np.int64)


def in_place(write: np.ndarray, read: np.ndarray = BLOCKS) -> Kernel:
    return Kernel(4, 8, [Step("load", 0, read), Step("store", 0, write)], [64])


@pytest.mark.usefixtures("_way")
@pytest.mark.parametrize(
    ("kernel", "undone"),
    [
        pytest.param(in_place(BLOCKS), 0, id="each its own block"),
        pytest.param(in_place(BLOCKS + 8), 1, id="the next one's block, read before it is written"),
        pytest.param(
            in_place(BLOCKS, BLOCKS + 8), 0, id="the next one's block is only read, in order"
        ),
        pytest.param(in_place(BLOCKS[::-1]), 1, id="blocks in reverse"),
        pytest.param(
            in_place(ALL_THE_SAME, BLOCKS + 1), 0, id="one element, written in order by one op"
        ),
        pytest.param(
            Kernel(4, 8, [Step("store", 0, ALL_THE_SAME), Step("store", 0, BLOCKS)], [32]),
            1,
            id="program 0 writes again what all others wrote",
        ),
        pytest.param(
            Kernel(4, 8, [Step("load", 0, BLOCKS), Step("store", 1, BLOCKS + 8)], [64], [0, 0]),
            1,
            id="the same array given twice",
        ),
    ],
)
def test_what_is_undone(kernel: Kernel, undone: int):
    assert assert_same(kernel, 4) == undone


@pytest.mark.parametrize("rmw", ["add", "max", "umin", "xor"])
def test_updates_of_one_kind_may_be_exchanged(rmw: str):
    update = Step("atomic_rmw", 0, ALL_THE_SAME, rmw=rmw, result_used=False)
    kernel = Kernel(4, 8, [update, Step("load", 1, BLOCKS), update], [32, 32])
    assert assert_same(kernel, 4) == 0


@pytest.mark.parametrize("other", ["exch", "or", "fetch"])
def test_updates_of_different_kinds_may_not(other: str):
    add = Step("atomic_rmw", 0, ALL_THE_SAME, rmw="add", result_used=False)
    then = (
        replace(add, rmw="add", result_used=True) if other == "fetch" else replace(add, rmw=other)
    )
    assert assert_same(Kernel(4, 8, [add, then], [32]), 4) == 1


def test_a_counter_that_everybody_fetches_once_is_batched():
    fetch = Step("atomic_rmw", 0, ALL_THE_SAME, rmw="add", result_used=True)
    slot = Step("store", 1, ALL_THE_SAME, follows=True)
    assert assert_same(Kernel(4, 8, [fetch, slot], [32, 64]), 4) == 0


LOOP = [Step("load", 0, BLOCKS, in_loop=True), Step("store", 0, BLOCKS, in_loop=True)] * 20


@pytest.mark.parametrize(
    ("last", "undone"), [(BLOCKS, 0), (BLOCKS[::-1], 1)], ids=["its own block", "another's"]
)
def test_long_loops_forget_elements_but_not_spans(last: np.ndarray, undone: int):
    assert assert_same(Kernel(4, 8, [*LOOP, Step("store", 0, last)], [32]), 4) == undone


def test_interleaved_programs_are_batched():
    """Columns of one row belong to different programs: their spans overlap, their elements do not."""
    columns = np.arange(4)[:, None] + np.arange(8) * 4
    assert assert_same(in_place(columns, columns), 4) == 0


def test_float_additions_keep_the_order_of_programs():
    add = Step("atomic_rmw", 0, ALL_THE_SAME, rmw="fadd", result_used=False)
    twice = Kernel(4, 8, [add, add], [4], dtype=np.float32)
    assert assert_same(twice, 4) == 1
    assert assert_same(replace(twice, steps=[add]), 4) == 0


# Which blocks need no tables.


@pytest.mark.parametrize(
    ("sites", "ordered"),
    [
        ([site("load", "f4"), site("load", "f4")], True),
        ([site("store", "f4")], True),
        ([site("store", "f4", in_loop=True)], False),
        ([site("store", "f4"), site("store", "f4")], False),
        ([site("load", "f4"), site("store", "f4")], False),
        ([site("atomic_rmw", "f4", rmw="fadd")], True),
        ([site("atomic_rmw", "f4", rmw="fadd", in_loop=True, result_used=False)], False),
        ([site("atomic_rmw", "i4", rmw="add", in_loop=True, result_used=False)] * 2, True),
        ([site("atomic_rmw", "i4", rmw="add", in_loop=True)], False),
        ([site("atomic_rmw", "i4", rmw="exch", in_loop=True, result_used=False)], False),
        (
            [
                site("atomic_rmw", "i4", rmw="max", result_used=False),
                site("atomic_rmw", "i4", rmw="umax", result_used=False),
            ],
            False,
        ),
        ([site("atomic_cas", "i4", in_loop=True)], False),
    ],
)
def test_what_is_ordered_by_the_ops_alone(sites, ordered: bool):
    assert is_ordered(sites) is ordered


@given(kernel=kernels())
def test_ops_that_are_ordered_need_no_tables(kernel: Kernel):
    """The result of `is_ordered` holds for any addresses: the batch is never undone, and right."""
    if is_ordered(kernel.sites()) and not any(step.follows for step in kernel.steps):
        assert assert_same(kernel, kernel.programs) == 0


# A check that cannot fail is none: each of these breaks the tracking, and the results differ.


def _differs(kernel: Kernel) -> bool:
    try:
        assert_same(kernel, 4)
    except AssertionError:
        return True
    return False


CONFLICTS = [
    in_place(BLOCKS[::-1]),
    in_place(BLOCKS + 8),
    Kernel(4, 8, [Step("store", 0, BLOCKS), Step("load", 0, BLOCKS[::-1])], [32]),
    Kernel(4, 8, [Step("store", 0, ALL_THE_SAME), Step("store", 0, BLOCKS)], [32]),
]


def test_without_the_tables_results_differ(monkeypatch):
    assert not any(map(_differs, CONFLICTS))
    monkeypatch.setattr(owners._Tables, "_require", lambda *_, **__: None)
    assert all(map(_differs, CONFLICTS))


def test_spans_that_never_overlap_are_caught(monkeypatch):
    monkeypatch.setattr(spans.Spans, "_are_apart", lambda _: True)
    assert all(map(_differs, CONFLICTS[:3]))


@pytest.mark.parametrize("method", ["read", "write"])
def test_without_one_of_the_records_results_differ(monkeypatch, method: str):
    monkeypatch.setattr(owners.Owners, method, lambda *_: None)
    assert any(map(_differs, CONFLICTS))


def test_entries_must_grow_only(monkeypatch):
    """Program 3 reads, program 1 reads, program 2 writes: the first reader must not be forgotten."""
    first, second, third = (
        np.array(row)[:, None] for row in ([5, 6, 7, 0], [8, 0, 9, 10], [11, 12, 0, 13])
    )
    kernel = Kernel(
        4, 1, [Step("load", 0, first), Step("load", 0, second), Step("store", 0, third)], [14]
    )
    assert_same(kernel, 4)

    def forget(table, touch):
        touch.selection.put(table, np.broadcast_to(touch.along(touch.last), touch.selection.shape))

    monkeypatch.setattr(owners, "_raise_entries", forget)
    assert _differs(kernel)


def test_undoing_must_be_complete(monkeypatch):
    kernel = Kernel(
        4,
        8,
        [Step("load", 0, BLOCKS), Step("store", 0, BLOCKS[::-1]), Step("load", 0, BLOCKS)],
        [32],
    )
    assert not _differs(kernel)
    monkeypatch.setattr(selections.Windows, "put", lambda *_: None)
    monkeypatch.setattr(selections.Elements, "put", lambda *_: None)
    assert _differs(kernel)
