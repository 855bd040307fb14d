"""What a run of one upstream suite found: counts by ending for each group of files."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
STAND_INS = ROOT / "scripts" / "stand_ins"
"""Packages that files import and that may not be installed: for the end of the path."""


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


def environment(**more: str) -> dict[str, str]:
    """The variables of a process that runs somebody's file: this checkout before all else."""
    before = os.environ.get("PYTHONPATH")
    path = [str(ROOT / "src"), str(ROOT), *filter(None, [before])]
    return {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(path),
        **more,
    }


def last_line(text: str) -> str:
    """The last line of what a process wrote."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no output"
