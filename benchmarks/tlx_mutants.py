"""Mistakes in the kernels of `examples/tlx`, and how many of them a checked run reports.

    python benchmarks/tlx_mutants.py [--example NAME] [--schedules N] [--check]

For every example each barrier wait, arrive, expect, fence and asynchronous wait is taken out in
turn, each phase is turned, counts and bytes are changed, buffer indices moved to their neighbour,
and one `distinct` group made `shared`. A mutant that is not reported either leaves the same bits
under all schedules, or is a miss. `--check` makes the exit code 1 if a mutant gives a wrong
result unreported, or fewer than 95% of those that matter are reported.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.examples.tlx_examples import NAMES, results  # noqa: E402
from tests.examples.tlx_mutants import Mutant, Verdict, mutants_of, run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", action="append", choices=NAMES, help="only this one")
    parser.add_argument("--schedules", type=int, default=6, help="orders of events for each mutant")
    parser.add_argument("--check", action="store_true", help="exit with 1 if too many survive")
    arguments = parser.parse_args()
    total: Counter[str] = Counter()
    survivors: list[tuple[Mutant, Verdict]] = []
    print(f"{'example':28} {'mutants':>7} {'reported':>8} {'same bits':>9} {'wrong':>5}")
    for name in arguments.example or NAMES:
        wanted = results(name)
        counts: Counter[str] = Counter()
        for mutant in mutants_of(name):
            verdict = run(mutant, wanted, schedules=arguments.schedules)
            counts[verdict.outcome] += 1
            if verdict.outcome != "reported":
                survivors.append((mutant, verdict))
        total += counts
        row = (counts["reported"], counts["the same"], counts["wrong"])
        print(f"{name:28} {sum(row):7} {row[0]:8} {row[1]:9} {row[2]:5}", flush=True)
    row = (total["reported"], total["the same"], total["wrong"])
    print(f"{'all':28} {sum(row):7} {row[0]:8} {row[1]:9} {row[2]:5}")
    for mutant, verdict in survivors:
        print(f"  {verdict.outcome}: {mutant}")
    matter = total["reported"] + total["wrong"]
    caught = total["reported"] / matter if matter else 1.0
    print(f"of those that change a result or hang, {caught:.1%} are reported")
    return 1 if arguments.check and (total["wrong"] or caught < 0.95) else 0


if __name__ == "__main__":
    sys.exit(main())
