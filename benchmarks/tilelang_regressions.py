"""TileLang's own performance regressions, unmodified, compiled by TileLang and by Tilewright.

    python benchmarks/tilelang_regressions.py CHECKOUT --tilelang FOLDER [--only NAME,...]
        [--jobs N] [--limit SECONDS] [--check] [--json FILE] [--markdown FILE]
        [--texts FOLDER] [--work FOLDER] [--stage compare|time|both] [--within SECONDS] [--list]

CHECKOUT is a checkout of tile-ai/tilelang, whose `examples/**/regression_*.py` hold the cases;
FOLDER is where TileLang is installed. A case runs in a process of its own, once for each side.
First all of them are compiled, several at a time, and the kernels' results compared: Tilewright's
kernels get the inputs that TileLang's had. Then they are timed, one after another: the kernels'
time on the GPU as CUPTI records it, with a cold L2 cache, mean of the repetitions. `--texts` keeps
the CUDA text that TileLang made. With `--work` the compiled kernels and the outcomes of the
comparison are kept there, so that `--stage time` can follow later, for some cases only: what was
measured so far is written after each case. With `--within` no batch of timings is begun later than
that, and what was not timed is listed. With `--check` the exit code is 1 when a case fails,
differs, or misses a limit. It needs torch and an NVIDIA GPU.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)

from benchmarks.tilelang_cases.cases import Case, cases_below  # noqa: E402

OURS, THEIRS = "tilewright", "tilelang"
GEOMETRIC_MEAN, LEAST = 1.10, 0.90
LIMIT_SECONDS = 150
"""For one process; `--limit` sets another."""
_TOGETHER = 11
"""Cases whose processes prepare at the same time, both sides; they are timed one at a time."""
_SLOW = ("vertical_slash", "autotune", "sparse_mla", "fusedmoe", "mhc_pre", "convolution")
"""Parts of the names of cases that take longest to prepare: they are begun first, so that all
processors have work until the end."""
_MARK = "@@case "
_START = perf_counter()


@dataclass(frozen=True)
class Outcome:
    """What became of one case on one side."""

    microseconds: float | None
    compared: int
    """Kernels whose results were compared."""
    problem: str | None


@dataclass(frozen=True)
class Row:
    case: str
    theirs: Outcome
    ours: Outcome

    @property
    def ratio(self) -> float | None:
        """Our speed as a part of theirs."""
        if self.theirs.microseconds is None or self.ours.microseconds is None:
            return None
        return self.theirs.microseconds / self.ours.microseconds


@dataclass(frozen=True)
class Runner:
    """Starts the processes."""

    checkout: Path
    tilelang: Path
    work: Path
    """Where TileLang's arguments and results, and both compilers' caches, are kept."""
    limit_s: float = LIMIT_SECONDS

    def run(self, case: Case, side: str, *, timed: bool) -> Outcome:
        command = [sys.executable, "-m", "benchmarks.tilelang_cases.child", side]
        command += ["time" if timed else "compare", str(case.file), case.function]
        command += [str(self.work / "arguments" / case.name), str(self.work / "lock")]
        try:
            done = subprocess.run(
                command,
                env=self._environment(case, side),
                cwd=case.file.parent,
                capture_output=True,
                text=True,
                timeout=self.limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Outcome(None, 0, f"not done after {self.limit_s:g} s")
        for line in reversed(done.stdout.splitlines()):
            if line.startswith(_MARK):
                return Outcome(**json.loads(line.removeprefix(_MARK)))
        return Outcome(None, 0, _last_line(done.stderr) or f"exit status {done.returncode}")

    def keep(self, case: Case, side: str, found: Outcome, seconds: float = 0.0) -> None:
        path = self._kept_at(case, side)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(found)))
        path.with_suffix(".seconds").write_text(f"{seconds:.1f}")

    def seconds(self, case: Case) -> float:
        """How long the slower side took when it was compared."""
        paths = [self._kept_at(case, side).with_suffix(".seconds") for side in (THEIRS, OURS)]
        return max((float(path.read_text()) for path in paths if path.exists()), default=0.0)

    def kept(self, case: Case, side: str) -> Outcome:
        path = self._kept_at(case, side)
        if not path.exists():
            return Outcome(None, 0, "not compared: run with --stage compare first")
        return Outcome(**json.loads(path.read_text()))

    def _kept_at(self, case: Case, side: str) -> Path:
        return self.work / "compared" / f"{case.name}.{side}.json"

    def _environment(self, case: Case, side: str) -> dict[str, str]:
        paths = [str(ROOT / "src"), str(ROOT), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        if side == THEIRS:
            paths.insert(0, str(self.tilelang))
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            "TILELANG_CACHE_DIR": str(self.work / "tilelang" / case.name),
            "TILEWRIGHT_CACHE_DIR": str(self.work / "tilewright" / case.name),
            "TILELANG_FOLDER": str(self.tilelang),
        }


def compare(runner: Runner, cases: Sequence[Case], jobs: int) -> None:
    """Compile everything on both sides, compare, and keep the outcomes in the work folder."""

    def prepare(case: Case) -> None:
        for side in (THEIRS, OURS):
            start = perf_counter()
            found = runner.run(case, side, timed=False)
            runner.keep(case, side, found, perf_counter() - start)
            _progress(f"compared {case.name} ({side}): {found.problem or 'right'}")

    slow_first = sorted(cases, key=lambda case: not any(part in case.name for part in _SLOW))
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(prepare, slow_first))


def measure(runner: Runner, cases: Sequence[Case], within: float = math.inf) -> Iterator[Row]:
    """Time what was compared; batches that would begin too late are only listed."""
    compared = {(case, side): runner.kept(case, side) for case in cases for side in (THEIRS, OURS)}

    def timed(case: Case) -> Row:
        return _timed(runner, case, compared)

    # In batches: a process is timed when none prepares, which would never be with ever new ones.
    # Cases that prepare equally long are in one batch, where all wait for the slowest.
    ordered = sorted(cases, key=runner.seconds)
    for first in range(0, len(ordered), _TOGETHER):
        if perf_counter() - _START > within:
            late = Outcome(None, 0, f"not timed: {within:g} s were over")
            yield from (Row(case.name, Outcome(None, 0, None), late) for case in ordered[first:])
            return
        with ThreadPoolExecutor(_TOGETHER) as pool:
            yield from pool.map(timed, ordered[first : first + _TOGETHER])


def _timed(runner: Runner, case: Case, compared: Mapping[tuple[Case, str], Outcome]) -> Row:
    """The times of both sides of `case`, where both were right."""
    before = [compared[case, side] for side in (THEIRS, OURS)]
    if any(each.problem is not None for each in before):
        row = Row(case.name, *(Outcome(None, each.compared, each.problem) for each in before))
    else:
        with ThreadPoolExecutor(2) as pool:
            timed = pool.map(lambda side: runner.run(case, side, timed=True), (THEIRS, OURS))
            row = Row(
                case.name,
                *(
                    Outcome(each.microseconds, earlier.compared, each.problem)
                    for each, earlier in zip(timed, before, strict=True)
                ),
            )
    _progress(_line(row))
    return row


def table(rows: Sequence[Row]) -> str:
    """Markdown: the slowest of ours first."""
    lines = ["| case | TileLang us | ours us | ours / TileLang | |", "|---|---|---|---|---|"]
    for row in sorted(rows, key=lambda each: each.ratio or 0):
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        problem = row.ours.problem or (row.theirs.problem and f"TileLang: {row.theirs.problem}")
        cells = (_us(row.theirs), _us(row.ours), ratio, (problem or "").replace("|", "/")[:160])
        lines.append(f"| {row.case} | {' | '.join(cells)} |")
    ratios = [row.ratio for row in rows if row.ratio is not None]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(f"| geometric mean of {len(ratios)} | | | {mean:.3f} | |")
    return "\n".join(lines)


def problems(rows: Sequence[Row]) -> list[str]:
    """What `--check` finds wrong. Where TileLang itself fails, there is nothing to compare with: a
    package of the case is not installed, say; the table has the reason."""
    found = [
        f"{row.case}: {row.ours.problem}"
        for row in rows
        if row.ours.problem is not None and row.theirs.problem is None
    ]
    ratios = {row.case: row.ratio for row in rows if row.ratio is not None}
    found += [f"{case}: {each:.2f} < {LEAST}" for case, each in ratios.items() if each < LEAST]
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios)) if ratios else 0.0
    if mean < GEOMETRIC_MEAN:
        found.append(f"geometric mean {mean:.3f} < {GEOMETRIC_MEAN}")
    return found


def _keep_texts(work: Path, folder: Path) -> None:
    """TileLang's CUDA texts, as FOLDER/CASE/…/device_kernel.cu."""
    for file in sorted(work.glob(f"{THEIRS}/**/device_kernel.cu")):
        kept = folder / file.relative_to(work / THEIRS)
        kept.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, kept)


