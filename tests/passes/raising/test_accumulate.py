"""``acc += tl.dot(a, b)``: the GEMM begins with the accumulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare
from tilewright import tl
from tilewright.dialects.tile import AllocOp, GemmOp
from tilewright.ir.traversal import walk
from tilewright.passes.tile.raise_to_tile import RaisedKernel


@tw.jit
def matmul(a_ptr, b_ptr, c_ptr, K, N: tl.constexpr, FORM: tl.constexpr):
    lane = tl.arange(0, N)
    type: tl.constexpr = tl.int32 if FORM == "integers" else tl.float32
    acc = tl.full((N, N), 3, dtype=type)
    for k in range(0, K, N):
        a = tl.load(a_ptr + lane[:, None] * K + k + lane[None, :])
        b = tl.load(b_ptr + (k + lane)[:, None] * N + lane[None, :])
        if FORM == "half":
            acc += tl.dot(a, b, out_dtype=tl.float16)
        elif FORM == "twice":
            part = tl.dot(a, b)
            acc += part * 2.0 + part
        elif FORM == "swapped":
            acc = tl.dot(a, b) + acc
        elif FORM == "scaled":
            acc = acc * 0.5 + tl.dot(a, b)
        else:
            acc += tl.dot(a, b)
    tl.store(c_ptr + lane[:, None] * N + lane[None, :], acc)


def _raised(form: str) -> RaisedKernel:
    rng = np.random.default_rng(0)
    type: Any = np.int8 if form == "integers" else np.float16
    a, b = (rng.integers(-9, 9, shape).astype(type) for shape in ((32, 96), (96, 32)))
    c = np.full((32, 32), -1, np.int32 if form == "integers" else np.float32)
    with recorded() as launches:
        matmul[(1,)](a, b, c, 96, N=32, FORM=form)
    ((_, launch),) = launches
    return compare(launch, schedules=2)


def _accumulators(raised: RaisedKernel) -> int:
    return sum(
        isinstance(op, AllocOp) and not op.space.is_shared and op.type.get_shape() == (32, 32)
        for op in walk(raised.module)
    )


@pytest.mark.parametrize("form", ["plain", "swapped", "scaled", "integers"])
def test_one_accumulator(form: str) -> None:
    raised = _raised(form)
    (gemm,) = (op for op in walk(raised.module) if isinstance(op, GemmOp))
    assert "clear" not in gemm.properties
    assert _accumulators(raised) == 1


@pytest.mark.parametrize("form", ["half", "twice"])
def test_results_that_are_rounded_or_used_otherwise_are_added(form: str) -> None:
    assert _accumulators(_raised(form)) > 1
