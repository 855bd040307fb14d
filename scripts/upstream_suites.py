"""Triton's, TLX's and TileLang's own tests, examples and tutorials, from checkouts, in one table.

    python -m scripts.upstream_suites [--triton DIR] [--tlx DIR] [--tilelang DIR]
                                      [--sample N] [--seed S] [--jobs N] [--limit SECONDS]
                                      [--device cpu|cuda] [--only SUITE ...]
                                      [--markdown FILE] [--json FILE] [--add FILE ...]
                                      [--details SUITE=FILE ...] [--run-at COMMIT]
                                      [--write-docs] [--check]

Each suite shows its progress; Ctrl-C ends the run and keeps what has ended. `--sample` chooses so
many cases (of Triton's tests) or files of every suite by `--seed`; without it Triton's tests are a
sample of 3,000 and the others complete. `--json` adds the results to a record. `--add` takes those
of other runs, `--details` what the script of one suite wrote with its own `--details`; then nothing
is run, and `--run-at` is the commit of Tilewright that they are of. `--write-docs` puts the results
into docs/compatibility.json and makes docs/compatibility.md from it. `--check` ends with status 1
if there is a fault among the results, or if the page is not what its record gives.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scripts.upstream import (
    record,
    tilelang_examples,
    tilelang_tests,
    tlx_lit,
    tlx_tutorials,
    triton_suite,
    triton_tutorials,
)
from scripts.upstream.pool import stopped
from scripts.upstream.result import ROOT, SuiteResult
from scripts.upstream_lit import TLX

RECORD = ROOT / "docs" / "compatibility.json"
PAGE = ROOT / "docs" / "compatibility.md"
_TRITON_SAMPLE = 3000


@dataclass(frozen=True)
class Settings:
    """What to choose of every suite, and how to run it."""

    sample: int | None = None
    seed: int = 0
    jobs: int = 1
    limit: float | None = None
    device: str = "cpu"


@dataclass(frozen=True)
class Suite:
    """One suite: whose it is, where its files are, and how to run them."""

    name: str
    project: str
    folder: Path
    """In a checkout; one without it is another project's."""
    run: Callable[[Path, Settings], SuiteResult]
    module: Any = None
    """Has `Ending` and `summary`, for endings that were written by ``--details``."""

    def chosen(self, settings: Settings) -> str:
        """What was run, in words."""
        count = settings.sample
        if self.name == _TRITON_TESTS:
            count = count or _TRITON_SAMPLE
        elif self.name == _TRITON_TUTORIALS:
            count = None
        part = "all" if count is None else f"{count} chosen with seed {settings.seed}"
        return part if settings.device == "cpu" else f"{part}, on a GPU"


_TRITON_TESTS = "triton tests"
_TRITON_TUTORIALS = "triton tutorials"


def _triton_tests(checkout: Path, settings: Settings) -> SuiteResult:
    collected = triton_suite.collection(checkout, device=settings.device)
    count = settings.sample or _TRITON_SAMPLE
    names = triton_suite.sample(collected.names, settings.seed, count)
    found = triton_suite.endings(
        checkout,
        names,
        jobs=settings.jobs,
        device=settings.device,
        limit=settings.limit or 60.0,
    )
    return triton_suite.summary(checkout, [*collected.endings(), *found])


def _triton_tutorials(checkout: Path, settings: Settings) -> SuiteResult:
    limit = 10 * (settings.limit or 60.0)
    found = list(triton_tutorials.tutorials(checkout, limit=limit, jobs=settings.jobs))
    return triton_suite.summary(checkout, found)


def _tlx_lit(checkout: Path, settings: Settings) -> SuiteResult:
    return tlx_lit.run(checkout, jobs=settings.jobs, count=settings.sample, seed=settings.seed)


def _tlx_tutorials(checkout: Path, settings: Settings) -> SuiteResult:
    return tlx_tutorials.run(
        checkout,
        jobs=settings.jobs,
        limit=settings.limit or 180.0,
        count=settings.sample,
        seed=settings.seed,
    )


def _tilelang(module: Any, limit: float) -> Suite:
    def run(checkout: Path, settings: Settings) -> SuiteResult:
        found = module.endings(
            checkout,
            jobs=settings.jobs,
            only=(),
            limit=settings.limit or limit,
            sample=settings.sample,
            seed=settings.seed,
        )
        return module.summary(checkout, found)

    return Suite(module.SUITE, "TileLang", module.DIRECTORY, run, module)


SUITES = (
    Suite(_TRITON_TESTS, "Triton", triton_suite.TESTS, _triton_tests, triton_suite),
    Suite(_TRITON_TUTORIALS, "Triton", triton_tutorials.TUTORIALS, _triton_tutorials, triton_suite),
    Suite("tlx lit", "TLX", TLX, _tlx_lit),
    Suite("tlx tutorials", "TLX", tlx_tutorials.FOLDER, _tlx_tutorials, tlx_tutorials),
    _tilelang(tilelang_examples, 120.0),
    _tilelang(tilelang_tests, 60.0),
)


