"""The statements about bounds and overlap that the documentation makes of well-known kernels."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.checks.witnesses import confirm
from tests.analysis.pid_address.support import corpus_module, fixture_module, report_of
from tilewright.analysis.pid_address import AccessProperties, AddressReport, analyze
from tilewright.analysis.pid_address.checks import (
    Check,
    CheckResult,
    Finding,
    Method,
    Settings,
    run_checks,
)


def of_corpus(name: str, facts: AccessProperties | None = None) -> AddressReport:
    return analyze(corpus_module(name), facts)


def findings(report: AddressReport, check: str, *accesses: int) -> list[Finding]:
    return [f for f in run_checks(report, [check]) if f.accesses == accesses]


def finding(report: AddressReport, check: str, *accesses: int) -> Finding:
    [only] = findings(report, check, *accesses)
    return only


def test_vector_add_is_safe_in_buffers_of_n_elements() -> None:
    report = of_corpus("vector_add")
    for access in report.accesses:
        found = finding(report, "bounds", access.index)
        assert found.verdict is CheckResult.PROVED
        assert found.method is Method.PRESBURGER
        assert found.condition == f"{access.base} holds at least n_elements elements of 4 bytes"


def test_vector_add_stores_are_disjoint_for_any_grid_and_size() -> None:
    found = finding(of_corpus("vector_add"), "race", 2, 2)
    assert found.verdict is CheckResult.PROVED
    assert found.condition is None


def test_softmax_rows_are_disjoint_if_the_stride_is_long_enough() -> None:
    found = finding(of_corpus("softmax_row"), "race", 1, 1)
    assert found.verdict is CheckResult.PROVED
    assert found.method is Method.MIXED_RADIX
    assert found.condition == "out_row_stride >= min(1024, n_cols)"


def test_softmax_rows_conflict_at_byte_3072() -> None:
    args = {"in_row_stride": 800, "out_row_stride": 768, "n_cols": 781}
    report = of_corpus("softmax_row", AccessProperties(grid=(4,), args=args))
    found = finding(report, "race", 1, 1)
    confirm(report, found)
    assert found.witness is not None
    assert found.witness.address == 3072
    assert [point.program[0] for point in found.witness.points] == [0, 1]
    assert "not modelled" in found.message
    assert found.is_violation


def test_softmax_stays_inside_if_strides_are_not_negative() -> None:
    found = finding(of_corpus("softmax_row"), "bounds", 0)
    assert found.condition is not None
    assert found.condition.startswith("%in_ptr holds at least in_row_stride*np0")
    assert found.condition.endswith("in_row_stride >= 0")


def test_grouped_matmul_is_disjoint_if_rows_are_and_tiles_differ() -> None:
    found = finding(of_corpus("matmul_grouped"), "race", 2, 2)
    assert found.verdict is CheckResult.PROVED
    assert found.condition is not None
    assert found.condition == (
        "stride_cm >= N and 256*%pid_n + lane1 >= 0 and (%pid_m_8, %pid_n) differ between programs"
    )


def test_layernorm_rows_are_disjoint_if_they_fit_the_stride() -> None:
    assert finding(of_corpus("layernorm_fwd"), "race", 7, 7).condition == "stride >= N"


def test_the_masked_histogram_is_inside_for_any_values() -> None:
    report = of_corpus("histogram_atomic")
    found = finding(report, "bounds", 1)
    assert found.condition == "%hist_ptr holds at least n_bins elements of 4 bytes"
    assert not run_checks(report, ["race"]), "two atomics never race"


def test_attention_rows_of_the_mask_are_disjoint() -> None:
    found = finding(of_corpus("flash_attn_fwd"), "race", 3, 3)
    assert (found.verdict, found.condition) == (CheckResult.PROVED, None)


def test_attention_heads_are_disjoint_given_strides_and_heads() -> None:
    found = finding(
        of_corpus("flash_attn_fwd", AccessProperties(assumptions=("H >= 1",))), "race", 4, 4
    )
    assert found.condition is not None
    assert "stride_qh >= N_CTX*stride_qm" in found.condition
    assert "differ" not in found.condition, "pid1 // H and pid1 % H determine pid1"


def test_descriptor_blocks_follow_the_descriptor() -> None:
    report = of_corpus("matmul_tma")
    assert finding(report, "bounds", 2).condition == (
        "%c_ptr holds at least M*N elements of 2 bytes"
    )
    assert finding(report, "race", 2, 2).condition is None


def test_transposition_wants_two_orders() -> None:
    report = of_corpus("transpose_2d")
    [order] = [f for f in run_checks(report, ["coalesce"]) if f.check is Check.ORDER]
    assert order.accesses == (0, 1)
    assert "[1, 0] and [0, 1]" in order.message
    assert not order.is_violation


def test_a_persistent_loop_is_disjoint_for_as_many_programs_as_it_expects() -> None:
    found = finding(
        analyze(fixture_module("persistent_matmul"), AccessProperties(grid=(132,))), "race", 2, 2
    )
    assert found.verdict is CheckResult.PROVED
    assert found.condition == "stride_cm >= N"


def test_a_persistent_loop_with_one_program_more_conflicts_with_itself() -> None:
    sizes = {"M": 1536, "N": 1536, "stride_cm": 1536}
    module = fixture_module("persistent_matmul")
    given = {p.name: sizes.get(p.name, 64) for p in analyze(module).params if not p.is_pointer}
    report = analyze(module, AccessProperties(grid=(133,), args=given))
    found = finding(report, "race", 2, 2)
    confirm(report, found)
    assert found.witness is not None
    assert [point.program[0] for point in found.witness.points] == [0, 132]


def test_a_loop_over_the_grid_is_disjoint_for_any_grid() -> None:
    report = analyze(fixture_module("grid_stride"))
    [store] = [f for f in run_checks(report, ["race"]) if f.verdict is CheckResult.PROVED]
    assert store.method is Method.MIXED_RADIX
    assert store.condition is None


def test_memory_at_a_loaded_pointer_is_unknown() -> None:
    report = analyze(fixture_module("grouped_gemm"))
    unknown = [
        f for f in run_checks(report, ["bounds", "race"]) if f.verdict is CheckResult.UNKNOWN
    ]
    assert {f.check for f in unknown} == {Check.BOUNDS, Check.RACE}
    assert all("nothing is known about" in f.message for f in unknown)


def test_a_clamped_tail_needs_a_full_block() -> None:
    report = analyze(fixture_module("clamped_tail"))
    for found in run_checks(report, ["bounds"]):
        assert found.verdict is CheckResult.REFUTED
        assert found.condition == "n >= 256"
        confirm(report, found)
        assert found.witness is not None
        assert found.witness.points[0].program == (0, 0, 0)


@pytest.mark.parametrize(
    ("n", "verdict"), [(1024, CheckResult.PROVED), (1000, CheckResult.REFUTED)]
)
def test_a_clamped_tail_overlaps_unless_blocks_divide_it(n: int, verdict: CheckResult) -> None:
    report = analyze(fixture_module("clamped_tail"), AccessProperties(grid=(4,), args={"n": n}))
    [found] = run_checks(report, ["race"])
    assert found.verdict is verdict
    if verdict is CheckResult.REFUTED:
        confirm(report, found)
        assert found.witness is not None
        assert [point.program[0] for point in found.witness.points] == [2, 3]


STRIDED = """
tt.func @column(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  %lane = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %c = arith.constant dense<64> : tensor<32xi32>
  %o = arith.muli %lane, %c : tensor<32xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
  %q = tt.addptr %p, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
  %v = tt.load %q : tensor<32x!tt.ptr<f32>>
  tt.store %q, %v : tensor<32x!tt.ptr<f32>>
  tt.return
}
"""


def test_a_strided_column_needs_eight_times_the_sectors() -> None:
    [load, *_] = run_checks(report_of(STRIDED), ["coalesce"])
    assert load.verdict is CheckResult.REFUTED
    assert load.is_violation, "a requested check reports it"
    assert "32 sectors of 32 bytes instead of 4" in load.message


def test_a_store_without_program_id_is_a_race_of_any_two_programs() -> None:
    report = report_of(STRIDED, AccessProperties(grid=(2,)))
    for found in run_checks(report, ["race"]):
        assert found.verdict is CheckResult.REFUTED
        confirm(report, found)
    [single, *_] = run_checks(report_of(STRIDED, AccessProperties(grid=(1,))), ["race"])
    assert single.verdict is CheckResult.PROVED


def test_aliased_buffers_are_unknown() -> None:
    report = of_corpus("vector_add", AccessProperties(grid=(2,), args={"n_elements": 2000}))
    settings = Settings(may_alias=(("x_ptr", "out_ptr"),))
    pairs = {f.accesses: f.verdict for f in run_checks(report, ["race"], settings)}
    assert pairs == {(0, 2): CheckResult.UNKNOWN, (2, 2): CheckResult.PROVED}


FIXTURE_LAUNCHES = [
    ("branch_result", (5, 1)),
    ("clamped_tail", (3, 1)),
    ("early_return", (3, 2)),
    ("grid_stride", (6, 2)),
    ("interleave", (4, 2)),
    ("persistent_matmul", (4, 1)),
    ("swizzled", (4, 2)),
    ("triangular_walk", (3, 1)),
    ("while_loop", (6, 2)),
]


@pytest.mark.parametrize(("name", "grid"), FIXTURE_LAUNCHES)
def test_witnesses_in_kernels_with_involved_control_flow(name: str, grid: tuple[int, int]) -> None:
    """Small buffers and grids that are too large: whatever is refuted is confirmed."""
    module = fixture_module(name)
    params = analyze(module).params
    integers = {p.name: 16 * (7 + at) for at, p in enumerate(params) if p.type.startswith("i")}
    buffers = {p.name: 256 for p in params if p.is_pointer}
    report = analyze(module, AccessProperties(grid=grid, args=integers, buffers=buffers))
    refuted = [
        f for f in run_checks(report, ["bounds", "race"]) if f.verdict is CheckResult.REFUTED
    ]
    assert refuted
    for found in refuted:
        confirm(report, found)
