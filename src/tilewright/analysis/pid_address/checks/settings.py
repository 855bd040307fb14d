"""What the caller of the checks decides: effort, memory contents, aliasing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    timeout: float = 1.0
    """Seconds that a solver may take for all questions about one kernel."""
    operations: int = 1_000_000
    """Steps of isl for one question."""
    budget: int = 10**8
    """Points that may be enumerated for one access."""
    memory: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Contents of integer buffers by argument name, as elements of the type loaded."""
    may_alias: tuple[tuple[str, ...], ...] = ()
    """Groups of pointer arguments that may point into the same buffer."""
    same_start: tuple[tuple[str, ...], ...] = ()
    """Groups of pointer arguments that are one address, each inside a group of `may_alias`."""


class Effort:
    """What is left of the settings' limits during one run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.seconds = settings.timeout

    def share(self) -> float:
        """Seconds for the next question: a third of the rest, so that none takes all."""
        return self.seconds / 3

    def spend(self, seconds: float) -> None:
        self.seconds = max(0.0, self.seconds - seconds)
