"""Cases of a test in both executors."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from tilewright.targets.tenstorrent.artefact import Executor


def in_both(names: Iterable[str], quick: Collection[str]) -> list[Any]:
    """Every case in the IR and from its sources; g++ takes seconds a case, so that those from
    sources are `slow` but for the `quick` ones."""
    return [
        pytest.param(name, executor, marks=[pytest.mark.slow] if is_slow else [])
        for name in names
        for executor in Executor
        for is_slow in [executor is Executor.SOURCE and name not in quick]
    ]
