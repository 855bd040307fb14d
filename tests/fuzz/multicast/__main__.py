"""Random GEMMs with multicast in both executors: results, counted traffic, 20 schedules each.

    python -m tests.fuzz.multicast --first 0 --count 200 --jobs 16 --source-every 10

Ends with 1 if a result was wrong, the traffic was not the predicted one, a sanitizer reported (a
deadlock too) or the compiler failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.fuzz.device.pool import Verdict, judged
from tests.fuzz.multicast.cases import case_of
from tests.fuzz.multicast.judging import Judge

_REPORT_S = 10.0


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="multicast-fuzz", description=str(__doc__).splitlines()[0]
    )
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=200, help="how many seeds (default 200)")
    parser.add_argument("--seeds", default="", help="exactly these, as 7,12,40")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
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
    found: Iterable[tuple[int, Verdict]] = ((seed, judge(seed)) for seed in seeds)
    if options.jobs > 1:
        found = judged(judge, seeds, jobs=options.jobs, patience_s=options.patience, chunk=4)
    begun = reported = time.monotonic()
    verdicts: dict[int, Verdict] = {}
    for seed, verdict in found:
        verdicts[seed] = verdict
        if verdict.outcome != "right":
            print(
                f"seed {seed}: {verdict.outcome}: {verdict.reason}\n  {case_of(seed)}", flush=True
            )
        if time.monotonic() - reported > _REPORT_S:
            reported = time.monotonic()
            print(f"{len(verdicts)} of {len(seeds)} after {reported - begun:.0f} s", flush=True)
    outcomes = Counter(each.outcome for each in verdicts.values())
    print(f"{len(verdicts)} seeds: " + ", ".join(f"{n} {what}" for what, n in outcomes.items()))
    for note, text in (("groups", "with multicast"), ("ghosts", "with ghost steps")):
        count = sum(bool(each.notes.get(note)) for each in verdicts.values())
        print(f"  {count:5} {text}")
    return 0 if set(outcomes) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
