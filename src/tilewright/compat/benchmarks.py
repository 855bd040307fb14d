"""``triton.testing.perf_report``: a table of times or rates over sizes, printed, saved or plotted.

Scripts measure sizes meant for a GPU. A report therefore stops when its time is up and prints how
far it came: ``TILEWRIGHT_BENCH_SECONDS`` (20) is the time for one table. Tables need neither pandas
nor matplotlib; plots and data frames do, and report it.
"""

from __future__ import annotations

import csv
import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tilewright.compat.notices import print_once

_SECONDS = 20.0


@dataclass
class Benchmark:
    """What to vary: `x_names` over `x_vals` down the rows, `line_arg` over `line_vals` across."""

    x_names: Sequence[str]
    x_vals: Sequence[Any]
    line_arg: str
    line_vals: Sequence[Any]
    line_names: Sequence[str]
    plot_name: str
    args: Mapping[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: Sequence[tuple[str, str]] | None = None


@dataclass(frozen=True)
class _Point:
    """One measured value, with the lowest and the greatest where they were measured."""

    mean: float
    lowest: float | None = None
    greatest: float | None = None


@dataclass
class _Table:
    header: list[str]
    rows: list[list[Any]] = field(default_factory=list[list[Any]])
    points: list[list[_Point]] = field(default_factory=list[list[_Point]])

    def text(self) -> str:
        """Columns aligned to the right, the number of the row first."""
        cells = [["", *self.header]]
        cells += [[str(i), *map(_cell, row)] for i, row in enumerate(self.rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
            for row in cells
        )


def _cell(value: Any) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


class Mark:
    """A function to measure with, and what to vary."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | Sequence[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        diff_col: bool = False,
        save_precision: int = 6,
        **kwargs: Any,
    ) -> Any:
        """Measure, and show what is requested."""
        frames: list[Any] = []
        for benchmark in self._all():
            table = _measure(self.fn, benchmark, kwargs)
            if diff_col and len(benchmark.line_vals) == 2:
                _add_difference(table)
            if print_data:
                sys.stdout.write(f"{benchmark.plot_name}:\n{table.text()}\n")
            if save_path:
                _save(table, Path(save_path), benchmark.plot_name, save_precision)
            if benchmark.plot_name and (show_plots or save_path):
                _plot(benchmark, table, save_path, show=show_plots)
            if return_df:
                frames.append(_data_frame(table))
        if not return_df:
            return None
        return frames[0] if isinstance(self.benchmarks, Benchmark) else frames

    def _all(self) -> Sequence[Benchmark]:
        return (self.benchmarks,) if isinstance(self.benchmarks, Benchmark) else self.benchmarks


def perf_report(
    benchmarks: Benchmark | Sequence[Benchmark],
) -> Callable[[Callable[..., Any]], Mark]:
    """Make a report of a function that measures one combination."""
    return lambda fn: Mark(fn, benchmarks)


def _measure(fn: Callable[..., Any], benchmark: Benchmark, kwargs: Mapping[str, Any]) -> _Table:
    labels = [
        f"{name} ({benchmark.ylabel})" if benchmark.ylabel else name
        for name in benchmark.line_names
    ]
    table = _Table([*benchmark.x_names, *labels])
    budget = float(os.environ.get("TILEWRIGHT_BENCH_SECONDS", _SECONDS))
    start = last = time.perf_counter()
    for row, x in enumerate(benchmark.x_vals):
        now = time.perf_counter()
        # Sizes grow: the next row takes at least as long as this one did.
        if row and now - start + (now - last) > budget:
            _note_stopped(benchmark, row, budget)
            break
        last = now
        values = _row_values(benchmark, x)
        points = [
            _point(
                fn(
                    **dict(zip(benchmark.x_names, values, strict=True)),
                    **{benchmark.line_arg: line},
                    **benchmark.args,
                    **kwargs,
                )
            )
            for line in benchmark.line_vals
        ]
        table.points.append(points)
        table.rows.append([*values, *(point.mean for point in points)])
    return table


def _row_values(benchmark: Benchmark, x: Any) -> Sequence[Any]:
    """The values of one row: one for each name, or one for all of them."""
    if not isinstance(x, (list, tuple)):
        return [x] * len(benchmark.x_names)
    values = cast("Sequence[Any]", x)
    if len(values) != len(benchmark.x_names):
        raise ValueError(f"{len(benchmark.x_names)} values are needed for x_names, got {values}")
    return values


def _point(measured: Any) -> _Point:
    if not isinstance(measured, (list, tuple)):
        return _Point(float(measured))
    mean, lowest, greatest = cast("Sequence[float]", measured)
    return _Point(float(mean), float(lowest), float(greatest))


def _note_stopped(benchmark: Benchmark, rows: int, budget: float) -> None:
    print_once(
        f"{benchmark.plot_name or 'benchmark'}: stopped after {rows} of {len(benchmark.x_vals)} "
        f"rows, {budget:g} seconds are up; TILEWRIGHT_BENCH_SECONDS=N allows more"
    )


def _add_difference(table: _Table) -> None:
    table.header.append("Diff")
    for row in table.rows:
        row.append(row[-1] - row[-2])


def _save(table: _Table, directory: Path, name: str, precision: int) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / f"{name}.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.header)
        for row in table.rows:
            writer.writerow(
                f"{cell:.{precision}f}" if isinstance(cell, float) else cell for cell in row
            )


def _data_frame(table: _Table) -> Any:
    return _library("pandas", "return_df=True").DataFrame(table.rows, columns=table.header)


def _library(name: str, what_for: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"{what_for} needs {name}, which is not installed") from None


def _plot(benchmark: Benchmark, table: _Table, save_path: str, *, show: bool) -> None:
    try:
        pyplot: Any = importlib.import_module("matplotlib.pyplot")
    except ModuleNotFoundError:
        print_once("no plots: matplotlib is not installed; print_data=True prints the data")
        return
    pyplot.figure()
    axes = pyplot.subplot()
    xs = [row[0] for row in table.rows]
    for line, name in enumerate(table.header[len(benchmark.x_names) :][: len(benchmark.line_vals)]):
        points = [row[line] for row in table.points]
        colour, style = benchmark.styles[line] if benchmark.styles else (None, None)
        axes.plot(xs, [point.mean for point in points], label=name, color=colour, ls=style)
        if points and all(point.lowest is not None for point in points):
            low = [point.lowest for point in points]
            high = [point.greatest for point in points]
            axes.fill_between(xs, low, high, alpha=0.15, color=colour)
    axes.legend()
    axes.set_xlabel(benchmark.xlabel or benchmark.x_names[0])
    axes.set_ylabel(benchmark.ylabel)
    axes.set_xscale("log" if benchmark.x_log else "linear")
    axes.set_yscale("log" if benchmark.y_log else "linear")
    if save_path:
        pyplot.savefig(Path(save_path) / f"{benchmark.plot_name}.png")
    if show:
        pyplot.show()
