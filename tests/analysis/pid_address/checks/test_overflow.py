"""Overflow: what counts, what is enumerated, and what is known where an op runs."""

from __future__ import annotations

from tests.analysis.pid_address.support import report_of
from tilewright.analysis.pid_address import Facts
from tilewright.analysis.pid_address.checks import Finding, Method, Settings, Verdict, run_checks

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


def overflows(text: str, facts: Facts, settings: Settings | None = None) -> list[Finding]:
    return list(run_checks(report_of(text, facts), ["overflow"], settings))


HASH = """%k = arith.constant dense<-766435501> : tensor<64xi32>
      %h = arith.muli %l, %k : tensor<64xi32>"""


def test_a_hash_that_is_stored_may_wrap_around() -> None:
    index = "%i = tt.splat %pid : i32 -> tensor<64xi32>"
    text = kernel(index, f"{HASH}\n%v = arith.addi %h, %l : tensor<64xi32>")
    assert overflows(text, Facts(grid=(8,))) == []


def test_a_hash_that_is_an_address_may_not() -> None:
    text = kernel(
        f"{HASH}\n%i = arith.addi %h, %l : tensor<64xi32>",
        "%v = arith.addi %l, %l : tensor<64xi32>",
    )
    first, *_ = overflows(text, Facts(grid=(8,)))
    assert first.verdict is Verdict.REFUTED
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
    [right] = overflows(swizzled(85), Facts(grid=(5000,)))
    assert (right.verdict, right.method) == (Verdict.PROVED, Method.ENUMERATION)
    [wrong] = overflows(swizzled(86), Facts(grid=(5000,)))
    assert (wrong.verdict, wrong.method) == (Verdict.REFUTED, Method.ENUMERATION)
    assert wrong.witness is not None
    [point] = wrong.witness.points
    assert wrong.witness.value == 86 * (point.program[0] ^ 5) ** 2 > 2**31 - 1


def test_a_sample_proves_nothing() -> None:
    [found] = overflows(swizzled(85), Facts(grid=(5000,)), Settings(budget=2500))
    assert found.verdict is Verdict.UNKNOWN
    assert "one in 2 of its 5000 points was looked at" in found.message


def test_what_is_assumed_about_several_arguments_counts() -> None:
    text = kernel(
        """%s = arith.addi %a, %b : i32
      %i = tt.splat %s : i32 -> tensor<64xi32>""",
        "%v = arith.addi %l, %l : tensor<64xi32>",
        ", %a: i32, %b: i32",
    )
    [open_] = overflows(text, Facts(grid=(1,)))
    assert open_.verdict is Verdict.REFUTED
    assert not open_.is_violation
    bounded = ("a - b < 10", "b < 100", "2*a + b > 0", "a + 2*b > 0")
    assert {f.verdict for f in overflows(text, Facts(grid=(1,), assumptions=bounded))} == {
        Verdict.PROVED
    }
