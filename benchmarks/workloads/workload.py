"""A workload: what is computed, its candidates, and what limits it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch

from benchmarks.h200.measure import Candidate, Row, check, measure

OURS, COPY = "ours", "copy"
Compiles: TypeAlias = Callable[[Sequence[Callable[[], Any]]], None]
"""Compiles the kernels of calls, before they are made."""
_COPIED = 1 << 29
"""Elements of 2 bytes: 1 GiB, read and written."""


@dataclass(frozen=True)
class Limit:
    """The least speed of ours as a part of a peer's."""

    peer: str
    ratio: float


@dataclass(frozen=True)
class Prepared:
    """A workload with its inputs on the GPU."""

    expected: torch.Tensor
    candidates: Sequence[Candidate]
    tolerance: float


@dataclass(frozen=True)
class Workload:
    """One line of the table."""

    family: str
    shape: str
    prepare: Callable[[], Prepared]
    limits: Sequence[Limit] = ()
    moved: int = 0
    """Bytes that have to be read or written; with some, a copy of as many is a peer."""
    flops: float = 0.0
    least_rate: float = 0.0
    """Operations a second that are required."""

    def run(self, rounds: int, copied_per_ms: float, compiles: Compiles) -> Row:
        """Check the candidates, then time those that are right."""
        row = Row(self.family, self.shape, self.flops or 1e3 * self.moved)
        prepared = self.prepare()
        compiles([each.call for each in prepared.candidates if each.is_ours])
        right = check(row, prepared.candidates, prepared.expected, prepared.tolerance)
        measure(row, right, rounds, clean=True)
        keep_fastest(row)
        if self.moved:
            row.milliseconds[COPY] = self.moved / copied_per_ms
        return row

    def missed(self, row: Row) -> list[str]:
        """The limits that a row misses."""
        found: list[str] = []
        own = row.milliseconds.get(OURS)
        if self.least_rate and own is not None and self.flops / own * 1e3 < self.least_rate:
            found.append(
                f"{self.family} {self.shape}: {self.flops / own * 1e-9:.0f} TFLOP/s < "
                f"{self.least_rate * 1e-12:.0f}"
            )
        for limit in self.limits:
            if limit.peer not in row.milliseconds and limit.peer in row.failures:
                continue  # a peer that fails sets no limit; the table has its reason
            ratio = row.ratio(OURS, limit.peer)
            if ratio is None:
                why = row.failures.get(OURS, f"no {limit.peer}")
                found.append(f"{self.family} {self.shape}: {why}")
            elif ratio < limit.ratio:
                found.append(
                    f"{self.family} {self.shape}: {ratio:.3f} of {limit.peer} < {limit.ratio}"
                )
        return found


def copied_per_millisecond(rounds: int) -> float:
    """Bytes that a copy reads and writes in a millisecond."""
    source = torch.randn(_COPIED, device="cuda", dtype=torch.bfloat16)
    target = torch.empty_like(source)
    row = Row(COPY, "", 0.0)
    measure(row, [Candidate(COPY, lambda: target.copy_(source))], rounds, clean=True)
    return 2 * source.numel() * source.element_size() / row.milliseconds[COPY]


def choices(
    call: Callable[..., torch.Tensor], options: Iterable[Mapping[str, Any]]
) -> list[Candidate]:
    """A candidate of ours for each configuration; the table has the fastest, as a tuner would."""
    found: list[Candidate] = []
    for each in options:
        label = ", ".join(f"{name}={value}" for name, value in each.items())
        found.append(Candidate(f"{OURS} ({label})", partial(call, **each), is_ours=True))
    return found


def keep_fastest(row: Row) -> str:
    """Give the fastest configuration of ours the name `OURS`; what it is."""
    own = {name: time for name, time in row.milliseconds.items() if name.startswith(f"{OURS} (")}
    if not own:
        failed = [name for name in row.failures if name.startswith(f"{OURS} (")]
        if failed and OURS not in row.milliseconds:
            row.failures[OURS] = row.failures[failed[0]]
        return ""
    name = min(own, key=own.__getitem__)
    row.milliseconds[OURS] = row.milliseconds[name]
    return name.removeprefix(f"{OURS} (").removesuffix(")")


def first(call: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[], torch.Tensor]:
    """The call, with the first of its results."""

    def result() -> torch.Tensor:
        found = call(*arguments, **options)
        return found[0] if isinstance(found, (tuple, list)) else found

    return result
