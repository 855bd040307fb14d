"""Swizzles are not modelled: a read through another layout than the writer's is reported, not trusted."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def seen_as(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, ONE: tl.constexpr):
    """A tile of 32 x 64 int32, read as a tile of another shape."""
    tile = tlx.local_alloc((32, 64), tl.int32, 1)
    flat = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    tlx.local_store(tile[0], tl.load(x_ptr + flat))
    if ONE:
        other = tlx.local_reinterpret(tile[0], tl.float32, [ROWS, COLUMNS])
        value = tlx.local_load(other).to(tl.int32, bitcast=True)
    else:
        other = tlx.local_reinterpret(tile[0], tl.int16, [ROWS, COLUMNS])
        value = tlx.local_load(other)
    where = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out_ptr + where, value)


X = np.arange(2048, dtype=np.int32) * 65537


def test_the_same_rows_of_bytes_are_the_same_layout() -> None:
    words, halves = np.zeros(2048, np.int32), np.zeros(4096, np.int16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        seen_as[(1,)](X, words, 32, 64, True)
        seen_as[(1,)](X, halves, 32, 128, False)
    np.testing.assert_array_equal(words, X)
    np.testing.assert_array_equal(halves, X.view(np.int16))


def test_rows_of_another_length_are_not() -> None:
    words = np.zeros(2048, np.int32)
    with pytest.warns(UserWarning, match="not analysed") as found:
        seen_as[(1,)](X, words, 64, 32, True)
    (text,) = [str(each.message) for each in found]
    assert "warning[TW6127]" in text
    assert "8192 bytes of it were written with another layout" in text
    assert "written as 128-byte swizzle of 32 rows of 256 bytes" in text
    assert "read as 128-byte swizzle of 64 rows of 128 bytes" in text
    assert "value = tlx.local_load(other).to(tl.int32, bitcast=True)" in text


def test_it_is_reported_once() -> None:
    words = np.zeros(2048, np.int32)
    with tw.running(schedules=4), pytest.warns(UserWarning) as found:
        seen_as[(3,)](X, words, 64, 32, True)
    assert len(found) == 1


@tw.jit
def aliased(x_ptr, out_ptr, MIXES: tl.constexpr):
    """Two buffers in the same bytes."""
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    wide = tlx.local_alloc((32, 64), tl.int32, 1, reuse=spec)
    tall = tlx.local_alloc((64, 32), tl.int32, 1, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(wide, tall, group_type=tlx.reuse_group_type.shared))
    flat = tl.arange(0, 32)[:, None] * 64 + tl.arange(0, 64)[None, :]
    turned = tl.arange(0, 64)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tlx.local_store(wide[0], tl.load(x_ptr + flat))
    if MIXES:
        tl.store(out_ptr + turned, tlx.local_load(tall[0]))
    else:
        value = tlx.local_load(wide[0])
        tlx.local_store(tall[0], tl.load(x_ptr + turned))
        tl.store(out_ptr + flat, value)
        tl.store(out_ptr + 2048 + turned, tlx.local_load(tall[0]))


def test_aliases_that_read_what_they_wrote() -> None:
    out = np.zeros(4096, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        aliased[(1,)](X, out, False)
    np.testing.assert_array_equal(out, np.concatenate([X, X]))


def test_an_alias_that_reads_what_the_other_wrote() -> None:
    out = np.zeros(4096, np.int32)
    with pytest.warns(UserWarning, match=r"not analysed: the value read from tall\[0\]"):
        aliased[(1,)](X, out, True)
