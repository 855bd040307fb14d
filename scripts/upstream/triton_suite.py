"""Triton's own language tests and tutorials, unmodified, under `tilewright.compat`.

    python -m scripts.upstream.triton_suite CHECKOUT [--seed N] [--count N] [--jobs N]
                                            [--device cpu|cuda] [--limit SECONDS] [--details FILE]
                                            [--only PART ...] [--tutorials | --no-tutorials]
                                            [--deadline SECONDS]

Of `python/test/unit/language` a seeded sample of the cases that are marked `interpreter` (those
that Triton itself runs without a GPU) and do not read `asm[...]`; of `python/tutorials` 01 to 11,
with their tensors at the smallest sizes that they define. A process runs a part of a file
(`triton_plugin`); after a crash, a hang or a fault of the GPU another one goes on with the rest.
With `--device cuda` the tests' tensors are on the GPU, where kernels go through our front end and
the installed Triton. The endings:

    passed          the test's own assertions hold; a tutorial came to its end
    skipped         by the test's own condition
    refused         a diagnostic: its code and sentence follow
    package absent  it imports something that is not installed
    failed          an exception that is no diagnostic, or a file that cannot be imported
    wrong           the test's comparison of numbers failed
    time            not finished within the limit
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.upstream.pool import in_parallel
from scripts.upstream.result import SuiteResult, environment, last_line
from scripts.upstream.triton_plugin import CHOSEN, LIMIT, RECORDS, TESTS, Ending
from scripts.upstream.triton_tutorials import tutorials

SUITE = "triton"
_PLUGIN = "scripts.upstream.triton_plugin"
_COLLECT_SECONDS = 600.0
_STARTING_SECONDS = 120.0
"""Importing torch and the file, and collecting 8,000 cases, may take this long."""
_PART = 300
"""Most cases that one process runs."""
_PARTS_A_JOB = 3
"""With several jobs: enough parts that none of them is left with most of the work."""


@dataclass(frozen=True)
class Collection:
    """What pytest finds in the files."""

    names: tuple[str, ...]
    """The cases that are judged."""
    files: tuple[str, ...]
    refused: Mapping[str, str]
    """Files that cannot be imported, and why."""

    def endings(self) -> list[Ending]:
        """A file that cannot be imported has failed."""
        return [
            Ending(f"{file}::*", "failed", f"collect: {why}") for file, why in self.refused.items()
        ]


def run(
    checkout: Path,
    seed: int = 0,
    count: int = 3000,
    jobs: int = 1,
    *,
    device: str = "cpu",
    limit: float = 60.0,
) -> SuiteResult:
    """The endings of a sample of the tests, and of the tutorials."""
    collected = collection(checkout, device=device)
    names = sample(collected.names, seed, count)
    found = [
        *collected.endings(),
        *endings(checkout, names, jobs=jobs, device=device, limit=limit),
        *tutorials(checkout, limit=limit * 10, jobs=jobs),
    ]
    return summary(checkout, found)


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by file, and the reasons of everything that did not pass."""
    counts: dict[str, Counter[str]] = {}
    for each in found:
        counts.setdefault(each.test.partition("::")[0], Counter())[each.ending] += 1
    reasons = Counter(f"{e.ending}: {e.reason}" for e in found if e.ending != "passed")
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def collection(checkout: Path, *, device: str = "cpu") -> Collection:
    """All cases that are judged, and the files that pytest could not import."""
    directory = checkout / TESTS
    if not directory.is_dir():
        raise NotADirectoryError(f"{checkout} is no checkout of Triton: no directory {directory}")
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "records.jsonl"
        text = _pytest(
            directory.resolve(), ["--collect-only"], records, scratch, device, _COLLECT_SECONDS
        )
        lines = _lines(records)
    if not lines:
        raise RuntimeError(f"nothing was collected: {last_line(text)}")
    planned: dict[str, list[str]] = {e["file"]: e["planned"] for e in lines if "planned" in e}
    refused = {each["file"]: each["refused"] for each in lines if "refused" in each}
    names = sorted(name for names in planned.values() for name in names)
    return Collection(tuple(names), tuple(sorted(planned)), refused)


def sample(names: Sequence[str], seed: int, count: int) -> list[str]:
    """`count` of the names, the same ones for the same seed."""
    chosen = random.Random(seed).sample(list(names), min(count, len(names)))
    return sorted(chosen)


def endings(
    checkout: Path,
    names: Sequence[str],
    *,
    jobs: int,
    device: str,
    limit: float,
    deadline: float | None = None,
) -> tuple[Ending, ...]:
    """Run these cases; those that have not begun at `deadline` (of `time.monotonic`) are "time"."""

    def perform_part(part: tuple[str, list[str]]) -> list[Ending]:
        return list(_run_part(checkout.resolve(), *part, device, limit, deadline))

    found: list[Ending] = []
    for ended in in_parallel(jobs, perform_part, parts(names, jobs)):
        found.extend(ended)
        file = ended[0].test.partition("::")[0]
        sys.stdout.write(f"[{len(found)}/{len(names)}] {file}: {_line(ended)}\n")
        sys.stdout.flush()
    return tuple(found)


