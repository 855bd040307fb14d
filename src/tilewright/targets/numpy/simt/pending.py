"""In-flight operations that update their issuer's clocks once they have been waited for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.targets.numpy.machine import Operation


@dataclass(eq=False)
class Pending(Operation):
    """Something an engine does for threads that wait for it by counting."""

    landed: Callable[[], None] | None = None
    """What a wait that covers it makes known."""
