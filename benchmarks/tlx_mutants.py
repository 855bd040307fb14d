"""Mistakes in the kernels of `examples/tlx`, how many a checked run reports, and what it blames.

    python benchmarks/tlx_mutants.py [--check] [--jobs N | --cluster ADDRESS] [--log FILE]
                                     [--example NAME] [--held-out] [--schedules N]
                                     [--sample N --seed S]

For every example each barrier wait, arrive, expect, fence, commit and asynchronous wait is taken
out in turn, each phase is turned, each arrive count and number of bytes changed, each index of a
buffer or barrier moved to its neighbour, and each `distinct` group made `shared`. A mutant is

    right       reported, and the first finding blames what was changed
    misled      reported, but the first finding blames something else
    same bits   not reported, and the result has the bits of the example under all schedules
    silent      not reported, and the result is wrong

The first two are kills, the last two survivors. What counts as blamed is written down at the top of
`tests/examples/tlx_blame.py`: the array of barriers that the changed op uses is named as the cause,
or, for what has no barrier, the two accesses are at the lines that the op orders.

The kernels of `tests/examples/held_out` are counted apart: each was written in another style when
the explanations were there. Explanations have been mended with their mistakes since, so only the
first number of each tells how an unknown kernel fares; it is in the kernel's docstring, if it was
kept. With `--log` verdicts are appended to a file as JSON lines, and an interrupted sweep goes on
from there; `--cluster` names a Dask scheduler (docs/many-machines.md). `--check` makes the exit
code 1 if a mutant is silent, if fewer than 95% of the reported ones are right, or if there are
fewer than 300 mutants of the examples.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.examples.tlx_examples import HELD_OUT, NAMES  # noqa: E402
from tests.examples.tlx_mutants import Mutant  # noqa: E402
from tests.examples.tlx_sweep import WORK, described, example  # noqa: E402
from tilewright.runtime.executors.gather import gathered, journal, merged  # noqa: E402
from tilewright.runtime.executors.pools import pool_of, where_of  # noqa: E402
from tilewright.runtime.executors.work import Work  # noqa: E402

LEAST_MUTANTS = 300
LEAST_RIGHT = 0.95
COLUMNS = ("right", "misled", "same bits", "silent")


def column(verdict: Mapping[str, Any]) -> str:
    if verdict["outcome"] == "reported":
        return "right" if verdict["is_right"] else "misled"
    return "silent" if verdict["outcome"] == "wrong" else "same bits"


def verdicts(
    mutants: Sequence[Mutant], arguments: argparse.Namespace
) -> Iterator[tuple[Mutant, Mapping[str, Any]]]:
    work = Work.of(WORK)
    values = [described(each, arguments.schedules) for each in mutants]
    jobs = arguments.jobs if arguments.jobs != 1 else None
    with journal(arguments.log) as log, pool_of(where_of(jobs, arguments.cluster)) as pool:
        found = gathered(work, values, pool=pool, log=log, things="mutants", name="running")
        outcomes = merged(found, work, values)
    for mutant, outcome in zip(mutants, outcomes, strict=True):
        if outcome.status != "done":
            raise RuntimeError(f"{mutant}: {outcome}")
        yield mutant, outcome.value


def share(counts: Counter[str]) -> float:
    """How many of the reported mutants are blamed on what was changed."""
    killed = counts["right"] + counts["misled"]
    return counts["right"] / killed if killed else 1.0


def row(name: str, counts: Counter[str]) -> str:
    cells = "".join(f"{counts[each]:>10}" for each in COLUMNS)
    return f"{name:28}{sum(counts.values()):>8}{cells}{share(counts):>9.1%}"


def table(names: Sequence[str], arguments: argparse.Namespace) -> Counter[str]:
    """Print what became of the mutants of some kernels, and those that were not blamed rightly."""
    mutants = [each for name in names for each in example(name).mutants]
    if arguments.sample:
        mutants = random.Random(arguments.seed).sample(mutants, arguments.sample)
    total: Counter[str] = Counter()
    others: list[str] = []
    print(f"{'':28}{'mutants':>8}" + "".join(f"{each:>10}" for each in COLUMNS) + "   blamed")
    for name in names:
        counts: Counter[str] = Counter()
        mine = [each for each in mutants if each.example == name]
        for mutant, verdict in verdicts(mine, arguments):
            where = column(verdict)
            counts[where] += 1
            if where != "right":
                said = verdict["message"]
                others.append(
                    f"  {where}: {mutant}, about {verdict['truth']}" + (said and f"; {said}")
                )
        print(row(name, counts), flush=True)
        total += counts
    print(row("all", total))
    print("\n".join(others), flush=True)
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--example", action="append", choices=(*NAMES, *HELD_OUT))
    parser.add_argument("--held-out", action="store_true", help="only the kernels held out")
    parser.add_argument("--schedules", type=int, default=6, help="orders of events for each mutant")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--cluster", metavar="ADDRESS", help="a Dask scheduler: tcp://HOST:PORT")
    parser.add_argument("--log", metavar="FILE", help="JSON lines of verdicts, to resume from")
    parser.add_argument("--sample", type=int, help="so many mutants, drawn with --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true", help="exit with 1 if it is not good enough")
    arguments = parser.parse_args()
    chosen: Sequence[str] = arguments.example or NAMES
    total: Counter[str] = Counter()
    if not arguments.held_out:
        total = table(chosen, arguments)
    if arguments.held_out or not arguments.example:
        print("\nheld out")
        total["silent"] += table(HELD_OUT, arguments)["silent"]
    is_whole = not (arguments.example or arguments.held_out or arguments.sample)
    is_short = is_whole and sum(total.values()) < LEAST_MUTANTS
    is_bad = bool(total["silent"]) or share(total) < LEAST_RIGHT or is_short
    return 1 if arguments.check and is_bad else 0


if __name__ == "__main__":
    sys.exit(main())
