"""The mask that a note suggests has the names of the kernel, and is the one that is missing."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.targets.numpy.api import NumpyFault


@tw.jit
def rows_of_a_matrix(x_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    tl.store(x_ptr + row + offsets, 0.0)


@tw.jit
def parts_of_rows(x_ptr, columns, BLOCK: tl.constexpr):
    """The index along a row is a value with a name; `lanes` alone is not."""
    lanes = tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + lanes
    start = tl.program_id(0) * columns
    tl.store(x_ptr + (start + column), 0.0)


@tw.jit
def all_elements(x_ptr, BLOCK: tl.constexpr):
    offs_1 = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + offs_1, 1.0)


@tw.jit
def unnamed(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1.0)


@tw.jit
def blocks(x_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    pointers = x_ptr + rows[:, None] * stride + columns[None, :]
    tl.store(pointers, 0.0)


@tw.jit
def transposed(x_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    rows = tl.arange(0, M)
    columns = tl.arange(0, N)
    tl.store(x_ptr + columns[:, None] + rows[None, :] * stride, 0.0)


@tw.jit
def unnamed_blocks(x_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, M)[:, None] * stride + tl.arange(0, N)[None, :], 0.0)


@tw.jit
def loaded_rows(x_ptr, index_ptr, columns, BLOCK: tl.constexpr):
    """Which row it is, only the execution has; the column has a name all the same."""
    column = tl.arange(0, BLOCK)
    row = tl.load(index_ptr + tl.program_id(0))
    tl.store(x_ptr + row * columns + column, 0.0)


@tw.jit
def loop_carried(x_ptr, columns, BLOCK: tl.constexpr):
    column = tl.arange(0, BLOCK)
    pointers = x_ptr + column
    for _ in range(tl.cdiv(columns, BLOCK)):
        tl.store(pointers, 0.0)
        pointers += BLOCK


@tw.jit
def rows_of_a_loop(x_ptr, first, rows, BLOCK: tl.constexpr):
    for start in range(0, rows, BLOCK):
        lines = start + tl.arange(0, BLOCK)
        tl.store(x_ptr + first + lines, 0.0)


@tw.jit
def loops_in_loops(x_ptr, M, N, stride, BM: tl.constexpr, BN: tl.constexpr):
    for top in range(0, M, BM):
        rows = top + tl.arange(0, BM)
        for left in range(0, N, BN):
            columns = left + tl.arange(0, BN)
            tl.store(x_ptr + rows[:, None] * stride + columns[None, :], 0.0)


def _matrix(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def _advice(launch) -> str:
    """What to change, of the fault that a launch raises."""
    with pytest.raises(NumpyFault) as caught:
        launch()
    assert caught.value.diagnostic.code == "TW6101"
    return re.sub(r"^.*?: (load|store) with ", "", caught.value.diagnostic.notes[-1].message)


CASES = {
    "rows": (
        lambda: rows_of_a_matrix[(6,)](_matrix(6, 5), 5, BLOCK=8),
        "`mask=offsets < 5` (5 is the extent of axis 1 of x_ptr)",
    ),
    "parts of rows": (
        lambda: parts_of_rows[(6, 2)](_matrix(6, 5), 5, BLOCK=4),
        "`mask=column < 5` (5 is the extent of axis 1 of x_ptr)",
    ),
    "all elements of a matrix": (
        lambda: all_elements[(4,)](_matrix(6, 5), BLOCK=8),
        "`mask=offs_1 < 30`",
    ),
    "all elements": (lambda: all_elements[(4,)](_matrix(30), BLOCK=8), "`mask=offs_1 < 30`"),
    "without a name": (
        lambda: unnamed[(4,)](_matrix(30), BLOCK=8),
        "`mask=offsets < 30`, where offsets are the offsets added to x_ptr",
    ),
    "without a name, rows or not": (
        lambda: unnamed[(4,)](_matrix(6, 5), BLOCK=8),
        "a mask that is false from element 30 of x_ptr on",
    ),
    "rows and columns": (
        lambda: blocks[(2, 2)](_matrix(7, 5), 5, M=4, N=8),
        "`mask=(rows[:, None] < 7) & (columns[None, :] < 5)` "
        "(7 and 5 are the extents of axes 0 and 1 of x_ptr)",
    ),
    "rows only": (
        lambda: blocks[(2, 1)](_matrix(7, 4), 4, M=4, N=4),
        "`mask=rows[:, None] < 7` (7 is the extent of axis 0 of x_ptr)",
    ),
    "transposed": (
        lambda: transposed[(1,)](_matrix(7, 4), 4, M=8, N=4),
        "`mask=rows[None, :] < 7` (7 is the extent of axis 0 of x_ptr)",
    ),
    "a view": (
        lambda: blocks[(2, 1)](_matrix(7, 9)[:, 1:5], 9, M=4, N=4),
        "`mask=rows[:, None] < 7` (7 is the extent of axis 0 of x_ptr)",
    ),
    "blocks without names": (
        lambda: unnamed_blocks[(1,)](_matrix(7, 5), 5, M=8, N=8),
        "a mask that is false where the index along axis 0 of x_ptr is 7 or more, or that along "
        "axis 1 is 5 or more",
    ),
    "a row that was loaded": (
        lambda: loaded_rows[(1,)](_matrix(6, 5), np.array([5], np.int32), 5, BLOCK=8),
        "`mask=column < 5` (5 is the extent of axis 1 of x_ptr)",
    ),
    "a loop": (
        lambda: rows_of_a_loop[(1,)](_matrix(10), 0, 10, BLOCK=4),
        "`mask=lines < 10`",
    ),
    "a loop whose index is only a part": (
        lambda: rows_of_a_loop[(1,)](_matrix(13), 3, 10, BLOCK=4),
        "`mask=offsets < 13`, where offsets are the offsets added to x_ptr",
    ),
    "more than the iterations of a loop": (
        lambda: rows_of_a_loop[(1,)](_matrix(30), 24, 8, BLOCK=4),
        "`mask=offsets < 30`, where offsets are the offsets added to x_ptr",
    ),
    "loops in loops": (
        lambda: loops_in_loops[(1,)](_matrix(8, 5), 8, 5, 5, BM=4, BN=4),
        "`mask=columns[None, :] < 5` (5 is the extent of axis 1 of x_ptr)",
    ),
    "loop-carried pointers": (
        lambda: loop_carried[(1,)](_matrix(10), 10, BLOCK=8),
        "`mask=offsets < 10`, where offsets are the offsets added to x_ptr",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_mask_of_a_note(case: str):
    launch, expected = CASES[case]
    assert _advice(launch) == expected


@tw.jit
def stores_rows(out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + tl.program_id(0) * columns + offsets, 1.0)


@tw.jit
def stores_masked_rows(out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) // 2 * columns
    tl.store(out_ptr + row + offsets, 1.0, mask=offsets < columns)


MISSING = "the store has no mask, and "
RACES = {
    "rows": (
        lambda: stores_rows[(6,)](_matrix(6, 5), 5, BLOCK=8),
        f"{MISSING}lanes past the extent of their axis write elements of other programs: store "
        "with `mask=offsets < 5` (5 is the extent of axis 1 of out_ptr)",
    ),
    "rows of an array of one axis": (
        lambda: stores_rows[(6,)](_matrix(30), 5, BLOCK=8),
        f"{MISSING}3 of the 8 lanes of program 1 write elements of other programs: if the block "
        "has more lanes than the program has elements, mask the lanes past them",
    ),
    "all lanes": (lambda: stores_rows[(6,)](_matrix(8), 0, BLOCK=8), None),
    "with a mask": (lambda: stores_masked_rows[(6,)](_matrix(6, 5), 5, BLOCK=8), None),
}


@pytest.mark.parametrize("case", RACES)
def test_a_race_of_stores_without_a_mask_advises_the_mask_first(case: str):
    launch, expected = RACES[case]
    with pytest.raises(NumpyFault) as caught, tw.running(check_races=True):
        launch()
    *others, last = [note.message for note in caught.value.diagnostic.notes]
    assert caught.value.diagnostic.code == "TW6108"
    assert last.startswith("the order of programs is undefined")
    assert [text for text in others if "mask" in text] == ([] if expected is None else [expected])
