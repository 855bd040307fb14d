"""Integers divided by zero: reported where the result is used, silent where it is not."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.targets.numpy import NumpyFault

N = 8


@tw.jit
def divide(x, y, out, USE: tl.constexpr, N: tl.constexpr):
    o = tl.program_id(0) * N + tl.arange(0, N)
    a, b = tl.load(x + o), tl.load(y + o)
    quotient, remainder = a // b, a % b
    if USE == "masked":
        tl.store(out + o, quotient, mask=b != 0)
    elif USE == "chosen":
        tl.store(out + o, tl.where(b != 0, remainder, 7))
    elif USE == "quotient":
        tl.store(out + o, quotient)
    elif USE == "remainder":
        tl.store(out + o, remainder)
    elif USE == "address by quotient":
        tl.store(out + N + quotient, a)
    elif USE == "address by remainder":
        tl.store(out + remainder, a)
    elif USE == "address by stride":
        tl.store(out + quotient * 1024, a, mask=(a < 3) | (b == 0))


def operands(dtype: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = np.arange(2 * N, dtype=dtype)
    y = np.full(2 * N, 3, dtype)
    y[N + 5] = 0
    return x, y, np.full(2 * N, 50, dtype)


DTYPES = ["int16", "int32", "int64", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_unused_quotient_is_no_fault(dtype: str) -> None:
    x, y, out = operands(dtype)
    divide[(2,)](x, y, out, USE="masked", N=N)
    assert out.tolist() == [50 if i == N + 5 else i // 3 for i in range(2 * N)]
    divide[(2,)](x, y, out, USE="chosen", N=N)
    assert out.tolist() == [7 if i == N + 5 else i % 3 for i in range(2 * N)]


@pytest.mark.parametrize("use", ["quotient", "remainder"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_stored_quotient_is_a_fault(use: str, dtype: str) -> None:
    x, y, out = operands(dtype)
    with pytest.raises(NumpyFault, match="division by zero here") as caught:
        divide[(2,)](x, y, out, USE=use, N=N)
    text = str(caught.value)
    assert "at element [5] in program (1, 0, 0)" in text
    assert "quotient, remainder = a // b, a % b" in text
    assert caught.value.program == (1, 0, 0)


@pytest.mark.parametrize(
    "use", ["address by quotient", "address by remainder", "address by stride"]
)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32", "uint64"])
def test_an_address_by_zero_is_out_of_bounds(use: str, dtype: str) -> None:
    """Not by chance: what the hardware gives, -1 or the dividend, is an element here."""
    x, y, out = operands(dtype)
    with pytest.raises(NumpyFault, match="store out of bounds") as caught:
        divide[(2,)](x, y, out, USE=use, N=N)
    assert caught.value.program == (1, 0, 0)
