"""Correct first, then times: candidates take turns, and a median is reported.

Before each timed call the L2 cache is overwritten and the device kept busy for a while, so that the
host is ahead of it and no launch overhead is in the numbers. Candidates of a shape are measured in
rounds, one call of each, so that clocks and temperature are the same for all of them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

FLUSH_BYTES = 1 << 28
SLEEP_CYCLES = 600_000


@dataclass(frozen=True)
class Candidate:
    """A way to compute something: `call` returns the result."""

    name: str
    call: Callable[[], torch.Tensor]
    is_ours: bool = False


@dataclass
class Row:
    """What was measured for one shape."""

    kind: str
    shape: str
    flops: float
    milliseconds: dict[str, float] = field(default_factory=dict[str, float])
    errors: dict[str, float] = field(default_factory=dict[str, float])
    failures: dict[str, str] = field(default_factory=dict[str, str])

    def rate(self, name: str) -> float | None:
        """TFLOP/s."""
        time = self.milliseconds.get(name)
        return None if time is None else self.flops / time * 1e-9

    def ratio(self, name: str, peer: str) -> float | None:
        """How much faster than a peer."""
        mine, other = self.milliseconds.get(name), self.milliseconds.get(peer)
        return None if mine is None or other is None else other / mine


def relative_error(found: torch.Tensor, wanted: torch.Tensor) -> float:
    """The norm of the difference over that of the reference; NaN where anything is missing."""
    difference = found.to(wanted.dtype) - wanted
    return float(difference.norm() / wanted.norm())


def check(
    row: Row,
    candidates: Iterable[Candidate],
    wanted: torch.Tensor,
    limit: float,
) -> list[Candidate]:
    """The candidates that are right; what is wrong with others is put down."""
    right: list[Candidate] = []
    for candidate in candidates:
        try:
            error = relative_error(candidate.call(), wanted)
            torch.cuda.synchronize()
        except Exception as problem:
            row.failures[candidate.name] = f"{type(problem).__name__}: {problem}".split("\n")[0]
            continue
        row.errors[candidate.name] = error
        if error <= limit:
            right.append(candidate)
        else:
            row.failures[candidate.name] = f"relative error {error:.2e} is over {limit:.0e}"
    return right


def measure(row: Row, candidates: Sequence[Candidate], rounds: int, *, clean: bool = False) -> None:
    """Put the medians of `rounds` calls of each candidate into `row`.

    With `clean`, the L2 cache holds what was read: a call does not pay for writing back the rest of
    what was written to fill the cache (50 MB, 12 us on an H200).
    """
    flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
    times: dict[str, list[tuple[Any, Any]]] = {each.name: [] for each in candidates}
    for number in range(rounds + 2):
        for candidate in candidates:
            start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            flush.fill_(number & 1)
            if clean:
                torch.sum(flush.view(torch.int64))
            torch.cuda._sleep(SLEEP_CYCLES)
            start.record()
            candidate.call()
            end.record()
            if number >= 2:
                times[candidate.name].append((start, end))
    torch.cuda.synchronize()
    for name, events in times.items():
        row.milliseconds[name] = statistics.median(a.elapsed_time(b) for a, b in events)


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(value) for value in values]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Columns that line up, as Markdown."""
    rows = [list(head), *map(list, lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    texts = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([texts[0], rule, *texts[1:]])
