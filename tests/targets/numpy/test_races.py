"""Data races between programs: found, named, and without false positives."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from tests.targets.numpy.memory_support import FILE, Kernel, Step, expect, fails, memory_of, site
from tests.targets.numpy.test_owners import tables
from tilewright.targets.numpy.faults import MemoryFault


def race(*steps, dtype="i4", programs=2, size=8, shape=()):
    """Run accesses in order, each (site, elements per program): one program after another."""
    sites = [
        site(
            kind.removeprefix("atomic_") if kind in ("atomic_load", "atomic_store") else kind,
            dtype,
            shape,
            index=number,
            rmw="add" if kind == "atomic_rmw" else None,
            text=f"tt.{kind}",
            **more,
        )
        for number, (kind, _, more) in enumerate(steps)
    ]
    for number, each in enumerate(sites):
        place = FileLineColLoc(StringAttr(FILE), IntAttr(3 + number % 2), IntAttr(5))
        object.__setattr__(each, "location", place)
    memory = memory_of(sites, np.zeros(size, np.int32), grid=(programs, 1, 1), check_races=True)
    groups = (
        [np.array([p]) for p in range(programs)] if memory.serial_reason else [np.arange(programs)]
    )
    for group in groups:
        memory.begin(group)
        for number, (kind, elements, _) in enumerate(steps):
            address = (memory.address_of(0), np.array(elements)[group] * 4)
            if kind == "load":
                memory.load(number, address, (), None)
            elif kind == "store":
                memory.store(number, address, np.int32(1), ())
            elif kind == "atomic_rmw":
                memory.atomic_rmw(number, address, np.int32(1), ())
            elif kind == "atomic_load":
                memory.load(number, address, (), None)
            elif kind == "atomic_store":
                memory.store(number, address, np.int32(1), ())
            else:
                memory.atomic_cas(number, address, np.int32(0), np.int32(1))


def test_two_programs_write_one_element():
    expect(
        fails(lambda: race(("store", [3, 3], {}))),
        """
        kernel.py:3:5: error[TW6108]: data race on x[3]: programs (0, 0, 0) and (1, 0, 0) both write it
          3 | def kernel(x_ptr, offs):
            |     ^
          note: program (0, 0, 0)
          note: x is int32 with shape (8,)
          note: the order of programs is undefined: give each program its own elements of x, or combine them with an atomic (tl.atomic_add, tl.atomic_max, ...)
        """,
    )


def test_one_program_reads_what_another_writes():
    expect(
        fails(lambda: race(("load", [0, 1], {}), ("store", [1, 2], {}))),
        """
        kernel.py:3:5: error[TW6108]: data race on x[1]: program (1, 0, 0) reads it and program (0, 0, 0) writes it
          3 | def kernel(x_ptr, offs):
            |     ^
          note: program (1, 0, 0)
          kernel.py:4:5: note: program (0, 0, 0) writes it here
            4 |     x = tl.load(x_ptr + offs)
              |     ^
          note: x is int32 with shape (8,)
          note: the order of programs is undefined: give each program its own elements of x, or combine them with an atomic (tl.atomic_add, tl.atomic_max, ...)
        """,
    )


RELAXED = {"semantic": "relaxed"}
ORDERED = {"semantic": "acq_rel"}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([("load", [0, 0], {}), ("store", [1, 2], {})], id="all read one"),
        pytest.param([("load", [1, 2], {}), ("store", [1, 2], {})], id="each its own"),
        pytest.param([("atomic_rmw", [0, 0], RELAXED)] * 2, id="updates"),
        pytest.param(
            [
                ("atomic_cas", [0, 0], ORDERED),
                ("load", [5, 5], {}),
                ("store", [5, 5], {}),
                ("atomic_rmw", [0, 0], ORDERED),
            ],
            id="under a lock",
        ),
        pytest.param(
            [
                ("atomic_load", [0, 7], {"semantic": "acquire"}),
                ("load", [6, 5], {}),
                ("store", [5, 4], {}),
                ("atomic_store", [7, 1], {"semantic": "release"}),
            ],
            id="released by a flag",
        ),
    ],
)
def test_what_is_no_race(steps):
    race(*steps)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([("atomic_rmw", [0, 0], RELAXED), ("load", [0, 0], {})], id="update and read"),
        pytest.param(
            [("store", [0, 1], {}), ("atomic_rmw", [1, 2], RELAXED)], id="update and write"
        ),
        pytest.param([("load", [4, 4], {}), ("store", [3, 4], {})], id="the other reader writes"),
        pytest.param(
            [
                ("atomic_cas", [0, 0], RELAXED),
                ("store", [5, 5], {}),
                ("atomic_rmw", [0, 0], RELAXED),
            ],
            id="relaxed atomics order nothing",
        ),
        pytest.param(
            [
                ("atomic_load", [0, 7], RELAXED),
                ("load", [6, 5], {}),
                ("store", [5, 4], {}),
                ("atomic_store", [7, 1], {"semantic": "release"}),
            ],
            id="signalled by a flag that orders nothing",
        ),
        pytest.param(
            [
                ("atomic_cas", [0, 1], ORDERED),
                ("store", [5, 5], {}),
                ("atomic_rmw", [0, 1], ORDERED),
            ],
            id="two different locks",
        ),
        pytest.param(
            [
                ("atomic_cas", [0, 0], ORDERED),
                ("atomic_rmw", [0, 0], ORDERED),
                ("store", [5, 5], {}),
            ],
            id="after the lock was released",
        ),
    ],
)
def test_what_is_a_race(steps):
    assert fails(lambda: race(*steps)).kind == "race"


def test_a_race_with_a_program_two_batches_ago():
    memory = memory_of(
        [site("store", "i4")], np.zeros(8, np.int32), grid=(6, 1, 1), check_races=True
    )
    elements = np.array([7, 1, 2, 3, 4, 7]) * 4
    for first in (0, 2):
        memory.begin(np.arange(first, first + 2))
        memory.store(0, (memory.address_of(0), elements[first : first + 2]), np.int32(1), ())
    memory.begin(np.arange(4, 6))
    fault = fails(lambda: memory.store(0, (memory.address_of(0), elements[4:]), np.int32(1), ()))
    assert "data race on x[7]: programs (5, 0, 0) and (0, 0, 0) both write it" in str(fault)


def test_all_programs_writing_one_element_race():
    memory = memory_of(
        [site("store", "i4", (2,))], np.zeros(8, np.int32), grid=(3, 1, 1), check_races=True
    )
    address = (memory.address_of(0), np.array([[0, 4]]))
    fault = fails(lambda: memory.store(0, address, np.ones((3, 2), np.int32), ()))
    assert "programs (0, 0, 0) and (2, 0, 0) both write it" in str(fault)


# Against a look at all pairs of accesses.


@st.composite
def steps(draw, programs: int, lanes: int, size: int) -> Step:
    kind = draw(st.sampled_from(["load", "store", "atomic_rmw"]))
    truths = st.lists(st.booleans(), min_size=programs * lanes, max_size=programs * lanes)
    return Step(
        kind,
        0,
        draw(tables(programs, lanes, size)),
        mask=draw(st.none() | truths.map(lambda flat: np.array(flat).reshape(programs, lanes))),
        rmw="add" if kind == "atomic_rmw" else None,
        result_used=draw(st.booleans()),
    )


@st.composite
def kernels(draw) -> Kernel:
    programs, lanes, size = (draw(st.integers(1, limit)) for limit in (4, 3, 30))
    made = draw(st.lists(steps(programs, lanes, size), min_size=1, max_size=4))
    return Kernel(programs, lanes, made, [size])


def has_race(kernel: Kernel) -> bool:
    touched = defaultdict(set)
    for step in kernel.steps:
        for (program, _), element in np.ndenumerate(step.table):
            if step.mask is None or step.mask[program, _]:
                touched[int(element)].add((program, step.kind))
    return any(
        one != other and {deed, another} not in ({"load"}, {"atomic_rmw"})
        for accesses in touched.values()
        for (one, deed), (other, another) in combinations(accesses, 2)
    )


@given(kernel=kernels(), batch=st.integers(1, 4))
def test_a_race_is_found_exactly_if_there_is_one(kernel: Kernel, batch: int):
    try:
        kernel.run_in_batches(batch, check_races=True)
    except MemoryFault as fault:
        assert fault.kind == "race"
        assert has_race(kernel)
    else:
        assert not has_race(kernel)
