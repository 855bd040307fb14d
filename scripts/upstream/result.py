"""What a run of one upstream suite found: counts by ending for each group of files."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SuiteResult:
    """The endings of one suite, by group, and the reasons of those that are not the best ending."""

    name: str
    checkout: Path
    rows: tuple[tuple[str, Mapping[str, int]], ...] = ()
    reasons: Counter[str] = field(default_factory=Counter[str])


def sampled(names: Sequence[str], count: int | None, seed: int) -> list[str]:
    """`count` of `names` in their order, chosen by `seed`; all of them without a count."""
    if count is None or count >= len(names):
        return list(names)
    chosen = set(random.Random(seed).sample(list(names), count))
    return [name for name in names if name in chosen]


def write_json(path: Path, result: SuiteResult, cases: Sequence[Mapping[str, Any]]) -> None:
    """`result`, and every case that has a reason."""
    totals = Counter[str]()
    for _, counts in result.rows:
        totals.update(counts)
    fields = {
        "name": result.name,
        "totals": dict(sorted(totals.items())),
        "rows": [[group, dict(sorted(counts.items()))] for group, counts in result.rows],
        "reasons": dict(result.reasons.most_common()),
        "cases": list(cases),
    }
    path.write_text(json.dumps(fields, indent=1) + "\n")
