"""Long lists of cases of which the default run takes some, and `make fuzz` the rest."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def every(step: int, cases: Iterable[Any]) -> list[Any]:
    """All cases, but for each `step`-th marked slow; one that is a tuple has several arguments."""
    return [
        case if number % step == 0 else pytest.param(*_values(case), marks=pytest.mark.slow)
        for number, case in enumerate(cases)
    ]


def _values(case: Any) -> tuple[Any, ...]:
    return case if isinstance(case, tuple) else (case,)
