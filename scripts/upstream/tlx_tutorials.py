"""TLX's Hopper and Blackwell tutorials, unmodified, on the CPU, by their own host code.

    python -m scripts.upstream.tlx_tutorials CHECKOUT [--only PART ...] [--sample N --seed S]
                                             [--jobs N] [--limit SECONDS] [--details FILE]

CHECKOUT is one of facebookexperimental/triton; torch is needed, a GPU is not. Each case of
`scripts.tlx_nvidia` is a process: it imports the tutorial, calls it with a small problem and
compares the result with torch. Some read accumulators before anything is written to them, and do
not use what they got: those run again with TILEWRIGHT_CHECK_UNINITIALISED=0. The endings:

    right           the numbers are those of torch
    wrong           they are not
    imported        the module and its kernels are accepted, none was launched
    reported        a check of ours stopped the kernel: with the finding
    refused         the kernel or its host code was not accepted
    package absent  the tutorial imports something that is not installed
    time            not finished within the limit
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scripts.tlx_nvidia.cases import CASES
from scripts.upstream.pool import in_parallel
from scripts.upstream.result import SuiteResult, environment, sampled
from tilewright.targets.numpy.fault_codes import UNINITIALISED

SUITE = "tlx tutorials"
FOLDER = Path("third_party/tlx/tutorials")
_LINE = re.compile(r"^ENDING\t([^\t]*)\t(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Ending:
    """How one case ended."""

    case: str
    ending: str
    reason: str = ""
    seconds: float = 0.0


def run(
    checkout: Path,
    *,
    jobs: int = 1,
    only: Sequence[str] = (),
    limit: float = 180.0,
    count: int | None = None,
    seed: int = 0,
) -> SuiteResult:
    """The endings of all cases, or of `count` chosen by `seed`, by GPU."""
    found = endings(checkout, jobs=jobs, only=only, limit=limit, count=count, seed=seed)
    return summary(checkout, found)


def summary(checkout: Path, found: Sequence[Ending]) -> SuiteResult:
    """Counts by GPU, and the reasons of everything that is not right."""
    targets = {case.name: case.target for case in CASES}
    counts: dict[str, Counter[str]] = {}
    for each in found:
        counts.setdefault(targets[each.case], Counter())[each.ending] += 1
    reasons = Counter(f"{e.case}: {e.ending}: {e.reason}" for e in found if e.ending != "right")
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def endings(
    checkout: Path,
    *,
    jobs: int,
    only: Sequence[str],
    limit: float,
    count: int | None = None,
    seed: int = 0,
) -> tuple[Ending, ...]:
    """Run the cases that `only` names (parts of names; all of them without), or a sample."""
    folder = (checkout / FOLDER).resolve()
    names = [case.name for case in CASES]
    chosen = [name for name in names if not only or any(part in name for part in only)]
    chosen = sampled(chosen, count, seed)
    found: list[Ending] = []
    for ended in in_parallel(jobs, partial(_ending, folder, limit), chosen):
        found.append(ended)
        sys.stdout.write(
            f"[{len(found)}/{len(chosen)}] {ended.case}: {ended.ending} {ended.reason[:300]}\n"
        )
        sys.stdout.flush()
    return tuple(found)


def _ending(folder: Path, limit: float, name: str) -> Ending:
    found = _attempt(folder, limit, name)
    is_undefined = next(case.undefined for case in CASES if case.name == name)
    if not is_undefined or UNINITIALISED not in found.reason:
        return found
    again = _attempt(folder, limit, name, TILEWRIGHT_CHECK_UNINITIALISED="0")
    return replace(again, reason=f"with reads of unwritten accumulators: {again.reason}")


def _attempt(folder: Path, limit: float, name: str, **variables: str) -> Ending:
    with tempfile.TemporaryDirectory() as scratch:
        env = environment(TRITON_DISABLE_LINE_INFO="1", **variables)
        start = time.monotonic()
        try:
            done = subprocess.run(
                [sys.executable, "-m", "scripts.tlx_nvidia", str(folder), name],
                cwd=scratch,
                env=env,
                capture_output=True,
                text=True,
                timeout=limit,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Ending(name, "time", f"not finished within {limit:.0f} s", limit)
        seconds = time.monotonic() - start
    written = _LINE.search(done.stdout)
    if written is None:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return Ending(name, "refused", last[:300], seconds)
    return Ending(name, written[1], written[2], seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--sample", type=int, help="so many of the cases, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=180.0, help="seconds for a case")
    parser.add_argument("--details", type=Path, help="write every case's ending to this file")
    given = parser.parse_args(arguments)
    start = time.monotonic()
    found = endings(
        given.checkout,
        jobs=given.jobs,
        only=given.only,
        limit=given.limit,
        count=given.sample,
        seed=given.seed,
    )
    if given.details is not None:
        rows = (f"{e.ending}\t{e.case}\t{e.seconds:.1f}\t{e.reason}\n" for e in found)
        given.details.write_text("".join(rows))
    result = summary(given.checkout, found)
    for target, counts in result.rows:
        line = ", ".join(f"{n} {ending}" for ending, n in sorted(counts.items()))
        sys.stdout.write(f"{target}: {line}\n")
    sys.stdout.write(f"{len(found)} cases; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
