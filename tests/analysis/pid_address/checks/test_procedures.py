"""Decision procedures and checks, each on its own."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.checks.witnesses import confirm
from tests.analysis.pid_address.support import corpus_module, report_of
from tilewright.analysis.affine import Interval, Poly, Space
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.pid_address import AccessProperties, analyze
from tilewright.analysis.pid_address.checks import (
    Check,
    CheckResult,
    Method,
    Settings,
    intervals,
    overlap,
    presburger,
    run_checks,
    smt,
)
from tilewright.analysis.pid_address.checks import ownership as ownership_module
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.ownership import Ownership
from tilewright.analysis.pid_address.checks.prefetch import hint_of
from tilewright.analysis.pid_address.checks.questions import QueryResult, Question
from tilewright.analysis.pid_address.checks.settings import Effort


def launch(name: str, facts: AccessProperties | None = None) -> Launch:
    return Launch(analyze(corpus_module(name), facts), Settings())


def question(*parts: tuple[str, Poly, int | Poly]) -> Question:
    """All comparisons hold at once."""
    formula = parts[0][1].space.true
    for rel, left, right in parts:
        formula &= compare(rel, left, right)
    symbols = tuple(a for a in formula.space.atoms_within((formula,)) if a.is_symbol)
    return Question(formula, symbols, True)


def effort() -> Effort:
    return Effort(Settings())


# P0


def test_intervals_exclude_what_ranges_exclude() -> None:
    x = Space().symbol("x", Interval(0, 10))
    assert intervals.decide(question((">", x, 10)), effort()).possible is False
    assert intervals.decide(question((">", x, 9)), effort()).possible is None


def test_bounds_by_elimination_use_the_mask_before_the_domain() -> None:
    checked = launch("matmul_tma")
    region = checked.region(checked.report.accesses[2])
    assert str(intervals.upper_bound(region, region.offset)) == "2*M*N - 2"


def test_no_bound_without_the_sign_of_a_stride() -> None:
    checked = launch("softmax_row")
    region = checked.region(checked.report.accesses[0])
    assert intervals.upper_bound(region, region.offset) is None
    limit = intervals.upper_limit(region, region.offset)
    assert limit is not None
    assert [str(sign) for sign in limit.signs] == ["in_row_stride"]


# P2


def test_integer_sets_find_the_smallest_solution() -> None:
    space = Space()
    x, y = (space.symbol(name, Interval(0, 100)) for name in "xy")
    queried = question(("=", x * 3 + y * 5, 41), (">", x, 3))
    assert presburger.decide(queried, effort()) == QueryResult(
        True, Method.PRESBURGER, {"x": 7, "y": 4}
    )


def test_linear_parts_may_be_enough_for_a_proof() -> None:
    space = Space()
    x, y = (space.symbol(name, Interval(0, 10**6)) for name in "xy")
    impossible = question((">", x * y, 5), ("<", x, 3), (">", x, 7))
    assert presburger.decide(impossible, effort()).possible is False
    open_ended = presburger.decide(question((">", x * y, 5), ("<", x, 30)), effort())
    assert open_ended.possible is None
    assert open_ended.reason.startswith("not linear")


def test_isl_stops_at_its_limit_of_operations() -> None:
    checked = launch("vector_add")
    store = checked.report.accesses[2]
    queried = overlap.common_byte(checked, store, store)
    limited = presburger.decide(queried, Effort(Settings(operations=1)))
    assert limited.possible is None
    assert "limit of operations" in limited.reason
    assert presburger.decide(queried, effort()).possible is False


# P3


def test_without_z3_there_is_no_opinion(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(smt, "import_module", missing)
    x = Space().symbol("x")
    assert smt.decide(question(("<", x * x, 0)), effort()) == QueryResult(None, Method.SMT)


def test_z3_decides_nonlinear_terms() -> None:
    pytest.importorskip("z3")
    space = Space()
    x = space.symbol("x", Interval(0, 1000))
    stride = space.symbol("stride", Interval(1, 1000))
    assert smt.decide(question(("<", x * stride, x)), effort()).possible is False
    square = smt.decide(question(("=", x * x, 1369)), effort())
    assert (square.possible, square.values) == (True, {"x": 37})


@pytest.mark.parametrize("divisor", [3, -3])
@pytest.mark.parametrize("value", [7, -7])
def test_z3_rounds_as_the_formulas_do(value: int, divisor: int) -> None:
    pytest.importorskip("z3")
    space = Space()
    x = space.symbol("x", Interval(-10, 10))
    d = space.symbol("d", Interval(-10, 10))
    for rounding, expected in (
        (space.root.fdiv(x, d), value // divisor),
        (space.root.tdiv(x, d), int(value / divisor)),
    ):
        fixed = [("=", x, value), ("=", d, divisor)]
        right = smt.decide(question(*fixed, ("=", rounding, expected)), effort())
        assert right.possible is True
        wrong = smt.decide(question(*fixed, ("!=", rounding, expected)), effort())
        assert wrong.possible is False


def test_z3_gets_no_more_than_its_time() -> None:
    pytest.importorskip("z3")
    x = Space().symbol("x")
    result = smt.decide(question(("=", x * x * x, 2)), Effort(Settings(timeout=0)))
    assert result == QueryResult(None, Method.SMT, reason="z3 reached its limit of steps")


# P4

TWO_SIZES = """
tt.func @sizes(%x: !tt.ptr<f32>, %far: i32) {
  %pid = tt.get_program_id x : i32
  %o = arith.muli %pid, %far : i32
  %w = arith.constant 1.0 : f32
  %p = tt.addptr %x, %o : !tt.ptr<f32>, i32
  tt.store %p, %w : !tt.ptr<f32>
  %half = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i16>
  %three = arith.constant 3 : i32
  %h = arith.constant 1 : i16
  %q = tt.addptr %half, %three : !tt.ptr<i16>, i32
  tt.store %q, %h : !tt.ptr<i16>
  tt.return
}
"""


@pytest.mark.parametrize("far", [1, 1 << 24])
def test_elements_of_different_sizes_share_bytes(far: int) -> None:
    """Four bytes at 4*far*pid, two bytes at 6: program 1 of the first conflicts at byte 6."""
    report = report_of(TWO_SIZES, AccessProperties(grid=(4,), args={"far": far}))
    checked = Launch(report, Settings())
    points = [checked.enumeration(a, every_program=True) for a in report.accesses]
    conflict = Ownership(points).conflict(0, 1)
    assert (conflict is not None) is (far == 1)
    if conflict is not None:
        assert (conflict.first, conflict.second, conflict.address) == (1, 0, 6)
    verdicts = {f.accesses: f for f in run_checks(report, ["race"])}
    assert verdicts[0, 0].verdict is CheckResult.PROVED
    assert verdicts[1, 1].verdict is CheckResult.REFUTED
    assert (verdicts[0, 1].verdict is CheckResult.REFUTED) is (far == 1)
    for found in verdicts.values():
        if found.verdict is CheckResult.REFUTED:
            confirm(report, found)


def test_addresses_far_apart_are_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership_module, "MAX_UNITS", 16)
    args = {"in_row_stride": 800, "out_row_stride": 768, "n_cols": 781}
    checked = launch("softmax_row", AccessProperties(grid=(4,), args=args))
    points = checked.enumeration(checked.report.accesses[1], every_program=True)
    conflict = Ownership([points]).conflict(0, 0)
    assert conflict is not None
    assert (conflict.first, conflict.second, conflict.address) == (0, 1, 3072)


def test_iterations_belong_to_their_program() -> None:
    checked = launch("layernorm_fwd", AccessProperties(grid=(2,), args={"stride": 16, "N": 3072}))
    store = next(a for a in checked.report.accesses if a.index == 7)
    conflict = Ownership([checked.enumeration(store, every_program=True)]).conflict(0, 0)
    assert conflict is not None
    assert (conflict.first, conflict.second, conflict.address) == (0, 1, 32)
    [found] = [f for f in run_checks(checked.report, ["race"]) if f.accesses == (7, 7)]
    confirm(checked.report, found)


# Executions that may not happen

UNREACHED = """
tt.func @none(%x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c9 = arith.constant 9 : i32
  %v = arith.constant 1.0 : f32
  %p = tt.addptr %x, %c9 : !tt.ptr<f32>, i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    tt.store %p, %v : !tt.ptr<f32>
  }
  tt.return
}
"""


@pytest.mark.parametrize(("n", "verdict"), [(0, CheckResult.PROVED), (1, CheckResult.REFUTED)])
def test_a_loop_without_iterations_accesses_nothing(n: int, verdict: CheckResult) -> None:
    facts = AccessProperties(grid=(2,), args={"n": n}, buffers={"x": 4})
    found = run_checks(report_of(UNREACHED, facts), ["bounds", "race"])
    assert [f.verdict for f in found] == [verdict, verdict]


LOADED = """
tt.func @loaded(%ids: !tt.ptr<i32>, %x: !tt.ptr<f32>, %m: i1) {
  %id = tt.load %ids : !tt.ptr<i32>
  %v = arith.constant 1.0 : f32
  %p = tt.addptr %x, %id : !tt.ptr<f32>, i32
  tt.store %p, %v : !tt.ptr<f32>
  tt.return
}
"""


def test_a_loaded_value_neither_proves_nor_refutes() -> None:
    facts = AccessProperties(grid=(1,), buffers={"x": 4, "ids": 4})
    found = run_checks(report_of(LOADED, facts), ["bounds"])
    assert [f.verdict for f in found] == [CheckResult.PROVED, CheckResult.UNKNOWN]
    known = run_checks(report_of(LOADED, facts), ["bounds"], Settings(memory={"ids": [0]}))
    assert [f.verdict for f in known] == [CheckResult.PROVED, CheckResult.PROVED]


def test_what_lies_outside_the_given_memory_is_not_known() -> None:
    facts = AccessProperties(grid=(1,), buffers={"x": 4, "ids": 4})
    found = run_checks(report_of(LOADED, facts), ["bounds"], Settings(memory={"ids": []}))
    assert found[1].verdict is CheckResult.UNKNOWN


# Checks


def test_an_unknown_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="no check named speed; there are coalesce, vector"):
        run_checks(analyze(corpus_module("vector_add")), ["speed"])


def test_the_mask_is_named_as_the_limit_of_vectors() -> None:
    messages = [f.message for f in run_checks(launch("softmax_row").report, ["vector"])]
    assert "32 bits" in messages[0]
    assert "n_cols, which is not known to be divisible by 4; with that, 128 bits" in messages[0]
    verdicts = {f.verdict for f in run_checks(launch("vector_add").report, ["vector"])}
    assert verdicts == {CheckResult.PROVED}


def test_overflow_is_decided_for_a_given_launch() -> None:
    small = analyze(
        corpus_module("vector_add"), AccessProperties(grid=(5,), args={"n_elements": 5000})
    )
    assert all(f.verdict is CheckResult.PROVED for f in run_checks(small, ["overflow"]))
    args = {"in_row_stride": 1 << 20, "out_row_stride": 16, "n_cols": 100}
    large = analyze(corpus_module("softmax_row"), AccessProperties(grid=(4096,), args=args))
    [found] = [f for f in run_checks(large, ["overflow"]) if f.verdict is CheckResult.REFUTED]
    assert found.is_violation
    assert found.witness is not None
    assert found.witness.points[0].program == (2048, 0, 0)
    assert found.witness.value == 2**31
    confirm(large, found)


def test_overflow_for_open_arguments_is_a_condition() -> None:
    report = analyze(corpus_module("vector_add"))
    [first, second] = run_checks(report, ["overflow"])
    assert (first.condition, second.condition) == ("np0 <= 2097152", "np0 <= 2097152")
    for found in (first, second):
        confirm(report, found)
        assert not found.is_violation


def test_hints_for_the_loops_of_a_gemm() -> None:
    args = {"M": 384, "N": 768, "K": 128, "stride_am": 128, "stride_bk": 768, "stride_cm": 768}
    checked = launch("matmul_grouped", AccessProperties(grid=(9,), args=args))
    [a, b] = [hint_of(checked, access) for access in checked.report.accesses[:2]]
    assert (a.loop, a.bytes_per_iteration, a.stride) == ("%k", 128 * 64 * 2, "128")
    assert (a.disjoint, a.ahead, a.tma) == (True, True, True)
    assert (b.bytes_per_iteration, b.stride, b.disjoint) == (64 * 256 * 2, "98304", True)


CHASE = """
tt.func @chase(%ids: !tt.ptr<i32>, %x: !tt.ptr<f32>, %n: i32) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %p = tt.addptr %ids, %i : !tt.ptr<i32>, i32
    %id = tt.load %p : !tt.ptr<i32>
    %q = tt.addptr %x, %id : !tt.ptr<f32>, i32
    %v = tt.load %q : !tt.ptr<f32>
    tt.store %q, %v : !tt.ptr<f32>
  }
  tt.return
}
"""


def test_an_address_loaded_in_the_loop_cannot_be_known_ahead() -> None:
    [ids, data] = run_checks(report_of(CHASE), ["prefetch"])
    assert ids.hint is not None
    assert data.hint is not None
    assert (ids.hint.ahead, ids.hint.stride, ids.hint.disjoint) == (True, "4", True)
    assert (data.hint.ahead, data.hint.stride, data.hint.disjoint) == (False, None, None)
    assert (ids.verdict, data.verdict) == (CheckResult.PROVED, CheckResult.UNKNOWN)


def test_memory_that_the_kernel_writes_is_not_taken_for_what_it_was() -> None:
    facts = AccessProperties(grid=(1,), args={"n": 3}, buffers={"ids": 12, "x": 40})
    settings = Settings(memory={"ids": [1, 2, 9]})
    [_, load, _] = run_checks(report_of(CHASE, facts), ["bounds"], settings)
    assert (load.verdict, load.method) == (CheckResult.PROVED, Method.ENUMERATION)
    outside = Settings(memory={"ids": [1, 2, 10]})
    [_, load, _] = run_checks(report_of(CHASE, facts), ["bounds"], outside)
    assert load.witness is not None
    assert load.witness.points[0].counters == (("%i", 2),)
    assert load.witness.address == 40
    writing = CHASE.replace("tt.store %q, %v : !tt.ptr<f32>", "tt.store %p, %id : !tt.ptr<i32>")
    [_, load, _] = run_checks(report_of(writing, facts), ["bounds"], settings)
    assert load.verdict is CheckResult.UNKNOWN


ROWS = """
tt.func @rows(%x: !tt.ptr<f32>, %stride: i32, %n: i32) {
  %pid = tt.get_program_id x : i32
  %row = arith.muli %pid, %stride : i32
  %lane = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %rows = tt.splat %row : i32 -> tensor<64xi32>
  %o = arith.addi %rows, %lane : tensor<64xi32>
  %ns = tt.splat %n : i32 -> tensor<64xi32>
  %in = arith.cmpi slt, %lane, %ns : tensor<64xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %q : tensor<64x!tt.ptr<f32>>
  tt.store %q, %v, %in : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""


def test_an_updated_row_needs_space_for_the_wider_access() -> None:
    found = {f.accesses: f.condition for f in run_checks(report_of(ROWS), ["race"])}
    assert found[1, 1] == "stride >= min(64, n)"
    assert found[0, 1] == "stride >= 64 and stride >= min(64, n)"


@pytest.mark.parametrize(("stride", "n"), [(64, 64), (40, 40), (40, 50)])
def test_the_conditions_hold_for_launches(stride: int, n: int) -> None:
    facts = AccessProperties(grid=(3,), args={"stride": stride, "n": n})
    report = report_of(ROWS, facts)
    for found in run_checks(report, ["race"]):
        bound = 64 if found.accesses == (0, 1) else min(64, n)
        assert (found.verdict is CheckResult.PROVED) == (stride >= bound)
        if found.verdict is CheckResult.REFUTED:
            confirm(report, found)


MISALIGNED = """
tt.func @shifted(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %s: i32) {
  %c1 = arith.constant dense<1> : tensor<64xi32>
  %lane = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %o = arith.addi %c1, %lane : tensor<64xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %o : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %q : tensor<64x!tt.ptr<f32>>
  %ss = tt.splat %s : i32 -> tensor<64xi32>
  %so = arith.muli %lane, %ss : tensor<64xi32>
  %r = tt.addptr %p, %so : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %w = tt.load %r : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""


def test_the_term_that_spoils_alignment_and_the_stride_that_scatters_are_named() -> None:
    findings = run_checks(report_of(MISALIGNED), ["coalesce", "vector"])
    [alignment] = [f for f in findings if f.check is Check.ALIGNMENT]
    assert "the constant offset 4 is only known to be a multiple of 4" in alignment.message
    unknown = [f for f in findings if f.check is Check.COALESCE and f.accesses == (1,)]
    assert [f.verdict for f in unknown] == [CheckResult.UNKNOWN]
    assert "s is a run-time value: if it is 1, make it a constant" in unknown[0].message
    [shifted, _] = [f for f in findings if f.check is Check.VECTOR]
    assert "the term 4 is not known to be divisible by 16" in shifted.message


BROADCAST = """
tt.func @same(%x: !tt.ptr<f32>) {
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
  %v = arith.constant dense<0.0> : tensor<8xf32>
  tt.store %p, %v : tensor<8x!tt.ptr<f32>>
  tt.return
}
"""


def test_lanes_that_store_to_one_address_are_mentioned() -> None:
    [race, lanes] = run_checks(report_of(BROADCAST, AccessProperties(grid=(1,))), ["race"])
    assert race.verdict is CheckResult.PROVED
    assert lanes.check is Check.LANES
    assert lanes.witness is not None
    assert [point.lanes for point in lanes.witness.points] == [(0,), (1,)]
    assert not lanes.is_violation
