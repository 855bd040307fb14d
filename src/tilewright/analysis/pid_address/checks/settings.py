"""What the caller of the checks decides: effort, memory contents, aliasing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Settings:
    timeout: float | None = None
    """Seconds that a solver may take for all questions about one kernel: what is decided then
    depends on the machine. None: no limit but that of steps."""
    solver_steps: int = 300_000
    """Steps of z3, as it counts them, for all questions about one kernel."""
    operations: int = 1_000_000
    """Steps of isl for one question."""
    first_point_operations: int = 2_000
    """Steps of isl in the search for the least witness; then any will do."""
    budget: int = 10**8
    """Points that may be enumerated for one access."""
    work: int = 400_000_000
    """Points, times the symbols and values each is computed from, that may be enumerated for all
    accesses of one kernel together."""
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
        self.steps = settings.solver_steps
        self.work = settings.work

    def share(self) -> tuple[int, float | None]:
        """Steps and seconds for the next question: a third of the rest, so that none takes all."""
        return self.steps // 3, None if self.seconds is None else self.seconds / 3

    def spend(self, steps: int, seconds: float) -> None:
        self.steps = max(0, self.steps - steps)
        if self.seconds is not None:
            self.seconds = max(0.0, self.seconds - seconds)

    def take(self, work: int) -> bool:
        """Whether so much may still be enumerated; if so, it is used up."""
        if work > self.work:
            return False
        self.work -= work
        return True
