"""Random `T` kernels on the simulated Tenstorrent target, in both executors, against NumPy.

    python -m tests.fuzz.tenstorrent --first 0 --count 1000 --jobs 2 --source-every 10

Ends with 1 if a kernel gave a wrong value, a sanitizer reported or the compiler failed. The table
reports how many seeds were refused and why; `--show` prints the source of every seed that failed,
`--shrink` without the statements that the failure does not need.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.fuzz.campaign import add_flags, followed, outcome_line, refusal_lines, where
from tests.fuzz.device.pool import Verdict
from tests.fuzz.tenstorrent.generator import generate
from tests.fuzz.tenstorrent.judging import Judge
from tests.fuzz.tenstorrent.shrinking import shrunk

FAILURES = ("wrong", "crash", "died", "hang")


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tenstorrent-fuzz", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many seeds (default 1000)")
    parser.add_argument("--seeds", default="", help="exactly these, as 7,12,40")
    add_flags(parser)
    parser.add_argument(
        "--source-every", type=int, default=10, help="each K-th from its sources too; 0: none"
    )
    parser.add_argument("--schedules", type=int, default=2, help="schedules of each run")
    parser.add_argument("--patience", type=float, default=120, help="seconds until a seed hangs")
    parser.add_argument("--residency", default="off", choices=("off", "auto", "on"))
    parser.add_argument("--multicast", default="off", choices=("off", "auto", "on"))
    parser.add_argument("--show", action="store_true", help="print the sources of failures")
    parser.add_argument("--shrink", action="store_true", help="remove what failures do not need")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    seeds = list(range(options.first, options.first + options.count))
    if options.seeds:
        seeds = [int(each) for each in options.seeds.split(",")]
    judge = Judge(options.source_every, options.schedules, options.residency, options.multicast)

    def show(seed: int) -> None:
        if options.shrink or options.show:
            case = generate(seed)
            smaller = shrunk(case, judge.of_case) if options.shrink else case
            print(smaller.source, flush=True)

    verdicts = followed(
        judge,
        seeds,
        FAILURES,
        show,
        patience_s=options.patience,
        at=where(options),
        log=options.log,
    )
    print(table(verdicts))
    return 1 if any(each.outcome in FAILURES for each in verdicts.values()) else 0


def table(verdicts: dict[int, Verdict]) -> str:
    """Outcomes and reasons of refusals, each with its count and one seed."""
    lines = [outcome_line(verdicts)]
    for note, what in (("retained", "panels that stay in L1"), ("groups", "multicasts")):
        count = sum(bool(each.notes.get(note)) for each in verdicts.values() if each.notes)
        if count:
            lines.append(f"  {count:5} with {what}")
    return "\n".join([*lines, *refusal_lines(verdicts)])


if __name__ == "__main__":
    sys.exit(main())
