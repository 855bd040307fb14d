"""Fit the cost model of Tenstorrent GEMMs to the published times, and test it on the others.

    python -m scripts.fit_tt_cost                     fit, and compare with the table in use
    python -m scripts.fit_tt_cost --extract REPORT    rewrite the data file from the vendor's report

Fitted are `matmul_overhead`, `unpack_rate`, `unpack_rate_high` and `startup` of each architecture,
on every second of the tuned rows: one parameter after the other, over a grid of values, so that the
mean relative error of those rows is smallest, until nothing changes. Errors are given for the rows
of the fit and for the others. Rows whose configuration is not published are not used.

The table in use has rounded values of an earlier fit of the same kind; the last lines show both.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from statistics import fmean, median

from benchmarks.tenstorrent_gemm import gemm_cost
from benchmarks.tenstorrent_published import DATA, TABLES, Row, data_text, extract, published
from tilewright.analysis.tensix_cost.parameters import CostTable, Parameter, Source

GRID: Mapping[str, Sequence[Fraction]] = {
    "matmul_overhead": [Fraction(n, 2) for n in range(17)],
    "unpack_rate": [Fraction(n) for n in range(36, 100, 2)],
    "unpack_rate_high": [Fraction(n) for n in range(36, 100, 2)],
    "startup": [Fraction(n) for n in range(0, 12001, 500)],
}


def fit_rows(rows: Sequence[Row], board: str) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows of the fit and those that are held out: every second row of a board's tuned ones."""
    tuned = [row for row in rows if row.board == board and row.configured == "tuned"]
    return tuned[::2], tuned[1::2]


def errors(rows: Sequence[Row], table: CostTable) -> list[float]:
    """Relative errors of the model, positive where it predicts more than was measured."""
    return [float(gemm_cost(row.run, table).total / row.measured) - 1 for row in rows]


def _mean_error(rows: Sequence[Row], table: CostTable) -> float:
    return fmean(abs(each) for each in errors(rows, table))


def _with(table: CostTable, name: str, value: Fraction) -> CostTable:
    return replace(table, **{name: Parameter(value, Source.FITTED, "")})


def fit(rows: Sequence[Row], table: CostTable) -> CostTable:
    """The table with fitted parameters."""
    best = _mean_error(rows, table)
    while True:
        before = best
        for name, values in GRID.items():
            tried = [_with(table, name, value) for value in values]
            found = [_mean_error(rows, each) for each in tried]
            if min(found) < best:
                best = min(found)
                table = tried[found.index(best)]
        if best == before:
            return table


def summary(found: Sequence[float]) -> str:
    """Median, mean and worst of absolute errors."""
    sizes = [abs(each) for each in found]
    return f"median {median(sizes):6.1%}  mean {fmean(sizes):6.1%}  worst {max(sizes):6.1%}"


def _report(board: str) -> None:
    used, held_out = fit_rows(published(), board)
    fitted = fit(used, TABLES[board])
    for title, table in (("fitted now", fitted), ("in use", TABLES[board])):
        values = "  ".join(f"{name} {float(getattr(table, name).value):g}" for name in GRID)
        print(f"{board} {title:10} {values}")
        print(f"  {len(used)} rows of the fit   {summary(errors(used, table))}")
        print(f"  {len(held_out)} rows held out    {summary(errors(held_out, table))}")


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--extract", type=Path, metavar="REPORT")
    given = parser.parse_args(arguments)
    if given.extract is not None:
        rows = list(extract(given.extract.read_text()))
        DATA.write_text(data_text(rows))
        print(f"{len(rows)} rows written to {DATA.name}")
        return 0
    for board in TABLES:
        _report(board)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
