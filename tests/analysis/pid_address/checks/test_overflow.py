"""Overflow: what counts, what is enumerated, and what is known where an op runs."""

from __future__ import annotations

from tests.analysis.pid_address.support import report_of
from tilewright.analysis.pid_address import AccessProperties
from tilewright.analysis.pid_address.checks import (
    CheckResult,
    Finding,
    Method,
    Settings,
    run_checks,
)

POINTERS = "tensor<64x!tt.ptr<i32>>"


def kernel(index: str, value: str, arguments: str = "") -> str:
    """Stores `%v`, defined by `value`, at `%i`, defined by `index`; `%l` are lanes, `%pid` is."""
    return f"""
    tt.func public @k(%p: !tt.ptr<i32>{arguments}) {{
      %pid = tt.get_program_id x : i32
      %l = tt.make_range {{end = 64 : i32, start = 0 : i32}} : tensor<64xi32>
      {index}
      {value}
      %q = tt.splat %p : !tt.ptr<i32> -> {POINTERS}
      %r = tt.addptr %q, %i : {POINTERS}, tensor<64xi32>
      tt.store %r, %v : {POINTERS}
      tt.return
    }}"""


def overflows(
    text: str, facts: AccessProperties, settings: Settings | None = None
) -> list[Finding]:
    return list(run_checks(report_of(text, facts), ["overflow"], settings))


HASH = """%k = arith.constant dense<-766435501> : tensor<64xi32>
      %h = arith.muli %l, %k : tensor<64xi32>"""


def test_a_hash_that_is_stored_may_wrap_around() -> None:
    index = "%i = tt.splat %pid : i32 -> tensor<64xi32>"
    text = kernel(index, f"{HASH}\n%v = arith.addi %h, %l : tensor<64xi32>")
    assert overflows(text, AccessProperties(grid=(8,))) == []


def test_a_hash_that_is_an_address_may_not() -> None:
    text = kernel(
        f"{HASH}\n%i = arith.addi %h, %l : tensor<64xi32>",
        "%v = arith.addi %l, %l : tensor<64xi32>",
    )
    first, *_ = overflows(text, AccessProperties(grid=(8,)))
    assert first.verdict is CheckResult.REFUTED
    assert first.is_violation
    assert first.accesses == (0,)


def swizzled(factor: int) -> str:
    return kernel(
        f"""%five = arith.constant 5 : i32
      %c = arith.constant {factor} : i32
      %x = arith.xori %pid, %five : i32
      %m = arith.muli %x, %x : i32
      %b = arith.muli %m, %c : i32
      %i = tt.splat %b : i32 -> tensor<64xi32>""",
        "%v = arith.addi %l, %l : tensor<64xi32>",
    )


def test_what_no_solver_can_express_is_enumerated() -> None:
    """xor(pid, 5) is at most 4999 for 5000 programs: too many cases for isl, no integer for z3."""
    [right] = overflows(swizzled(85), AccessProperties(grid=(5000,)))
    assert (right.verdict, right.method) == (CheckResult.PROVED, Method.ENUMERATION)
    [wrong] = overflows(swizzled(86), AccessProperties(grid=(5000,)))
    assert (wrong.verdict, wrong.method) == (CheckResult.REFUTED, Method.ENUMERATION)
    assert wrong.witness is not None
    [point] = wrong.witness.points
    assert wrong.witness.value == 86 * (point.program[0] ^ 5) ** 2 > 2**31 - 1


def test_a_sample_proves_nothing() -> None:
    [found] = overflows(swizzled(85), AccessProperties(grid=(5000,)), Settings(budget=2500))
    assert found.verdict is CheckResult.UNKNOWN
    assert "one in 2 of its 5000 points was checked" in found.message


def test_what_is_assumed_about_several_arguments_counts() -> None:
    text = kernel(
        """%s = arith.addi %a, %b : i32
      %i = tt.splat %s : i32 -> tensor<64xi32>""",
        "%v = arith.addi %l, %l : tensor<64xi32>",
        ", %a: i32, %b: i32",
    )
    [open_] = overflows(text, AccessProperties(grid=(1,)))
    assert open_.verdict is CheckResult.REFUTED
    assert not open_.is_violation
    bounded = ("a - b < 10", "b < 100", "2*a + b > 0", "a + 2*b > 0")
    assert {
        f.verdict for f in overflows(text, AccessProperties(grid=(1,), assumptions=bounded))
    } == {CheckResult.PROVED}


# -- claims that rest on what overflows ------------------------------------------------------------


def strided(factor: int) -> str:
    """Program p stores at ``p * factor * factor`` and up."""
    return kernel(
        f"""%c = arith.constant {factor} : i32
      %m = arith.muli %pid, %c : i32
      %b = arith.muli %m, %c : i32
      %s = tt.splat %b : i32 -> tensor<64xi32>
      %i = arith.addi %s, %l : tensor<64xi32>""",
        "%v = arith.addi %l, %l : tensor<64xi32>",
    )


def test_programs_that_conflict_by_wrapping_around_are_not_proved_disjoint() -> None:
    """Program 1 is at 2**32, which is 0 in 32 bits."""
    found, reason = run_checks(report_of(strided(2**16), AccessProperties(grid=(4,))), ["race"])
    assert found.verdict is CheckResult.UNKNOWN
    assert found.message.endswith("leaves i32: it is 4294967296 in program 1")
    assert (reason.check, reason.verdict) == ("overflow", CheckResult.REFUTED)
    assert reason.is_violation
    (apart,) = run_checks(report_of(strided(2**8), AccessProperties(grid=(4,))), ["race"])
    assert apart.verdict is CheckResult.PROVED


def test_a_witness_that_wraps_around_is_none() -> None:
    """Byte 2**34 is never accessed; with 2**8 byte 2**18 is."""
    facts = AccessProperties(grid=(4,), buffers={"p": 256})
    found, *_ = run_checks(report_of(strided(2**16), facts), ["bounds"])
    assert (found.verdict, found.witness) == (CheckResult.UNKNOWN, None)
    (outside,) = run_checks(report_of(strided(2**8), facts), ["bounds"])
    assert outside.verdict is CheckResult.REFUTED


def test_a_witness_where_everything_fits_stands() -> None:
    """Program 1 leaves the buffer long before program 2**15 overflows."""
    facts = AccessProperties(grid=(2**16,), buffers={"p": 256})
    (outside,) = run_checks(report_of(strided(2**8), facts), ["bounds"])
    assert outside.verdict is CheckResult.REFUTED
    assert outside.witness is not None
    assert outside.witness.points[0].program == (1, 0, 0)


def test_what_overflows_for_open_arguments_only_is_an_assumption() -> None:
    text = strided(2**8).replace("%m = arith.muli %pid, %c", "%m = arith.muli %pid, %n")
    text = text.replace("%p: !tt.ptr<i32>", "%p: !tt.ptr<i32>, %n: i32")
    facts = AccessProperties(grid=(4,), assumptions=("n >= 1",))
    (found,) = run_checks(report_of(text, facts), ["race"])
    assert found.verdict is CheckResult.PROVED
