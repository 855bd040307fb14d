"""Random `T` kernels compiled for AMD GPUs and run thread by thread, against NumPy.

    python -m tests.fuzz.hip --first 0 --count 3000 --jobs 2

Ends with 1 if a kernel gave a wrong value, a checker reported something or the compiler failed. The
table reports how many seeds were refused and why; `--show` prints the source of every seed that failed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.fuzz.campaign import add_flags, followed, outcome_line, refusal_lines, where
from tests.fuzz.device.pool import Verdict
from tests.fuzz.device.tile import ALL_FAMILIES
from tests.fuzz.hip.judging import Judge
from tests.fuzz.tile.generator import generate
from tilewright.layouts.hardware.amd_chips import CHIPS

FAILURES = ("wrong", "report", "internal", "died", "hang")


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="hip-fuzz", description=str(__doc__).splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=3000, help="how many seeds (default 3000)")
    parser.add_argument("--seeds", default="", help="exactly these, as 7,12,40")
    add_flags(parser)
    parser.add_argument("--chips", default=",".join(CHIPS), help="seeds take them in turn")
    parser.add_argument("--all-chips", action="store_true", help="each seed on every chip")
    parser.add_argument(
        "--family",
        default="both",
        choices=(*ALL_FAMILIES, "both"),
        help="which generator (default both: plain and wide in turn)",
    )
    parser.add_argument("--schedules", type=int, default=2, help="schedules of each run")
    parser.add_argument("--patience", type=float, default=300, help="seconds until a seed hangs")
    parser.add_argument("--show", action="store_true", help="print the sources of failures")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    seeds = list(range(options.first, options.first + options.count))
    if options.seeds:
        seeds = [int(each) for each in options.seeds.split(",")]
    chips = tuple(options.chips.split(","))
    judge = Judge(chips, options.schedules, options.all_chips, options.family)

    def show(seed: int) -> None:
        if options.show:
            print(generate(seed, judge.family_of(seed)).source, flush=True)

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
    """Outcomes, by chip; reasons of refusals, each with its count and one seed."""
    lines = [outcome_line(verdicts)]
    right = Counter(each.notes["chip"] for each in verdicts.values() if each.outcome == "right")
    lines.append(
        "right on " + ", ".join(f"{chip} {n}" for chip, n in sorted(right.items(), key=str))
    )
    return "\n".join([*lines, *refusal_lines(verdicts)])


if __name__ == "__main__":
    sys.exit(main())
