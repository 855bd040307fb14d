"""Long lists of cases of which the default run takes some, and `make fuzz` the rest or all."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import Any

import pytest

PROFILE = os.environ.get("TILEWRIGHT_HYPOTHESIS_PROFILE", "deterministic")
"""How Hypothesis draws: `deterministic` (the default run), `whole` (`make fuzz`) or `explore`."""


def examples(whole: int) -> int:
    """How many examples a property is tried on: all of them, but a quarter in the default run."""
    return -(-whole // 4) if PROFILE == "deterministic" else whole


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """All cases, but for each `step`-th marked slow; one that is a tuple has several arguments."""
    return [case if number % step == 0 else _slow(case) for number, case in enumerate(cases)]


def only(default: Container[Any], cases: Iterable[Any]) -> list[Any]:
    """All cases, those that are not in `default` marked slow."""
    return [case if case in default else _slow(case) for case in cases]


def _slow(case: Any) -> Any:
    return pytest.param(*_values(case), marks=pytest.mark.slow)


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
