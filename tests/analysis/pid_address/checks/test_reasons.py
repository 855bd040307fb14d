"""Findings that are not proofs: their reasons, and whether they count as violations."""

from __future__ import annotations

from tests.analysis.pid_address.support import corpus_module, parse, report_of
from tilewright.analysis.pid_address import AccessProperties, analyze
from tilewright.analysis.pid_address.checks import Check, CheckResult, Finding, Settings, run_checks

LOCKED = """
tt.func public @k(%lock: !tt.ptr<i32>, %p: !tt.ptr<i32>) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %true = arith.constant true
  {acquire}
  tt.store %p, %c1 : !tt.ptr<i32>
  %free = tt.atomic_rmw exch, acq_rel, gpu, %lock, %c0, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}}
"""
SPIN = """scf.while : () -> () {
    %was = tt.atomic_cas acq_rel, gpu, %lock, %c0, %c1 : (!tt.ptr<i32>, i32, i32) -> i32
    %taken = arith.cmpi eq, %was, %c1 : i32
    scf.condition(%taken)
  } do {
    scf.yield
  }"""
COUNT = "%n = tt.atomic_rmw add, acq_rel, gpu, %lock, %c1, %true : (!tt.ptr<i32>, i32, i1) -> i32"


def race(acquire: str) -> Finding:
    report = report_of(LOCKED.format(acquire=acquire), AccessProperties(grid=(4,)))
    [found] = [f for f in run_checks(report, ["race"]) if f.check is Check.RACE]
    return found


def test_a_lock_may_keep_programs_apart() -> None:
    found = race(SPIN)
    assert found.verdict is CheckResult.UNKNOWN
    assert not found.is_violation
    assert found.witness is not None and found.witness.address == 0
    assert "%was (atomic) may order them" in found.message
    assert "not modelled" in found.message


def test_an_atomic_without_a_waiter_does_not() -> None:
    for acquire in ("", COUNT):
        found = race(acquire)
        assert found.verdict is CheckResult.REFUTED
        assert found.is_violation
        assert "not modelled" in found.message


def test_a_lock_taken_after_the_access_does_not() -> None:
    text = LOCKED.format(acquire="").replace("  %free", f"  {SPIN}\n  %free")
    [found] = run_checks(report_of(text, AccessProperties(grid=(4,))), ["race"])
    assert found.verdict is CheckResult.REFUTED


def bounds(name: str, facts: AccessProperties | None = None) -> dict[str, Finding]:
    report = analyze(corpus_module(name), facts)
    findings = run_checks(report, ["bounds"])
    return {a.name: f for a, f in zip(report.accesses, findings, strict=True)}


def test_unknown_bounds_name_the_flags_that_would_help() -> None:
    found = bounds("matmul_grouped")["%a_57 (load)"]
    assert found.verdict is CheckResult.UNKNOWN
    assert (
        "tdiv(pid0, 8*tdiv(N + 255, 256)) divides by a value that is not constant" in found.message
    )
    assert found.message.endswith(
        "pass --grid ... --arg M=... --arg N=... --arg K=... --arg stride_am=... "
        "--buffer a_ptr=BYTES"
    )
    given = AccessProperties(args={"M": 384, "K": 128, "N": 768})
    rest = bounds("matmul_grouped", given)["%b_60 (load)"]
    assert rest.message.endswith("--grid ... --arg stride_bk=... --buffer b_ptr=BYTES")


def test_the_suggested_flags_are_enough() -> None:
    facts = AccessProperties(
        grid=(9,),
        args={"M": 384, "N": 768, "K": 128, "stride_am": 128, "stride_bk": 768, "stride_cm": 768},
        buffers={"a_ptr": 384 * 128 * 2, "b_ptr": 128 * 768 * 2, "c_ptr": 384 * 768 * 2},
    )
    assert {f.verdict for f in bounds("matmul_grouped", facts).values()} == {CheckResult.PROVED}


def test_no_flag_helps_against_memory() -> None:
    found = bounds("embedding_gather")["%vals_25 (load)"]
    assert found.message.endswith("it depends on values loaded from memory")


def test_a_witness_divides_by_nothing_that_is_zero() -> None:
    """With H = 0 the head would be anything, in no launch that means something."""
    facts = AccessProperties(grid=(1, 4), buffers={"q_ptr": 1 << 20})
    for finding in bounds("flash_attn_fwd", facts).values():
        if finding.witness is not None:
            assert finding.witness.args.get("H") != 0


UNTIL = """
tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {{
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %end = scf.while (%i = %pid) : (i32) -> (i32) {{
    {before}
    %go = arith.cmpi {condition}, %i, %n : i32
    scf.condition(%go) %i : i32
  }} do {{
  ^bb0(%i: i32):
    {after}
    %next = arith.addi %i, %c1 : i32
    scf.yield %next : i32
  }}
  tt.return
}}
"""
STORE = """%q = tt.addptr %p, %i : !tt.ptr<i32>, i32
    tt.store %q, %c0 : !tt.ptr<i32>"""


def verdict(condition: str, before: str = "", after: str = "") -> CheckResult:
    text = UNTIL.format(condition=condition, before=before, after=after)
    report = analyze(parse(text), AccessProperties(grid=(2,), args={"n": 10}, buffers={"p": 36}))
    [found] = run_checks(report, ["bounds"])
    return found.verdict


def test_a_while_loop_whose_condition_stays_false_gets_everywhere_it_holds() -> None:
    assert verdict("slt", after=STORE) is CheckResult.REFUTED
    # Holds again after it has failed, so that a solution need not be reached.
    assert verdict("ne", after=STORE) is CheckResult.UNKNOWN
    # Before the condition nothing shows that the iteration is reached.
    assert verdict("slt", before=STORE) is CheckResult.UNKNOWN


LOADED = """
tt.func public @k(%p: !tt.ptr<i32>, %at: !tt.ptr<i32>) {
  %c1 = arith.constant 1 : i32
  %pid = tt.get_program_id x : i32
  %i = tt.load %at : !tt.ptr<i32>
  %q = tt.addptr %p, %i : !tt.ptr<i32>, i32
  tt.store %q, %c1 : !tt.ptr<i32>
  tt.return
}
"""


def test_a_refutation_has_an_address_even_if_any_would_do() -> None:
    """All programs store to one address, which is not known without the memory."""
    report = report_of(LOADED, AccessProperties(grid=(4,)))
    [found] = run_checks(report, ["race"])
    assert found.verdict is CheckResult.UNKNOWN
    assert found.message.endswith("it depends on values loaded from memory")
    [known] = run_checks(report, ["race"], Settings(memory={"at": [5]}))
    assert known.verdict is CheckResult.REFUTED
    assert known.witness is not None and known.witness.address == 20


SHIFTED = """
tt.func public @k(%p: !tt.ptr<i32>, %shift: i32) {
  %c1 = arith.constant 1 : i32
  %q = tt.addptr %p, %shift : !tt.ptr<i32>, i32
  tt.store %q, %c1 : !tt.ptr<i32>
  tt.return
}
"""


def test_arguments_that_were_not_given_make_a_condition_not_a_violation() -> None:
    buffers = {"p": 400}
    [open_] = run_checks(
        report_of(SHIFTED, AccessProperties(grid=(1,), buffers=buffers)), ["bounds"]
    )
    assert open_.verdict is CheckResult.REFUTED
    assert open_.condition == "0 <= shift <= 99"
    assert not open_.is_violation
    given = AccessProperties(grid=(1,), args={"shift": 100}, buffers=buffers)
    [wrong] = run_checks(report_of(SHIFTED, given), ["bounds"])
    assert wrong.is_violation