def run(
    suites: Sequence[tuple[Suite, Path]], settings: Settings, *, date: str | None = None
) -> record.Record:
    """Run the suites on their checkouts, one after the other, until Ctrl-C."""
    found: record.Record = {}
    for suite, checkout in suites:
        if stopped.is_set():
            break
        _say(f"== {suite.name}: {suite.chosen(settings)}, from {checkout}")
        start = time.monotonic()
        try:
            result = suite.run(checkout, settings)
        except KeyboardInterrupt:
            stopped.set()
            _say(f"interrupted: nothing of {suite.name} is kept")
            break
        found[_entry_name(suite, settings)] = record.entry(
            result,
            project=suite.project,
            chosen=suite.chosen(settings),
            date=date or datetime.now(UTC).strftime("%Y-%m-%d"),
            seconds=time.monotonic() - start,
            is_complete=not stopped.is_set(),
        )
    return found


def read_details(suite: Suite, checkout: Path, file: Path) -> SuiteResult:
    """The result of a run whose endings are in `file`: a line each, ending first, reason last."""
    if suite.module is None:
        raise ValueError(f"{suite.name} writes no details")
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    endings = [suite.module.Ending(row[1], row[0], row[-1]) for row in rows]
    return suite.module.summary(checkout, endings)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    paths = {"Triton": given.triton, "TLX": given.tlx, "TileLang": given.tilelang}
    selected = [
        (suite, paths[suite.project])
        for suite in SUITES
        if paths[suite.project] is not None and (not given.only or suite.name in given.only)
    ]
    for suite, checkout in selected:
        if not (checkout / suite.folder).is_dir():
            sys.stderr.write(
                f"{checkout} is no checkout of {suite.project}: it has no folder {suite.folder}\n"
            )
            return 2
    if not selected and not (given.write_docs or given.check or given.add):
        sys.stderr.write("no checkout is given: --triton DIR, --tlx DIR or --tilelang DIR\n")
        return 2
    settings = Settings(given.sample, given.seed, given.jobs, given.limit, given.device)
    found: record.Record = {}
    for path in given.add:
        if not path.is_file():
            sys.stderr.write(f"no such record: {path}\n")
            return 2
        found |= record.read(path)
    try:
        if given.details:
            found |= _from_details(given.details, selected, settings, given.run_at)
        elif not given.add:
            found |= run(selected, settings)
    except (OSError, RuntimeError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return _finish(given, found)


def _from_details(
    given: Sequence[str],
    selected: Sequence[tuple[Suite, Path]],
    settings: Settings,
    ours: str | None,
) -> record.Record:
    """Entries of suites that ran before: ``tlx tutorials=FILE``."""
    found: record.Record = {}
    suites = {suite.name: (suite, checkout) for suite, checkout in selected}
    for each in given:
        name, _, file = each.partition("=")
        if name not in suites:
            raise ValueError(f"no checkout is given for a suite {name!r}: {', '.join(suites)}")
        suite, checkout = suites[name]
        path = Path(file)
        date = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%d")
        result = read_details(suite, checkout, path)
        found[_entry_name(suite, settings)] = record.entry(
            result, project=suite.project, chosen=suite.chosen(settings), date=date, ours=ours
        )
    return found


def _entry_name(suite: Suite, settings: Settings) -> str:
    return suite.name if settings.device == "cpu" else f"{suite.name}, GPU"


def _finish(given: argparse.Namespace, found: record.Record) -> int:
    """Show and keep what was found; the exit status."""
    if found:
        _say(record.table(found))
    if given.markdown is not None:
        given.markdown.write_text(record.document(found))
    if given.json is not None:
        record.write(given.json, {**record.read(given.json), **found})
    if given.write_docs:
        record.write(RECORD, {**record.read(RECORD), **found})
        PAGE.write_text(record.document(record.read(RECORD)))
    if not given.check:
        return 0
    faulty = [name for name, each in found.items() if record.columns(name, each)["faults"]]
    for name in faulty:
        sys.stderr.write(f"{name}: faults\n")
    is_page_true = PAGE.read_text() == record.document(record.read(RECORD))
    if not is_page_true:
        sys.stderr.write(f"{PAGE} is not what {RECORD} gives: run with --write-docs\n")
    return 1 if faulty or not is_page_true else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name in ("triton", "tlx", "tilelang"):
        parser.add_argument(f"--{name}", type=Path, metavar="DIR", help="a checkout")
    names = [suite.name for suite in SUITES]
    parser.add_argument("--only", nargs="*", default=[], choices=names, help="these suites")
    parser.add_argument("--sample", type=int, help="so many of every suite, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, help="seconds for a test or file")
    parser.add_argument(
        "--device", default="cpu", choices=("cpu", "cuda"), help="of Triton's tests"
    )
    parser.add_argument("--markdown", type=Path, help="write the page of this run to a file")
    parser.add_argument("--json", type=Path, help="add the results to this record")
    parser.add_argument("--add", type=Path, nargs="*", default=[], help="records of other runs")
    parser.add_argument("--details", nargs="*", default=[], metavar="SUITE=FILE")
    parser.add_argument("--run-at", metavar="COMMIT", help="of Tilewright, for --details")
    parser.add_argument("--write-docs", action="store_true", help="update docs/compatibility.*")
    parser.add_argument("--check", action="store_true", help="status 1 for faults, or a stale page")
    return parser


if __name__ == "__main__":
    sys.exit(main())
