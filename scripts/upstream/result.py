"""What a run of one upstream suite found: counts by ending for each group of files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class SuiteResult:
    """The endings of one suite, by group, and the reasons of those that are not the best ending."""

    name: str
    checkout: Path
    rows: tuple[tuple[str, Mapping[str, int]], ...] = ()
    reasons: Counter[str] = field(default_factory=Counter[str])
