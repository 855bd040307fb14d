"""Both halves of a multiplication of 32 bits are computed at once."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import i32, i64

import tilewright as tw
from tests.passes.raising.launches import example_launches, recorded
from tests.passes.raising.levels import compare
from tilewright import tl
from tilewright.dialects.arith import MuliOp
from tilewright.ir.traversal import walk
from tilewright.passes.tile.raise_to_tile import RaisedKernel


@tw.jit
def halves(x_ptr, y_ptr, high_ptr, low_ptr, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0)
    y = tl.load(y_ptr + at, mask=at < n, other=0)
    if FORM == "constant":
        high, low = tl.umulhi(x, 0xD2511F53), x * 0xD2511F53
    elif FORM == "low first":
        low = y * x
        high = tl.umulhi(x, y)
    elif FORM == "others":
        high, low = tl.umulhi(x, y), x * (y + 1)
    else:
        high, low = tl.umulhi(x, x), x * x
    tl.store(high_ptr + at, high, mask=at < n)
    tl.store(low_ptr + at, low, mask=at < n)


def _multiplications(raised: RaisedKernel) -> tuple[int, int]:
    """Those of 32 bits and of 64."""
    types = [op.result.type for op in walk(raised.module) if isinstance(op, MuliOp)]
    return types.count(i32), types.count(i64)


@pytest.mark.parametrize(
    ("form", "narrow"), [("constant", 0), ("low first", 0), ("square", 0), ("others", 1)]
)
def test_low_halves(form: str, narrow: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 1 << 32, (2, 50), dtype=np.uint32)
    high, low = np.zeros((2, 50), np.uint32)
    with recorded() as launches:
        halves[(1,)](x, y, high, low, 50, FORM=form, BLOCK=64)
    ((_, launch),) = launches
    assert _multiplications(compare(launch, schedules=2)) == (narrow, 1)


def test_dropout() -> None:
    ((_, launch),) = example_launches("dropout")
    narrow, wide = _multiplications(compare(launch, schedules=2))
    assert narrow <= 2 < wide  # the start of the block, and the seed
