"""Conditions of proofs: what the given launch decides is decided, not handed to the caller."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.analysis.pid_address.support import only_access
from tilewright import tl
from tilewright.analysis.pid_address.checks import CheckResult, Finding


@tw.jit
def counted_rows(x_ptr, lock_ptr, count_ptr, sum_ptr, LOCKS: tl.constexpr):
    """Programs with the same ``lock_id`` share an element, under a lock."""
    row = tl.program_id(0)
    lock_id = row % LOCKS
    value = tl.load(x_ptr + row)
    while tl.atomic_cas(lock_ptr + lock_id, 0, 1) == 1:
        pass
    count = tl.load(count_ptr + lock_id)
    if count == 0:
        tl.atomic_xchg(count_ptr + lock_id, 1)
        tl.store(sum_ptr + lock_id, value)
    else:
        tl.store(sum_ptr + lock_id, value + tl.load(sum_ptr + lock_id))
    tl.atomic_xchg(lock_ptr + lock_id, 0)


def races(programs: int | None, locks: int = 64) -> tuple[Finding, ...]:
    integers, floats = np.zeros(256, np.int32), np.zeros(256, np.float32)
    report = tw.analyze(
        counted_rows,
        (floats, integers, integers.copy(), floats.copy()),
        grid=None if programs is None else (programs,),
        check=["race"],
        LOCKS=locks,
    )
    return report.findings


@pytest.mark.parametrize(("programs", "locks"), [(70, 64), (65, 64), (2, 1), (37, 8)])
def test_a_condition_that_the_grid_makes_false_is_no_proof(programs: int, locks: int) -> None:
    findings = races(programs, locks)
    assert findings
    assert {finding.verdict for finding in findings} == {CheckResult.UNKNOWN}
    # One lock for all: the address does not depend on the program, so nothing is a coordinate.
    reported = [finding for finding in findings if "have the same" in finding.message]
    assert len(reported) == (0 if locks == 1 else len(findings))
    for finding in reported:
        assert f"programs 0 and {locks} have the same (%lock_id" in finding.message


@pytest.mark.parametrize(("programs", "locks"), [(64, 64), (60, 64), (7, 8)])
def test_a_condition_that_the_grid_makes_true_is_not_mentioned(programs: int, locks: int) -> None:
    findings = races(programs, locks)
    assert findings
    assert all(f.verdict is CheckResult.PROVED and f.condition is None for f in findings)


def test_with_an_open_grid_the_condition_stays() -> None:
    conditions = {finding.condition for finding in races(None) if finding.condition is not None}
    assert conditions == {"(%lock_id_0) differ between programs"}


MASKED = """
tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {{
  %pid = tt.get_program_id x : i32
  %q = tt.addptr %p, %pid : !tt.ptr<i32>, i32
  %one = arith.constant 1 : i32
  {mask}
  %old = tt.atomic_rmw add, acq_rel, gpu, %q, %one, %m : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}}"""


def test_a_mask_that_is_constantly_true_is_no_mask() -> None:
    access = only_access(MASKED.format(mask="%m = arith.constant true"))
    assert not access.masked
    assert access.mask is None


def test_a_mask_that_may_be_false_is_one() -> None:
    compared = only_access(MASKED.format(mask="%m = arith.cmpi slt, %pid, %n : i32"))
    never = only_access(MASKED.format(mask="%m = arith.constant false"))
    assert compared.masked
    assert never.masked


@tw.jit
def first_come(flag_ptr, out_ptr):
    """Whether a program stores depends on what others have stored to `flag_ptr` by then."""
    program = tl.program_id(0)
    if tl.load(flag_ptr) == 0:
        tl.store(out_ptr, program)
    else:
        tl.store(out_ptr, -program)
    tl.store(flag_ptr, 1)


def test_memory_that_the_kernel_writes_is_not_the_same_for_all_programs() -> None:
    flags = np.zeros(1, np.int32)
    report = tw.analyze(first_come, (flags, flags.copy()), grid=(2,), check=["race"])
    stores = [a.index for a in report.accesses if a.base == "%out_ptr"]
    pair = [f for f in report.findings if f.accesses == tuple(stores)]
    assert [f.verdict for f in pair] == [CheckResult.UNKNOWN]