def parts(names: Sequence[str], jobs: int) -> list[tuple[str, list[str]]]:
    """The cases of each process: of one file, and every n-th, so that all take about as long."""
    most = _PART if jobs == 1 else min(_PART, max(10, len(names) // (jobs * _PARTS_A_JOB) + 1))
    files: dict[str, list[str]] = {}
    for name in names:
        files.setdefault(name.partition("::")[0], []).append(name)
    found: list[tuple[str, list[str]]] = []
    for file, chosen in files.items():
        number = -(-len(chosen) // most)
        found += [(file, chosen[start::number]) for start in range(number)]
    return sorted(found, key=lambda part: -len(part[1]))


def _run_part(
    checkout: Path,
    file: str,
    names: Sequence[str],
    device: str,
    limit: float,
    deadline: float | None,
) -> Iterator[Ending]:
    """Run the cases in one process, and after its end those that are left in another one."""
    left = list(names)
    while left:
        seconds = _STARTING_SECONDS + limit * max(10, len(left) / 4)
        if deadline is not None:
            seconds = min(seconds, deadline - time.monotonic())
        if seconds <= 0:
            yield from (Ending(name, "time", "not begun within the limit of all") for name in left)
            return
        found, begun, text = _attempt(checkout, file, left, device, limit, seconds)
        yield from found.values()
        if begun is not None and begun not in found:
            yield Ending(begun, "time" if text == _TIME else "failed", f"its process: {text}")
        rest = [name for name in left if name not in found and name != begun]
        if len(rest) == len(left):
            yield from (Ending(name, "failed", f"its process: {text}") for name in rest)
            return
        left = rest


def _attempt(
    checkout: Path, file: str, names: Sequence[str], device: str, limit: float, seconds: float
) -> tuple[dict[str, Ending], str | None, str]:
    """What has ended, the last test that began, and the last line of the process."""
    with tempfile.TemporaryDirectory() as scratch:
        records = Path(scratch) / "records.jsonl"
        chosen = Path(scratch) / "chosen.json"
        chosen.write_text(json.dumps(list(names)))
        variables = {CHOSEN: str(chosen), LIMIT: str(limit)}
        path = checkout / TESTS / file
        text = _pytest(path, [], records, scratch, device, seconds, variables)
        lines = _lines(records)
    found = {each["test"]: Ending(**each) for each in lines if "test" in each}
    begun = [each["begins"] for each in lines if "begins" in each]
    return found, begun[-1] if begun else None, last_line(text)


_TIME = "the process's limit"


def _pytest(
    path: Path,
    options: Sequence[str],
    records: Path,
    scratch: str,
    device: str,
    timeout: float,
    variables: Mapping[str, str] | None = None,
) -> str:
    command = [sys.executable, "-m", "tilewright.compat", "-m", "pytest", "--no-header", "--tb=no"]
    command += ["-p", "no:cacheprovider", "-p", _PLUGIN, "-q", f"--device={device}", *options]
    env = environment(**{RECORDS: str(records), "TRITON_HOME": scratch}, **(variables or {}))
    try:
        done = subprocess.run(
            [*command, str(path)],
            cwd=scratch,
            env=env,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _TIME
    return done.stdout + done.stderr


def _lines(records: Path) -> list[dict[str, Any]]:
    if not records.exists():
        return []
    return [json.loads(line) for line in records.read_text().splitlines()]


def _line(found: Sequence[Ending]) -> str:
    counts = Counter(each.ending for each in found)
    return ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a test")
    parser.add_argument("--deadline", type=float, help="seconds for all tests")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--details", type=Path, help="write every ending to this file")
    parser.add_argument("--tutorials", action=argparse.BooleanOptionalAction, default=None)
    given = parser.parse_args(arguments)
    start = time.monotonic()
    found: list[Ending] = []
    if given.tutorials is not True:
        try:
            collected = collection(given.checkout, device=given.device)
        except (NotADirectoryError, RuntimeError) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        sys.stdout.write(
            f"{len(collected.files)} files collect, {len(collected.refused)} do not; "
            f"{len(collected.names)} cases are judged\n"
        )
        found += collected.endings()
        only = given.only
        names = [n for n in collected.names if not only or any(part in n for part in only)]
        found += endings(
            given.checkout,
            sample(names, given.seed, given.count),
            jobs=given.jobs,
            device=given.device,
            limit=given.limit,
            deadline=None if given.deadline is None else start + given.deadline,
        )
    if given.tutorials is not False:
        limit = given.limit * 10
        found += tutorials(given.checkout, limit=limit, jobs=given.jobs, only=given.only)
    if given.details is not None:
        rows = (f"{e.ending}\t{e.test}\t{e.seconds}\t{e.reason}\n" for e in found)
        given.details.write_text("".join(rows))
    result = summary(given.checkout, found)
    for group, counts in result.rows:
        line = ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))
        sys.stdout.write(f"{group}: {line}\n")
    for reason, count in result.reasons.most_common(60):
        sys.stdout.write(f"{count:5} {reason}\n")
    sys.stdout.write(f"all: {_line(found)}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
