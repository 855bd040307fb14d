"""Overlap that a Python kernel defines: by groups alone, by phases, and by the old reuse= of a buffer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError

SIZE = tl.constexpr(16)
SHARED = tl.constexpr(tlx.reuse_group_type.shared)
DISTINCT = tl.constexpr(tlx.reuse_group_type.distinct)


@tw.jit
def _filled(value):
    return tl.full((SIZE, SIZE), value, tl.float32)


@tw.jit
def _write(out, value):
    i = tl.arange(0, SIZE)
    tl.store(out + i[:, None] * SIZE + i[None, :], value)


@tw.jit
def _groups_alone(out, KIND: tl.constexpr, NESTED: tl.constexpr):
    spec = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 2, reuse=spec)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 2, reuse=spec)
    if NESTED:
        tlx.reuse_group(a, tlx.reuse_group(b), group_type=KIND)
    else:
        tlx.reuse_group(a, b, group_type=KIND)
    tlx.local_store(a[1], _filled(1.0))
    tlx.local_store(b[1], _filled(2.0))
    _write(out, tlx.local_load(a[1]))


def _out() -> np.ndarray:
    return np.full((16, 16), np.nan, np.float32)


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("kind", "expected"), [("distinct", 1.0), ("shared", 2.0)], ids=["distinct", "shared"]
)
def test_reuse_group_without_set_buffer_overlap_is_placed(
    kind: str, expected: float, nested: bool
) -> None:
    out = _out()
    compiled = _groups_alone[(1,)](out, tlx.reuse_group_type(kind), nested)
    assert (out == expected).all()
    assert compiled.text().count("tlx.set_buffer_overlap(") == 1
    assert f"!tlx.reuse_group<{kind}>) -> ()" in compiled.text()


@tw.jit
def _several_groups(out, FIRST: tl.constexpr, SECOND: tl.constexpr):
    spec = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    c = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    tlx.reuse_group(c, a, group_type=SECOND)
    tlx.reuse_group(a, b, c, group_type=FIRST)
    tlx.local_store(a[0], _filled(1.0))
    tlx.local_store(b[0], _filled(2.0))
    tlx.local_store(c[0], _filled(3.0))
    _write(out, tlx.local_load(a[0]))


def test_of_several_groups_the_largest_is_placed_and_the_others_agree() -> None:
    out = _out()
    distinct = tlx.reuse_group_type.distinct
    _several_groups[(1,)](out, distinct, distinct)
    assert (out == 1.0).all()


def test_groups_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(CompileError) as caught:
        _several_groups[(1,)](_out(), tlx.reuse_group_type.shared, tlx.reuse_group_type.distinct)
    text = str(caught.value)
    assert "reuse groups of this spec contradict each other: distinct(c, a) does not hold" in text
    assert "'a'[0] (bytes 0..1024) and 'c'[0] (bytes 0..1024) both have bytes 0..1024" in text


@tw.jit
def _explicit(out):
    spec = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    tlx.reuse_group(a, b, group_type=DISTINCT)
    spec.set_buffer_overlap(tlx.reuse_group(a, b, group_type=SHARED))
    tlx.local_store(a[0], _filled(1.0))
    tlx.local_store(b[0], _filled(2.0))
    _write(out, tlx.local_load(a[0]))


def test_an_explicit_definition_wins_over_groups() -> None:
    out = _out()
    compiled = _explicit[(1,)](out)
    assert (out == 2.0).all()
    assert compiled.text().count("tlx.set_buffer_overlap(") == 1


@tw.jit
def _two_specs(out):
    first = tlx.storage_alias_spec()
    second = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=first)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=second)
    tlx.reuse_group(a, b)
    _write(out, tlx.local_load(a[0]))


@tw.jit
def _no_spec(out):
    spec = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1)
    tlx.reuse_group(a, b)
    _write(out, tlx.local_load(a[0]))


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (_two_specs, "'a' and 'b' are allocated from different storage_alias_specs"),
        (_no_spec, "'b' is not an allocation from a storage_alias_spec"),
    ],
)
def test_groups_of_no_single_spec_are_refused(kernel: tw.JITFunction, message: str) -> None:
    with pytest.raises(CompileError, match=message) as caught:
        kernel[(1,)](_out())
    assert "tlx.reuse_group(a, b)" in str(caught.value)


@tw.jit
def _phases(out, FIRST: tl.constexpr, SECOND: tl.constexpr, TOGETHER: tl.constexpr):
    spec = tlx.storage_alias_spec()
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    c = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=spec)
    spec.set_buffer_overlap(tlx.reuse_group(a, b, group_type=DISTINCT), phase=FIRST)
    spec.set_buffer_overlap(tlx.reuse_group(c), phase=SECOND)
    tlx.local_store(a[0], _filled(1.0))
    tlx.local_store(b[0], _filled(2.0))
    total = tlx.local_load(a[0]) + tlx.local_load(b[0])
    tlx.local_store(c[0], total * 10.0)
    if TOGETHER:
        total += tlx.local_load(a[0])
    _write(out, total + tlx.local_load(c[0]))


def test_set_buffer_overlap_takes_a_phase() -> None:
    out = _out()
    compiled = _phases[(1,)](out, "load", "store", False)
    assert (out == 33.0).all()
    assert '{phase = "load"}' in compiled.text()
    assert '{phase = "store"}' in compiled.text()


def test_phases_that_are_live_together_are_refused() -> None:
    with pytest.raises(CompileError, match=r"are live at the same time but share bytes 0\.\.1024"):
        _phases[(1,)](_out(), "load", "store", True)


@pytest.mark.parametrize("names", [(None, None), ("load", None), ("load", "load")])
def test_several_definitions_have_a_phase_each(names: tuple[str | None, str | None]) -> None:
    with pytest.raises(CompileError, match="each spec can only have one overlap definition"):
        _phases[(1,)](_out(), *names, False)


def test_a_phase_is_a_name() -> None:
    with pytest.raises(CompileError, match="phase must be a name, as in phase='load', got 3"):
        _phases[(1,)](_out(), 3, "store", False)


@tw.jit
def _reuses_a_buffer(out, INDEXED: tl.constexpr):
    a = tlx.local_alloc((SIZE, SIZE), tl.float32, 2)
    for _ in tl.static_range(2):
        b = tlx.local_alloc((SIZE, SIZE), tl.float32, 1, reuse=a[0] if INDEXED else a)
    tlx.local_store(b[0], _filled(1.0))
    _write(out, tlx.local_load(a[0]))


def test_reuse_of_a_buffer_is_deprecated_once_for_each_call() -> None:
    out = _out()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        _reuses_a_buffer[(1,)](out, False)
    assert (out == 1.0).all()
    (only,) = [each for each in found if each.category is DeprecationWarning]
    assert str(only.message) == (
        "reuse of the buffer 'a' is deprecated; allocate both from one storage_alias_spec and name "
        "it in reuse="
    )
    assert only.filename == __file__


def test_reuse_of_one_buffer_of_an_array_is_refused() -> None:
    with pytest.raises(CompileError, match="expects a whole allocation, got one buffer of 'a'"):
        _reuses_a_buffer[(1,)](_out(), True)
