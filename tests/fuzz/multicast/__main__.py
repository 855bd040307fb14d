"""Random GEMMs with multicast in both executors: results, counted traffic, 20 schedules each.

    python -m tests.fuzz.multicast --first 0 --count 200 --jobs 16 --source-every 10

Ends with 1 if a result was wrong, the traffic was not the predicted one, a sanitizer reported (a
deadlock too) or the compiler failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.fuzz.campaign import add_flags, followed, outcome_line, where
from tests.fuzz.multicast.cases import case_of
from tests.fuzz.multicast.judging import Judge

FAILURES = ("wrong", "crash", "died", "hang", "internal")


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="multicast-fuzz", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=200, help="how many seeds (default 200)")
    parser.add_argument("--seeds", default="", help="exactly these, as 7,12,40")
    add_flags(parser)
    parser.add_argument(
        "--source-every", type=int, default=10, help="each K-th from its sources too; 0: none"
    )
    parser.add_argument("--schedules", type=int, default=20, help="schedules of each case")
    parser.add_argument("--patience", type=float, default=300, help="seconds until a seed hangs")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    seeds = list(range(options.first, options.first + options.count))
    if options.seeds:
        seeds = [int(each) for each in options.seeds.split(",")]
    judge = Judge(options.source_every, options.schedules)

    def show(seed: int) -> None:
        print(f"  {case_of(seed)}", flush=True)

    verdicts = followed(
        judge,
        seeds,
        FAILURES,
        show,
        patience_s=options.patience,
        at=where(options),
        log=options.log,
    )
    outcomes = Counter(each.outcome for each in verdicts.values())
    print(outcome_line(verdicts))
    for note, text in (("groups", "with multicast"), ("ghosts", "with ghost steps")):
        count = sum(bool(each.notes.get(note)) for each in verdicts.values())
        print(f"  {count:5} {text}")
    return 0 if set(outcomes) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
