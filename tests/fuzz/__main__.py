"""Random `tl` and `T` kernels on the host against NumPy, in processes or on a cluster.

    python -m tests.fuzz --family tl --count 2000 --jobs 16 --log build/fuzz.jsonl
    python -m tests.fuzz --family T --count 2000 --cluster tcp://10.0.0.1:8786

Ends with 1 if a kernel gave a wrong value, was refused or ended its process. A run that was
interrupted goes on from its log.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests.fuzz.campaign import add_flags, followed, outcome_line, where
from tests.fuzz.host import FAMILIES, HostJudge
from tilewright.runtime.executors.cluster import ClusterUnavailable
from tilewright.runtime.executors.gather import WorkFailed

FAILURES = ("wrong", "internal", "died", "hang")


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="fuzz", description=str(__doc__).splitlines()[0])
    parser.add_argument("--family", choices=FAMILIES, default="tl", help="which generator")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--count", type=int, default=2000, help="how many seeds (default 2000)")
    parser.add_argument("--patience", type=float, default=120, help="seconds until a seed hangs")
    parser.add_argument("--show", action="store_true", help="print the sources of failures")
    add_flags(parser)
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    judge = HostJudge(options.family)
    begun = time.monotonic()

    def show(seed: int) -> None:
        if options.show:
            print(judge.source(seed), flush=True)

    try:
        verdicts = followed(
            judge,
            range(options.first, options.first + options.count),
            FAILURES,
            show,
            patience_s=options.patience,
            at=where(options),
            log=options.log,
        )
    except (ClusterUnavailable, WorkFailed, ValueError) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"{outcome_line(verdicts)} in {time.monotonic() - begun:.1f} s")
    return 1 if any(each.outcome in FAILURES for each in verdicts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
