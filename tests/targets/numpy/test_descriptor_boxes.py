"""Accesses through descriptors that the tensor memory accelerator does not do, or does otherwise.

On an H200 a start that is not a multiple of 16 bytes ends the kernel with an illegal instruction, and a
store writes the rest of the 16 bytes in which a row ends (`tests/fuzz/tl/device.py`).
"""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x, o, columns, start, B: tl.constexpr, TO: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[8, 64], strides=[64, 1], block_shape=[8, B])
    result = tl.make_tensor_descriptor(o, shape=[8, columns], strides=[64, 1], block_shape=[8, B])
    result.store([0, TO], source.load([0, tl.program_id(0) * start]))


@tw.jit
def add(x, o, start, B: tl.constexpr):
    source = tl.make_tensor_descriptor(x, shape=[8, 64], strides=[64, 1], block_shape=[8, B])
    result = tl.make_tensor_descriptor(o, shape=[8, 64], strides=[64, 1], block_shape=[8, B])
    result.atomic_add([0, start], source.load([0, 0]))


def arrays(dtype: type = np.float16) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(512).reshape(8, 64).astype(dtype), np.full((8, 64), 7, dtype)


@pytest.mark.parametrize(
    ("start", "dtype"), [(3, np.float16), (12, np.int8), (2, np.int32), (-4, np.float16)]
)
def test_a_load_that_starts_within_16_bytes_ended_the_kernel(start: int, dtype: type) -> None:
    x, o = arrays(dtype)
    with pytest.raises(tw.NumpyFault, match="not a multiple of 16") as fault:
        copy[(2,)](x, o, 64, start, B=16, TO=0)
    size = np.dtype(dtype).itemsize
    assert (
        str(fault.value)
        .splitlines()[0]
        .endswith(
            f"error[TW6110]: descriptor access in program (1, 0, 0) starts at {start} on the last axis, "
            f"{start * size} bytes, not a multiple of 16"
        )
    )
    assert f"a multiple of {16 // size} elements" in str(fault.value)


@pytest.mark.parametrize("start", [0, 8, 56, 64, -8, 16])
def test_other_starts_are_right(start: int) -> None:
    x, o = arrays()
    copy[(1,)](x, o, 64, start, B=16, TO=16)
    np.testing.assert_array_equal(o[:, 16:32], x[:, :16])


def test_a_store_past_the_end_of_a_row_was_silent() -> None:
    x, o = arrays()
    with pytest.raises(tw.NumpyFault) as fault:
        copy[(1,)](x, o, 27, 0, B=16, TO=16)
    assert (
        str(fault.value)
        .splitlines()[0]
        .endswith(
            "error[TW6110]: descriptor store in program (0, 0, 0) passes the end of a row of 27 elements, "
            "54 bytes, not a multiple of 16: it overwrites elements 27 to 31"
        )
    )
    assert "make the last extent a multiple of 8" in str(fault.value)


@pytest.mark.parametrize(("columns", "to"), [(24, 16), (27, 0), (27, 32), (64, 48)])
def test_rows_that_end_with_16_bytes_or_are_not_reached(columns: int, to: int) -> None:
    x, o = arrays()
    copy[(1,)](x, o, columns, 0, B=16, TO=to)
    expected = np.full_like(o, 7)
    stop = max(to, min(columns, to + 16))
    expected[:, to:stop] = x[:, : stop - to]
    np.testing.assert_array_equal(o, expected)


def test_a_reduction_starts_at_16_bytes_too() -> None:
    x, o = arrays(np.int32)
    with pytest.raises(tw.NumpyFault, match="starts at 6 on the last axis, 24 bytes"):
        add[(1,)](x, o, 6, B=16)
    add[(1,)](x, o, 4, B=16)
    np.testing.assert_array_equal(o[:, 4:20], x[:, :16] + 7)


def test_the_check_goes_with_that_of_bounds() -> None:
    x, o = arrays()
    with tw.running(check_bounds=False):
        copy[(2,)](x, o, 64, 3, B=16, TO=0)


def test_a_store_past_the_end_of_a_row_as_a_warning() -> None:
    x, o = arrays()
    warnings: list[str] = []
    with tw.running(row_end=warnings.append):
        copy[(1,)](x, o, 27, 0, B=16, TO=16)
    assert len(warnings) == 1
    assert "overwrites elements 27 to 31 on a GPU: TMA writes whole 16-byte units" in warnings[0]
    np.testing.assert_array_equal(o[:, 16:27], x[:, :11])
    assert (o[:, 27:] == 7).all()
