"""The closed form of a GEMM: worked examples, and every published measurement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from statistics import median

import pytest

from benchmarks.tenstorrent_gemm import GemmRun, gemm_cost
from benchmarks.tenstorrent_model import block_ranking, held_out_rows, overview, problem_ranking
from benchmarks.tenstorrent_published import TABLES, Row, published
from scripts.fit_tt_cost import GRID, errors, fit, fit_rows
from tilewright.analysis.tensix_cost.parameters import (
    BLACKHOLE,
    WORMHOLE,
    CostTable,
    Parameter,
    Source,
    cost_table,
)

ROWS = published()


def _row(board: str, sizes: tuple[int, int, int], dtype: str, fidelity: str) -> Row:
    """The traced, tuned row of a problem."""
    (found,) = [
        row
        for row in ROWS
        if (row.board, row.m, row.k, row.n, row.dtype, row.fidelity)
        == (board, *sizes, dtype, fidelity)
        and row.trace
        and row.configured == "tuned"
    ]
    return found


def test_3072_cubed_is_limited_by_the_fpu() -> None:
    run = GemmRun(
        (8, 8), (12, 12), (12, 12), 96, 8, (1, 6), 2048, "HiFi4"
    )  # all operands in DRAM: the movement of the worked example
    cost = gemm_cost(run, WORMHOLE)
    assert run.matmuls == 13_824
    assert cost.compute == 953_856
    assert round(cost.movement) == 168_585
    assert cost.total == 959_856
    measured = _row("n150", (3072, 3072, 3072), "bfloat16", "HiFi4").measured
    assert abs(cost.total / measured - 1) < Fraction(3, 1000)


def test_512_by_1024_by_2048_is_limited_by_the_noc() -> None:
    row = _row("n150", (512, 1024, 2048), "bfloat16", "HiFi2")
    cost = gemm_cost(row.run, WORMHOLE)
    assert row.run.core_tiles == (2, 8)
    assert (row.run.step_tiles, row.run.subblock) == (4, (1, 8))
    assert cost.compute == 24_576
    assert round(cost.total) == 43_223
    assert cost.limit == "NoC"
    assert round(row.measured) == 48_132
    assert float(cost.total / row.measured) - 1 == pytest.approx(-0.10, abs=0.005)


@pytest.mark.parametrize(
    ("board", "sizes", "dtype", "fidelity", "cycles", "measured"),
    [
        ("n150", (2048, 2048, 2048), "bfloat16", "HiFi2", 202_608, 202_053),
        ("n150", (2048, 2048, 2048), "bfloat8_b", "LoFi", 110_448, 111_285),
        ("p150", (2560, 3328, 3328), "bfloat16", "HiFi2", 237_632, 244_678),
        ("p150", (2560, 3328, 3328), "bfloat16", "HiFi4", 450_624, 457_212),
    ],
)
def test_worked_examples_of_both_architectures(
    board: str, sizes: tuple[int, int, int], dtype: str, fidelity: str, cycles: int, measured: int
) -> None:
    row = _row(board, sizes, dtype, fidelity)
    assert gemm_cost(row.run, TABLES[board]).total == cycles
    assert round(row.measured) == pytest.approx(measured, abs=60)


def test_all_published_rows_are_there() -> None:
    assert len(ROWS) == 702
    assert sum(row.kind == "l1" and row.trace for row in ROWS) == 3 * 55
    assert all(row.measured > 0 for row in ROWS)
    assert all(row.run.matmuls == row.matmuls for row in ROWS if row.configured == "tuned")


def test_model_agrees_with_rows_left_out_of_the_fit() -> None:
    for board, limit in (("n150", 0.05), ("p150", 0.035)):
        _, held_out = fit_rows(ROWS, board)
        assert median(map(abs, errors(held_out, TABLES[board]))) < limit
    for board, kind, limit, worst in (
        ("n150", "l1", 0.045, 0.56),
        ("p150", "l1", 0.03, 0.37),
        ("n150", "dram", 0.05, 0.15),
        ("p150", "dram", 0.03, 0.08),
    ):
        found = errors([r for r in ROWS if (r.board, r.kind) == (board, kind)], TABLES[board])
        assert median(map(abs, found)) < limit
        assert max(map(abs, found)) < worst


def test_block_sizes_are_ranked_as_measured() -> None:
    for right, count in (
        block_ranking(ROWS),
        block_ranking(held_out_rows(ROWS)),
        block_ranking(ROWS, 2),
        problem_ranking(ROWS),
    ):
        assert count >= 30
        assert right >= 0.8 * count


def test_fit_finds_the_parameters_in_use() -> None:
    used, held_out = fit_rows(ROWS, "n150")
    fitted = fit(used, WORMHOLE)
    for name, tolerance in zip(GRID, (2, 4, 4, 1000), strict=True):
        assert abs(getattr(fitted, name).value - getattr(WORMHOLE, name).value) <= tolerance
    assert median(map(abs, errors(held_out, fitted))) < 0.05


def test_a_wrong_parameter_is_noticed() -> None:
    wrong = replace(
        WORMHOLE, unpack_rate=Parameter(Fraction(24), Source.ASSUMED, "half of the true rate")
    )
    _, held_out = fit_rows(ROWS, "n150")
    assert median(map(abs, errors(held_out, wrong))) > 0.2


def test_summary_is_labelled_as_a_model() -> None:
    assert "model, not measured" in "\n".join(overview(ROWS))


@pytest.mark.parametrize("table", [WORMHOLE, BLACKHOLE])
def test_every_parameter_has_a_source(table: CostTable) -> None:
    rows = dict(table.rows())
    assert len(rows) > 20
    assert all(each.origin and each.value > 0 for each in rows.values())
    assert {each.source for each in rows.values()} == set(Source)


def test_unknown_architecture() -> None:
    with pytest.raises(ValueError, match="no cost table for 'grayskull'"):
        cost_table("grayskull")
