"""Every benchmark of a Hopper GPU with its limits, on one tree, in one call.

    python benchmarks/h200_whole.py OUT [--tilelang FOLDER] [--checkout FOLDER] [--only NAME,...]
                                    [--within SECONDS] [--jobs N] [--list]

Figures of different days are not comparable, and neither are those of different trees: what a
release states is measured by this. Each benchmark runs in a process of its own, one after another,
with `--check`; OUT gets its table, its figures as JSON and what it printed. One that fails does not
end the others. With `--within` no benchmark begins later than that, those that can limit
themselves get what is left, and the others are ended then: their names are printed. The exit code
is 1 when a benchmark missed a limit, failed, or was not run to its end.

FOLDER of `--tilelang` is where TileLang is installed, that of `--checkout` its checkout; without
them its regressions are left out, and the report has it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Options:
    """What the benchmarks share."""

    tilelang: str | None = None
    checkout: str | None = None
    jobs: int = 8


@dataclass(frozen=True)
class Benchmark:
    """A script of this directory, and its arguments."""

    name: str
    seconds: int
    """About what it takes on an H200 with 16 processors."""
    arguments: Callable[[Options], Sequence[str]] = lambda _: ()
    has_tables: bool = True
    limits_itself: bool = False
    """Whether it takes `--within`."""
    needs_tilelang: bool = False


def _regressions(options: Options) -> Sequence[str]:
    jobs = ("--jobs", str(options.jobs))
    return (str(options.checkout), "--tilelang", str(options.tilelang), *jobs)


def _with_tilelang(options: Options) -> Sequence[str]:
    return ("--tilelang", options.tilelang) if options.tilelang else ()


BENCHMARKS = (
    Benchmark("tilelang_regressions", 260, _regressions, True, True, True),
    Benchmark("workloads", 150, _with_tilelang),
    Benchmark("h200", 90, lambda _: ("--quick", "--only", "tile")),
    Benchmark("gemm_shapes", 110),
    Benchmark("raised", 120, lambda options: ("--jobs", str(options.jobs))),
    Benchmark("raised_tlx", 40, has_tables=False),
    Benchmark("launch_overhead", 20, has_tables=False),
    Benchmark("h200_passes", 200, limits_itself=True),
)


@dataclass(frozen=True)
class Outcome:
    """How a benchmark ended."""

    name: str
    status: str
    """``passed``, ``missed``, ``ended`` when the time was over, or ``left out``."""
    seconds: float
    last: str = ""
    """The last line that it printed."""

    @property
    def is_good(self) -> bool:
        return self.status == "passed"


def command(one: Benchmark, options: Options, out: Path, left: float | None) -> list[str]:
    """The command line of a benchmark, with `left` seconds for it."""
    line = [sys.executable, str(ROOT / "benchmarks" / f"{one.name}.py"), *one.arguments(options)]
    if one.has_tables:
        line += ["--json", str(out / f"{one.name}.json")]
        line += ["--markdown", str(out / f"{one.name}.md")]
    if one.limits_itself and left is not None:
        line += ["--within", str(int(left))]
    return [*line, "--check"]


def run_all(
    chosen: Sequence[Benchmark], options: Options, out: Path, within: float | None
) -> Iterator[Outcome]:
    """Run benchmarks, as far as the time suffices."""
    began = time.monotonic()
    for one in chosen:
        left = None if within is None else within - (time.monotonic() - began)
        if one.needs_tilelang and not (options.tilelang and options.checkout):
            yield Outcome(one.name, "left out", 0.0, "needs --tilelang and --checkout")
        elif left is not None and left <= 1:
            yield Outcome(one.name, "left out", 0.0, "no time is left")
        else:
            yield _run(one, command(one, options, out, left), out, left)


def _run(one: Benchmark, line: Sequence[str], out: Path, left: float | None) -> Outcome:
    began = time.monotonic()
    log = out / f"{one.name}.log"
    with log.open("w") as printed:
        try:
            done = subprocess.run(
                line, cwd=ROOT, stdout=printed, stderr=subprocess.STDOUT, timeout=left, check=False,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
            status = "missed" if done.returncode else "passed"
        except subprocess.TimeoutExpired:
            status = "ended"
    lines = [each for each in log.read_text(errors="replace").splitlines() if each.strip()]
    return Outcome(one.name, status, time.monotonic() - began, lines[-1] if lines else "")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path, help="where tables, figures and logs are written")
    parser.add_argument("--tilelang", help="where TileLang is installed")
    parser.add_argument("--checkout", help="a checkout of TileLang")
    parser.add_argument("--only", help="these benchmarks, separated by commas")
    parser.add_argument("--within", type=float, help="seconds for all of them")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="compiling processes")
    parser.add_argument("--list", action="store_true", help="print names and usual seconds")
    given = parser.parse_args(arguments)
    names = [each.name for each in BENCHMARKS]
    wanted = given.only.split(",") if given.only else names
    if unknown := [name for name in wanted if name not in names]:
        parser.error(f"--only: no benchmark '{unknown[0]}'; there are {', '.join(names)}")
    chosen = [each for each in BENCHMARKS if each.name in wanted]
    if given.list:
        for one in chosen:
            print(f"{one.name:22} {one.seconds:4} s")
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    options = Options(given.tilelang, given.checkout, given.jobs)
    outcomes: list[Outcome] = []
    for each in run_all(chosen, options, given.out, given.within):
        outcomes.append(each)
        print(f"{each.name:22} {each.status:9} {each.seconds:5.0f} s  {each.last}", flush=True)
        report = {"tree": _tree(), "outcomes": [asdict(one) for one in outcomes]}
        (given.out / "whole.json").write_text(json.dumps(report, indent=1) + "\n")
    return 0 if all(each.is_good for each in outcomes) else 1


def _tree() -> str:
    """The commit, and whether files differ from it; empty where there is no git."""
    line = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
