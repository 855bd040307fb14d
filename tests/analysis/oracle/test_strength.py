"""What counts as saying less, and what does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.analysis.oracle.strength import is_weaker
from tests.analysis.pid_address.support import report_of
from tilewright.analysis.pid_address import AccessProperties, AddressReport

TEXT = """
tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
  %c16 = arith.constant 16 : i32
  %z = arith.constant dense<0.0> : tensor<16xf32>
  %pid = tt.get_program_id x : i32
  %a = arith.muli %pid, %n : i32
  %b = arith.muli %a, %c16 : i32
  %s = tt.splat %b : i32 -> tensor<16xi32>
  %lane = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %t = arith.addi %s, %lane : tensor<16xi32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<16x!tt.ptr<f32>>
  %q = tt.addptr %ps, %t : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  tt.store %q, %z : tensor<16x!tt.ptr<f32>>
  tt.return
}
"""


@pytest.fixture(scope="module")
def known() -> AddressReport:
    return report_of(TEXT)


def changed(report: AddressReport, **fields: Any) -> AddressReport:
    [access] = report.accesses
    return replace(report, accesses=(replace(access, **fields),))


def test_the_facts_that_are_changed_below(known: AddressReport) -> None:
    [access] = known.accesses
    assert (access.contiguity, access.align_bytes, access.vector_bits) == ((16,), 16, 128)
    assert access.pid_axes == (0,) and access.coalesced is True and len(access.assumptions) == 3


def test_a_report_says_no_more_than_itself(known: AddressReport) -> None:
    assert is_weaker(known, known)


@pytest.mark.parametrize(
    "fields",
    [
        {"contiguity": (4,)},
        {"align_bytes": 4},
        {"align_bytes": None},
        {"vector_bits": 32},
        {"coalesced": None},
        {"pid_strides": {0: None}},
        {"lane_strides": (None,)},
        {"pid_axes": (0, 1), "pid_strides": {0: None, 1: None}},
    ],
)
def test_less_is_weaker(known: AddressReport, fields: dict[str, Any]) -> None:
    assert is_weaker(changed(known, **fields), known)


@pytest.mark.parametrize(
    "fields",
    [
        {"contiguity": (32,)},
        {"align_bytes": 32},
        {"vector_bits": 256},
        {"coalesced": False},
        {"pid_axes": (), "pid_strides": {}},
        {"assumptions": ()},
    ],
)
def test_more_is_not_weaker(known: AddressReport, fields: dict[str, Any]) -> None:
    assert not is_weaker(changed(known, **fields), known)


def test_another_formula_is_not_weaker(known: AddressReport) -> None:
    [access] = known.accesses
    assert not is_weaker(changed(known, offset=access.offset + 4), known)
    assert not is_weaker(changed(known, lane_strides=(access.offset.space.const(8),)), known)


def test_what_is_not_known_for_fear_of_overflow_is_weaker(known: AddressReport) -> None:
    strict = report_of(TEXT, AccessProperties(strict_overflow=True))
    assert is_weaker(strict, known)
    assert not is_weaker(known, strict)
