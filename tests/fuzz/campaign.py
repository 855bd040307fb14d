"""A run over many seeds on the command line: progress, failures as they come, a table at the end."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from tests.fuzz.device.pool import Verdict, judged


def followed(
    judge: Callable[[int], Verdict],
    seeds: Sequence[int],
    failures: Sequence[str],
    show: Callable[[int], None],
    *,
    jobs: int,
    patience_s: float,
    report_s: float,
) -> dict[int, Verdict]:
    """The verdicts of all seeds; `show` is called for those whose outcome is a failure."""
    found: Iterable[tuple[int, Verdict]] = ((seed, judge(seed)) for seed in seeds)
    if jobs > 1:
        found = judged(judge, seeds, jobs=jobs, patience_s=patience_s)
    begun = reported = time.monotonic()
    verdicts: dict[int, Verdict] = {}
    for seed, verdict in found:
        verdicts[seed] = verdict
        if verdict.outcome in failures:
            print(f"seed {seed}: {verdict.outcome}: {verdict.reason}", flush=True)
            show(seed)
        if time.monotonic() - reported > report_s:
            reported = time.monotonic()
            print(f"{len(verdicts)} of {len(seeds)} after {reported - begun:.0f} s", flush=True)
    return verdicts


def outcome_line(verdicts: dict[int, Verdict]) -> str:
    """How many seeds ended how."""
    outcomes = Counter(each.outcome for each in verdicts.values())
    return f"{len(verdicts)} seeds: " + ", ".join(f"{n} {what}" for what, n in outcomes.items())


def refusal_lines(verdicts: dict[int, Verdict]) -> list[str]:
    """Reasons of refusals, each with its count and one seed."""
    kinds: dict[tuple[object, object], list[int]] = {}
    for seed, each in verdicts.items():
        if each.outcome == "refused":
            kinds.setdefault((each.notes["code"], each.notes["kind"]), []).append(seed)
    return [
        f"  {len(seeds):5} {code} {kind} (seed {min(seeds)})"
        for (code, kind), seeds in sorted(kinds.items(), key=lambda each: -len(each[1]))
    ]
