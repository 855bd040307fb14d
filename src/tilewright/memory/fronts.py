"""The former name of `tilewright.memory.planner.problems`, until the next release."""

from __future__ import annotations

import warnings
from typing import Any

from tilewright.memory.planner import problems


def __getattr__(name: str) -> Any:
    found: Any = getattr(problems, name)
    warnings.warn(
        "tilewright.memory.fronts is deprecated: use tilewright.memory.planner.problems",
        FutureWarning,
        stacklevel=2,
    )
    return found
