"""`make device-fuzz`: random kernels compiled on all cores and run on the GPU, against NumPy.

    python -m tests.fuzz.device --first 900000 --count 3000 --json build/device-fuzz.json

    python -m tests.fuzz.device --first 950000 --count 300 --sanitize memcheck,racecheck,synccheck

Ends with 1 if a kernel gave a wrong value, faulted, hung or met an internal compiler error. The table
says how many seeds were refused and why; `--json` keeps every seed that was not right.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.device.pool import Verdict, judged
from tests.fuzz.device.sanitizer import SANITIZER, TOOLS, sanitized
from tests.fuzz.device.tile import ALL_FAMILIES, FORMS, TileJudge

FAILURES = ("wrong", "fault", "died", "hang", "internal")
GPU = "/dev/nvidiactl"
"""There where the driver is; asking the driver itself would start CUDA before the fork."""
_REPORT_S = 10.0


def parsed(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="device-fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="first seed (default: by the clock)")
    parser.add_argument("--count", type=int, default=3000, help="how many seeds (default 3000)")
    parser.add_argument(
        "--seeds",
        type=listed,
        default=[],
        metavar="SEEDS",
        help="exactly these, as 7,12,40, instead of a range",
    )
    parser.add_argument(
        "--family",
        default="both",
        choices=(*ALL_FAMILIES, "both"),
        help="which generator (default both: plain and wide in turn)",
    )
    parser.add_argument(
        *("--forms", "-f"),
        default=",".join(FORMS),
        help=f"forms that seeds take one after another (default {','.join(FORMS)})",
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--time-limit", type=float, default=0, help="stop after so many seconds")
    parser.add_argument("--patience", type=float, default=60, help="seconds until a seed hangs")
    parser.add_argument("--json", type=Path, help="write what was not right here")
    parser.add_argument("--in-process", action="store_true", help="do not fork")
    parser.add_argument(
        "--sanitize",
        metavar="TOOLS",
        help=f"run under compute-sanitizer instead: {','.join(TOOLS)}, or some of them",
    )
    parser.add_argument("--compile-only", action="store_true", help="run nothing: needs no GPU")
    return parser.parse_args(argv)


def listed(text: str) -> list[int]:
    """The numbers of ``7,12,40``."""
    try:
        return [int(each) for each in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: seeds are numbers, as in 7,12,40") from None


def seeds_of(options: argparse.Namespace) -> list[int]:
    if options.seeds:
        return options.seeds
    first = options.first or int(time.time()) % 10**6 * 1000
    return list(range(first, first + options.count))


def main(argv: Sequence[str] | None = None) -> int:
    options = parsed(argv)
    forms = tuple(options.forms.split(","))
    unknown = [each for each in forms if each not in FORMS]
    if unknown:
        print(f"device-fuzz: no form {unknown[0]}; there are {', '.join(FORMS)}", file=sys.stderr)
        return 2
    if not options.compile_only and not Path(GPU).exists():
        print("device-fuzz: no GPU here; --compile-only compiles and runs nothing", file=sys.stderr)
        return 2
    seeds = seeds_of(options)
    if options.sanitize:
        return _sanitize(options, seeds)
    judge = TileJudge(forms, options.family, runs=not options.compile_only)
    begun = time.monotonic()
    deadline = begun + options.time_limit if options.time_limit else None
    verdicts: dict[int, Verdict] = {}
    reported = begun
    found = (
        ((seed, judge(seed)) for seed in seeds)
        if options.in_process
        else judged(judge, seeds, jobs=options.jobs, patience_s=options.patience, deadline=deadline)
    )
    for seed, verdict in found:
        verdicts[seed] = verdict
        if verdict.outcome in FAILURES:
            print(f"seed {seed}: {verdict.outcome}: {verdict.reason[:300]}", flush=True)
        if time.monotonic() - reported > _REPORT_S:
            reported = time.monotonic()
            print(f"{len(verdicts)} of {len(seeds)} after {reported - begun:.0f} s", flush=True)
    summary = summarised(verdicts, seeds, time.monotonic() - begun)
    print(table(summary))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(summary | {"seeds": details(verdicts)}, indent=1))
    return 1 if any(summary["outcomes"].get(each) for each in FAILURES) else 0


def _sanitize(options: argparse.Namespace, seeds: Sequence[int]) -> int:
    tools = options.sanitize.split(",")
    unknown = [each for each in tools if each not in TOOLS]
    if unknown or shutil.which(SANITIZER) is None:
        wrong = (
            f"no tool {unknown[0]}; there are {', '.join(TOOLS)}" if unknown else "not installed"
        )
        print(f"device-fuzz: {SANITIZER}: {wrong}", file=sys.stderr)
        return 2
    passed_on = ["--family", options.family, "--forms", options.forms]
    runs = sanitized(tools, seeds, passed_on, options.jobs)
    for tool in tools:
        mine = [each for each in runs if each.tool == tool]
        clean = sum(len(each.seeds) for each in mine if each.is_clean)
        print(f"{tool}: {clean} of {sum(len(each.seeds) for each in mine)} seeds are clean")
    bad = [each for each in runs if not each.is_clean]
    for each in bad:
        print(f"{each.tool}, seeds {each.seeds}, status {each.status}:\n{each.text[-3000:]}")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([vars(each) for each in bad], indent=1))
    return 1 if bad else 0


def summarised(
    verdicts: dict[int, Verdict], seeds: Sequence[int], seconds: float
) -> dict[str, dict[str, int]]:
    """Counts, with the most frequent reason first."""
    refused = [each for each in verdicts.values() if each.outcome == "refused"]
    reasons = Counter(f"{each.notes['code']} {each.notes['kind']}" for each in refused)
    return {
        "run": {
            "first": seeds[0],
            "asked": len(seeds),
            "judged": len(verdicts),
            "seconds": round(seconds),
        },
        "outcomes": dict(Counter(each.outcome for each in verdicts.values()).most_common()),
        "forms": dict(
            Counter(f"{e.notes.get('form')} {e.outcome}" for e in verdicts.values()).most_common()
        ),
        "refusals": dict(reasons.most_common()),
    }


def table(summary: dict[str, dict[str, int]]) -> str:
    run, outcomes = summary["run"], summary["outcomes"]
    lines = [f"{run['judged']} of {run['asked']} seeds from {run['first']}, {run['seconds']} s"]
    lines += [f"{count:7} {name}" for name, count in outcomes.items()]
    lines += ["by form:", *(f"{count:7} {name}" for name, count in summary["forms"].items())]
    if summary["refusals"]:
        lines += ["refused because:"]
        lines += [f"{count:7} {reason}" for reason, count in summary["refusals"].items()]
    return "\n".join(lines)


def details(verdicts: dict[int, Verdict]) -> dict[str, object]:
    return {
        str(seed): {"outcome": each.outcome, "reason": each.reason, **each.notes}
        for seed, each in sorted(verdicts.items())
        if each.outcome != "right"
    }


if __name__ == "__main__":
    sys.exit(main())
