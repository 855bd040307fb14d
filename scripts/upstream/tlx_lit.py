"""TLX's own lit files (`test/TLX`), unmodified, with `tilewright-opt` in place of `triton-opt`.

    python -m scripts.upstream.tlx_lit CHECKOUT [--only PART ...] [--sample N --seed S] [--jobs N]

CHECKOUT is one of facebookexperimental/triton. A file passes if all of its RUN lines do; one that
does not is listed with the pass that it needs (`upstream_lit.NEEDS`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from scripts.upstream.result import SuiteResult, sampled
from scripts.upstream_lit import NEEDS, TLX, outcomes

SUITE = "tlx lit"


def run(
    checkout: Path,
    *,
    jobs: int = 1,
    only: Sequence[str] = (),
    count: int | None = None,
    seed: int = 0,
) -> SuiteResult:
    """The endings of all files, or of `count` chosen by `seed`, by the first word of the name."""
    return summary(checkout, endings(checkout, jobs=jobs, only=only, count=count, seed=seed))


def endings(
    checkout: Path,
    *,
    jobs: int = 1,
    only: Sequence[str] = (),
    count: int | None = None,
    seed: int = 0,
) -> Mapping[str, str]:
    """``passed`` or ``failed`` for each file."""
    folder = checkout / TLX
    names = [path.name for path in sorted(folder.glob("*.mlir"))]
    chosen = [name for name in names if not only or any(part in name for part in only)]
    with tempfile.TemporaryDirectory() as scratch:
        for name in sampled(chosen, count, seed):
            (Path(scratch) / name).write_text((folder / name).read_text())
        found = outcomes(scratch, (f"-j{jobs}", "-q"))
    names_of = {path.rpartition("/")[2]: code for path, code in found.items()}
    return {name: "passed" if code == "PASS" else "failed" for name, code in names_of.items()}


def summary(checkout: Path, found: Mapping[str, str]) -> SuiteResult:
    """Counts by topic, and what the files that fail need."""
    counts: dict[str, Counter[str]] = {}
    for name, ending in found.items():
        topic = name.removesuffix(".mlir").replace("_", "-").partition("-")[0]
        counts.setdefault(topic, Counter())[ending] += 1
    failed = [name for name, ending in found.items() if ending == "failed"]
    reasons = Counter(f"{name}: {NEEDS.get(name, 'not looked into')}" for name in failed)
    return SuiteResult(SUITE, checkout, tuple(sorted(counts.items())), reasons)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="parts of names")
    parser.add_argument("--sample", type=int, help="so many of the files, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args(arguments)
    if not (given.checkout / TLX).is_dir():
        sys.stderr.write(f"no directory {given.checkout / TLX}\n")
        return 2
    start = time.monotonic()
    result = run(
        given.checkout, jobs=given.jobs, only=given.only, count=given.sample, seed=given.seed
    )
    for reason in sorted(result.reasons):
        sys.stdout.write(f"{reason}\n")
    totals = Counter[str]()
    for _, counts in result.rows:
        totals.update(counts)
    line = ", ".join(f"{n} {ending}" for ending, n in sorted(totals.items()))
    sys.stdout.write(f"all: {line}; {time.monotonic() - start:.0f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
