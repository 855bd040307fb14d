"""``tilewright check`` with its schedules on several processes or machines.

The schedule with seed 0 is run here, as ever: the script prints and writes once. The others are run
in parts, each an item of work that executes the script with seed 0 and some more seeds, so that a
result that depends on the schedule is noticed in every part by itself. What a part found is not
shown but repeated here, with its seeds: the report is that of one process, timeline included. Of
parts without a fault, what they have read and not analysed is merged.

Where there are several parts, a first one is the schedule with seed 0 alone: if no event of it was
a matter of choice, as in scripts whose kernels have no tasks, the others would be the same, and are
not run.

    check.py ── items {script, seeds (0, 6, 7, 8, 9, 10)} ──▶ workers: `check_worker`
        │                                                        │ failed in launch 2, or reads
        ▼                                                        ▼
    run here with seeds (0,) or (0, *those of the first part that failed)  ◀── merged
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tilewright.cli.command_line import CommandLine, UsageError, require_file
from tilewright.cli.launches import LaunchLog
from tilewright.cli.placed_script import described_script, where_in
from tilewright.runtime.executors.cluster import ClusterUnavailable
from tilewright.runtime.executors.gather import WorkFailed, gathered, journal, merged
from tilewright.runtime.executors.pools import ExecutorLost, pool_of
from tilewright.runtime.executors.work import Outcome, Work
from tilewright.targets.numpy.tasks.ordering import OrderingLog

FLAGS = ("cluster", "jobs", "log")
WORK = "tilewright.cli.check_worker:checked"
SEEDS = 5
"""Of one part, beside seed 0. Part of the key of a part in a log, so it depends on nothing."""
_HERE = (*FLAGS, "sarif", "schedules", "timeline")
"""Flags that are for the driver."""


@dataclass
class Part:
    """Some of the schedules, and what their run left."""

    seeds: tuple[int, ...]
    log: LaunchLog | None = None
    orders: OrderingLog | None = None
    has_failed: bool = False
    """Whether the script or one of its kernels failed."""
    elsewhere: Sequence[Mapping[str, Any]] = ()
    """Of a run that completes those of others: what they found."""
    schedules: int = 1
    """How many there are, with those of others."""
    failures: list[str] = field(default_factory=list[str])
    """What another part reported, or why there is no result of it."""

    def merge(self, log: LaunchLog, orders: OrderingLog) -> None:
        """Add what the others read and did not analyse."""
        for each in self.elsewhere:
            orders.unread_log.merge(each["unread"])
            orders.not_analysed.update(dict.fromkeys(each["orders_not_analysed"]))
            log.not_analysed += [x for x in each["not_analysed"] if x not in log.not_analysed]
        orders.unread_log.repeat(self.schedules)


# -- distributing --------------------------------------------------------------------------------


def is_spread(line: CommandLine) -> bool:
    return any(name in line.values for name in FLAGS)


def searched(line: CommandLine, schedules: int) -> Part:
    """Run all schedules but the first elsewhere; what is left to run here."""
    if not line.is_script:
        raise UsageError(f"--{_first(line)} applies to Python files only")
    require_file(line.file)
    if schedules < 2:
        return Part((0,))
    work = Work.of(WORK)
    parts = [
        (0, *range(first, min(first + SEEDS, schedules))) for first in range(1, schedules, SEEDS)
    ]
    values = [_described(line, seeds) for seeds in parts]
    first = [_described(line, (0,))] if len(parts) > 1 else []
    try:
        where = where_in(line)
        with journal(line.values.get("log")) as log, pool_of(where) as pool:

            def done_by(values: Sequence[Any]) -> list[Outcome]:
                found = gathered(work, values, pool=pool, log=log, things="parts", name="schedules")
                return merged(found, work, values)

            if any(_is_determined(each) for each in done_by(first)):
                return Part((0,))
            outcomes = done_by(values)
    except (ClusterUnavailable, ExecutorLost, WorkFailed, ValueError) as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"--log: {error.strerror}: '{line.values.get('log')}'") from None
    failures = [
        f"schedules with seeds {seeds[1]} to {seeds[-1]}: {outcome}"
        for seeds, outcome in zip(parts, outcomes, strict=True)
        if outcome.status != "done"
    ]
    done = [(seeds, each.value) for seeds, each in zip(parts, outcomes, strict=True) if each.value]
    failed = [(each["launches"], seeds, each) for seeds, each in done if each["has_failed"]]
    if failed:
        _, seeds, each = min(failed, key=lambda one: one[:2])
        return Part(seeds, failures=[*failures, each["text"]])
    elsewhere = [each for _, each in done]
    return Part((0,), elsewhere=elsewhere, schedules=schedules, failures=failures)


def _is_determined(outcome: Outcome) -> bool:
    """Whether a run has shown that all schedules are the same; one that failed has not."""
    found = outcome.value if outcome.status == "done" else None
    return bool(found) and not found["has_failed"] and not found["has_choice"]


def _first(line: CommandLine) -> str:
    return next(name for name in FLAGS if name in line.values)


def _described(line: CommandLine, seeds: Sequence[int]) -> dict[str, Any]:
    flags = [f"--{name}={value}" for name, value in line.values.items() if name not in _HERE]
    return {
        **described_script(line),
        "flags": [*flags, *(f"--{name}" for name in sorted(line.switches))],
        "seeds": list(seeds),
    }
