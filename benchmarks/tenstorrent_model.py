"""The cost model of Tenstorrent GEMMs beside every published measurement.

    make bench
    python benchmarks/tenstorrent_model.py [--rows] [--check]

The measurements are Tenstorrent's (`tenstorrent_published`), the predictions are those of
Tilewright's model: nothing here ran on a device. `--rows` prints all 702 rows, otherwise the
summary: errors by board and kind, for the rows that the fit used and for those held out, and the
share of pairs of configurations that the model ranks as measured.

Ranked are pairs of tuned rows of one board, grid, element type, fidelity and trace setting, which
differ in block sizes and K steps (and in the problem, which determines them in the vendor's
benchmark), by cycles per tile matmul of a core, where these differ by more than 15 %. Total times
would be ranked right by any model, because the problems differ in size; of these pairs, those
whose cores compute about as many matmuls (at most twice as many) are counted again by themselves.
The last ranking is of the same problem: tuned against automatic configuration, where the latter had
to be assumed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.tenstorrent_gemm import gemm_cost  # noqa: E402
from benchmarks.tenstorrent_published import TABLES, Row, published  # noqa: E402
from scripts.fit_tt_cost import errors, fit_rows, summary  # noqa: E402
from tilewright.analysis.tensix_cost import NOTICE  # noqa: E402

DIFFERENT = 1.15
KINDS = ("l1", "dram", "out_of_box")
LIMITS = {"n150": 0.06, "p150": 0.04}
"""Median error of rows held out."""
RANKED = 0.80


def predicted(row: Row) -> float:
    """Cycles of the model."""
    return float(gemm_cost(row.run, TABLES[row.board]).total)


def _group(row: Row) -> tuple[object, ...]:
    return (row.board, row.columns, row.rows, row.dtype, row.fidelity, row.trace, row.configured)


def _problem(row: Row) -> tuple[object, ...]:
    return (*_group(row)[:-1], row.m, row.k, row.n)


def pairs(
    rows: Sequence[Row], key: Callable[[Row], tuple[object, ...]]
) -> Iterator[tuple[Row, Row]]:
    """Rows of one group whose measured cycles per matmul differ by more than 15 %."""
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    for group in groups.values():
        for one, other in combinations(group, 2):
            first, second = (float(each.measured / each.matmuls) for each in (one, other))
            if max(first, second) > DIFFERENT * min(first, second):
                yield one, other


def ranked(
    rows: Sequence[Row],
    key: Callable[[Row], tuple[object, ...]],
    largest_ratio: float = math.inf,
) -> tuple[int, int]:
    """Pairs that the model ranks as measured, and all pairs."""
    found = [
        (one, other)
        for one, other in pairs(rows, key)
        if max(one.matmuls, other.matmuls) <= largest_ratio * min(one.matmuls, other.matmuls)
    ]
    right = sum(
        (one.measured / one.matmuls < other.measured / other.matmuls)
        == (predicted(one) / one.matmuls < predicted(other) / other.matmuls)
        for one, other in found
    )
    return right, len(found)


def block_ranking(rows: Sequence[Row], largest_ratio: float = math.inf) -> tuple[int, int]:
    """Block sizes of the tuned rows whose numbers of matmuls differ by at most a factor."""
    return ranked([row for row in rows if row.configured == "tuned"], _group, largest_ratio)


def problem_ranking(rows: Sequence[Row]) -> tuple[int, int]:
    """Tuned against automatic configuration of the same problem."""
    return ranked(rows, _problem)


def held_out_rows(rows: Sequence[Row]) -> list[Row]:
    """The tuned rows that the fit did not use."""
    return [row for board in TABLES for row in fit_rows(rows, board)[1]]


def _line(row: Row) -> str:
    run, cost = row.run, gemm_cost(row.run, TABLES[row.board])
    error = float(cost.total / row.measured) - 1
    sizes = f"{row.m} x {row.k} x {row.n}"
    block = f"{run.block_tiles[0]}x{run.block_tiles[1]}x{run.step_tiles}"
    subblock = f"{run.subblock[0]}x{run.subblock[1]}"
    return (
        f"{row.board} {row.columns:2}x{row.rows:<2} {sizes:22} {row.dtype:9} {row.fidelity:5} "
        f"{row.kind:10} {'trace' if row.trace else '-':5} {block:>9} {subblock:>4} "
        f"{float(row.measured):12.0f} {float(cost.total):12.0f} {error:+7.1%} {cost.limit}"
    )


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Every row: measured and predicted cycles in one row."""
    yield f"cycles of a launch: measured by Tenstorrent | {NOTICE}"
    yield (
        f"{'board':5}{'grid':>5}  {'M x K x N':22} {'type':9} {'fid.':5} {'kind':10} {'':5} "
        f"{'block':>9} {'sub':>4} {'measured':>12} {'model':>12} {'error':>7} limit"
    )
    yield from (_line(row) for row in rows)


def overview(rows: Sequence[Row]) -> Iterator[str]:
    """Errors by board and kind, and rankings."""
    yield f"error of predicted cycles ({NOTICE}) against Tenstorrent's measurements"
    for board, costs in TABLES.items():
        for kind in KINDS:
            chosen = [row for row in rows if row.board == board and row.kind == kind]
            yield f"{board} {kind:22} {len(chosen):4} rows  {summary(errors(chosen, costs))}"
        used, held_out = fit_rows(rows, board)
        for title, chosen in (("used by the fit", used), ("held out", held_out)):
            name = f"tuned, {title}"
            yield f"{board} {name:22} {len(chosen):4} rows  {summary(errors(chosen, costs))}"
    rankings = (
        ("block sizes, all tuned rows", block_ranking(rows)),
        ("block sizes, rows held out", block_ranking(held_out_rows(rows))),
        ("similar work, all tuned rows", block_ranking(rows, 2)),
        ("tuned against automatic", problem_ranking(rows)),
    )
    for title, (right, count) in rankings:
        yield f"ranked as measured: {title:28} {right:5} of {count:5} pairs, {right / count:.1%}"


def _holds(rows: Sequence[Row]) -> bool:
    medians = {
        board: median(map(abs, errors(fit_rows(rows, board)[1], TABLES[board]))) for board in TABLES
    }
    right, count = block_ranking(held_out_rows(rows))
    return right >= RANKED * count and all(medians[each] <= LIMITS[each] for each in LIMITS)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", action="store_true", help="print every row")
    parser.add_argument("--check", action="store_true", help="exit code 1 if a limit is missed")
    given = parser.parse_args(arguments)
    rows = published()
    if given.rows:
        print("\n".join(table(rows)), end="\n\n")
    print("\n".join(overview(rows)))
    return int(given.check and not _holds(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