def _in_order(cases: Sequence[Case], wanted: Sequence[str]) -> list[Case]:
    """The cases that have one of the parts in their names, in the order of the parts."""
    found = [case for part in wanted for case in cases if part in case.name]
    return list(dict.fromkeys(found))


@contextmanager
def _work_folder(kept: Path | None) -> Iterator[Path]:
    """`kept`, made if need be; without it a folder in memory that goes away."""
    if kept is not None:
        kept.mkdir(parents=True, exist_ok=True)
        yield kept.resolve()
        return
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as work:
        yield Path(work)


def _write(rows: Sequence[Row], as_json: Path | None, as_markdown: Path | None) -> None:
    if as_json is not None:
        as_json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    if as_markdown is not None:
        as_markdown.write_text(table(rows) + "\n")


def _line(row: Row) -> str:
    ratio = "" if row.ratio is None else f", {row.ratio:.2f}"
    problem = row.ours.problem or row.theirs.problem
    return f"{row.case}: {_us(row.theirs)} us, ours {_us(row.ours)} us{ratio} {problem or ''}"


def _us(outcome: Outcome) -> str:
    return "" if outcome.microseconds is None else f"{outcome.microseconds:.1f}"


def _last_line(text: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror" in line]
    return (errors or lines or [None])[-1]


def _progress(text: str) -> None:
    print(f"{perf_counter() - _START:6.1f} s: {text}", file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--tilelang", type=Path, help="where TileLang is installed")
    parser.add_argument(
        "--only", default="", help="parts of names of cases, with commas; run in this order"
    )
    parser.add_argument("--jobs", type=int, default=14, help="processes that compile at once")
    parser.add_argument("--limit", type=float, default=LIMIT_SECONDS, help="seconds per process")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument(
        "--texts", type=Path, help="where to put the CUDA text of TileLang's kernels"
    )
    parser.add_argument("--work", type=Path, help="where compiled kernels and outcomes are kept")
    parser.add_argument("--stage", choices=("compare", "time", "both"), default="both")
    parser.add_argument(
        "--within", type=float, default=math.inf, help="seconds after which no timing is begun"
    )
    parser.add_argument("--list", action="store_true", help="names of the cases, and no more")
    given = parser.parse_args(arguments)
    wanted = [part for part in given.only.split(",") if part]
    everything = cases_below(given.checkout / "examples")
    cases = _in_order(everything, wanted) if wanted else everything
    if not cases:
        parser.error(f"no case in {given.checkout / 'examples'} has such a name")
    if given.list:
        print("\n".join(case.name for case in cases))
        return 0
    if given.tilelang is None:
        parser.error("--tilelang FOLDER is needed to run cases")
    if given.stage == "time" and given.work is None:
        parser.error("--stage time needs --work FOLDER, in which --stage compare kept its outcomes")
    rows: list[Row] = []
    with _work_folder(given.work) as work:
        runner = Runner(given.checkout.resolve(), given.tilelang.resolve(), work, given.limit)
        if given.stage != "time":
            compare(runner, cases, given.jobs)
        if given.texts is not None:
            _keep_texts(work, given.texts)
        if given.stage == "compare":
            wrong = [case.name for case in cases if runner.kept(case, OURS).problem is not None]
            print(
                f"{len(cases) - len(wrong)} of {len(cases)} right; not: {', '.join(wrong) or '-'}"
            )
            return 1 if wrong and given.check else 0
        for row in measure(runner, cases, given.within):
            rows.append(row)
            _write(rows, given.json, given.markdown)
    print(table(rows))
    found: list[Any] = problems(rows) if given.check else []
    for each in found:
        print(f"check: {each}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
