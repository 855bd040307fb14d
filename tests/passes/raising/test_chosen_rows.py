"""Rows past the end that read another row, ``tl.where(rows < M, rows, 0)``: boxes, if unseen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl
from tilewright.analysis.raising.check import check_boxes
from tilewright.analysis.raising.plan import RaisePlan
from tilewright.dialects.tt import LoadOp


@tw.jit
def scaled(
    x_ptr, out_ptr, M, stride, BM: tl.constexpr, BN: tl.constexpr, FORM: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    if FORM == "inside":
        chosen = tl.where(rows < M, rows, 0)
    elif FORM == "outside":
        chosen = tl.where(rows >= M, 0, rows)
    elif FORM == "swapped":
        chosen = tl.where(rows < M, 0, rows)
    else:
        chosen = tl.where(rows < M, rows, 0)
    x = tl.load(x_ptr + chosen[:, None] * stride + columns[None, :])
    out_ptrs = out_ptr + rows[:, None] * BN + columns[None, :]
    if FORM == "seen":
        tl.store(out_ptrs, x * 2.0)
    else:
        tl.store(out_ptrs, x * 2.0, mask=rows[:, None] < M)


def _plan(form: str, rows: int = 29) -> RaisePlan:
    x = np.random.default_rng(rows).standard_normal((64, 20)).astype(np.float32)
    out = np.full((64, 16), np.nan, np.float32)
    with recorded() as launches:
        scaled[(tw.cdiv(rows, 8),)](x, out, rows, 20, BM=8, BN=16, FORM=form)
    ((_, launch),) = launches
    return compare(launch, schedules=2).plan


def _box_of_load(plan: RaisePlan) -> Any:
    (access,) = (access for op, access in plan.accesses.items() if isinstance(op, LoadOp))
    return access.box


@pytest.mark.parametrize("rows", [1, 8, 9, 29])
@pytest.mark.parametrize("form", ["inside", "outside"])
def test_rows_that_are_not_stored_are_not_read(form: str, rows: int) -> None:
    box = _box_of_load(_plan(form, rows))
    assert box is not None and box.wraps


@pytest.mark.parametrize("form", ["seen", "swapped"])
def test_rows_that_are_stored_are_read(form: str) -> None:
    box = _box_of_load(_plan(form))
    assert box is None or not box.wraps


@pytest.mark.parametrize("which", [0, 1])
def test_a_shifted_start_is_found(which: int) -> None:
    plan = _plan("inside")
    ((op, access),) = ((op, each) for op, each in plan.accesses.items() if isinstance(op, LoadOp))
    box = access.box
    assert box is not None and not check_boxes(plan)
    starts = [start + 1 if at == which else start for at, start in enumerate(box.starts)]
    plan.accesses[op] = replace(access, box=replace(box, starts=tuple(starts)))
    assert any("elements off" in each for each in check_boxes(plan))
