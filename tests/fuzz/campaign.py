"""A run over many seeds on the command line: progress, failures as they come, a table at the end."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Sequence

from tests.fuzz.device.pool import Judge, Verdict
from tests.fuzz.judging import WORK, described
from tilewright.runtime.executors.gather import gathered, journal
from tilewright.runtime.executors.pools import Where, pool_of, where_of
from tilewright.runtime.executors.work import Outcome, Work

_TRIES = 2
"""How often a seed may end its process: its patience is long."""
_OUTCOMES = {"died": "died", "lost": "died", "hung": "hang", "raised": "internal"}


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that say where seeds are judged."""
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="the Dask scheduler whose workers judge: tcp://HOST:PORT",
    )
    parser.add_argument(
        "--log", metavar="FILE", help="JSON lines of results; what is in them is not judged again"
    )


def where(options: argparse.Namespace) -> Where:
    return where_of(options.jobs if options.jobs != 1 else None, options.cluster)


def followed(
    judge: Judge,
    seeds: Sequence[int],
    failures: Sequence[str],
    show: Callable[[int], None],
    *,
    patience_s: float,
    at: Where = None,
    log: str | None = None,
) -> dict[int, Verdict]:
    """The verdicts of all seeds; `show` is called for those whose outcome is a failure."""
    work, how = Work.of(WORK), described(judge)
    verdicts: dict[int, Verdict] = {}
    values = [{**how, "seed": seed} for seed in seeds]
    with journal(log) as kept, pool_of(at, patience_s=patience_s) as pool:
        for item, outcome in gathered(
            work, values, pool=pool, log=kept, tries=_TRIES, things="seeds", name="judging"
        ):
            seed, verdict = item.value["seed"], verdict_of(outcome)
            verdicts[seed] = verdict
            if verdict.outcome in failures:
                print(f"seed {seed}: {verdict.outcome}: {verdict.reason}", flush=True)
                show(seed)
    return verdicts


def verdict_of(outcome: Outcome) -> Verdict:
    if outcome.status == "done":
        found = outcome.value
        return Verdict(found["outcome"], found["reason"], outcome.seconds, found["notes"])
    return Verdict(_OUTCOMES[outcome.status], outcome.reason, outcome.seconds)


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
