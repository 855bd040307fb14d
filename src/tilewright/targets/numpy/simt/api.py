"""What callers of the thread level's NumPy target give and get.

    program = compile_simt(module)                   # device functions and their host function
    program.launch([Buffer("A", a), Buffer("C", c), np.int32(n)], SimtOptions(schedules=3))

All threads of a block run in lockstep, and roles as tasks of their own; each schedule is one order
of events among them and the asynchronous units. Most faults show in any order, since accesses are
checked against the happens-before order and not against the order of the run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from tilewright.ir.diagnostics import Diagnostic, SourceManager
from tilewright.targets.numpy.api import Buffer, Grid, NumpyFault
from tilewright.targets.numpy.fault_codes import (
    ASSERTION,
    BARRIER_MISUSE,
    DATA_RACE,
    DEADLOCK,
    ENDLESS,
    MISALIGNED_TILE,
    MISSING_FENCE,
    OUT_OF_BOUNDS,
    SHAPE_MISMATCH,
    UNINITIALISED,
)

FaultKind: TypeAlias = Literal[
    "out of bounds",
    "uninitialised",
    "race",
    "deadlock",
    "barrier",
    "assertion",
    "shape",
    "endless",
    "fence",
    "in flight",
    "misaligned",
    "divergent",
    "tensor memory",
]

CODES: dict[FaultKind, str] = {
    "out of bounds": OUT_OF_BOUNDS,
    "uninitialised": UNINITIALISED,
    "race": DATA_RACE,
    "deadlock": DEADLOCK,
    "barrier": BARRIER_MISUSE,
    "assertion": ASSERTION,
    "shape": SHAPE_MISMATCH,
    "endless": ENDLESS,
    "fence": MISSING_FENCE,
    "in flight": "TW6145",
    "misaligned": MISALIGNED_TILE,
    "divergent": "TW6147",
    "tensor memory": "TW6148",
}


@dataclass(frozen=True)
class SimtOptions:
    """How to run."""

    checked: bool = True
    """Report races, missing fences, uninitialised reads and reads of in-flight MMAs.

    Bounds, alignment and deadlocks are always reported.
    """
    guarded: bool = True
    """False before `guard-memory-accesses`: what is outside of a tensor reads as zero, and is not
    written."""
    schedules: int = 1
    """How many orders of events to try."""
    seed: int = 0
    """Of the first schedule; see `machine/schedule.py` for what seeds mean."""
    seeds: tuple[int, ...] | None = None
    """Exactly these schedules instead, compared with the first of them."""
    blocks: int | None = None
    """How many blocks of a grid to run, spread from the first to the last; None for all."""
    reachable: tuple[Buffer, ...] = ()
    """Arrays that the kernel may find by addresses, beside its arguments."""
    unit: int | None = None
    """Threads that run in lockstep: all of a role if None, else groups of this size, each a task.

    Checks do not need it; it shows what races do to results.
    """
    output: Callable[[str], None] | None = None
    """Takes the lines of `T.print`; None drops them."""
    sources: SourceManager | None = None
    """Source text of the locations, for messages; None reads the files."""
    max_steps: int = 20_000_000
    """Ops of one block after which it is considered endless."""


@dataclass
class SimtReport:
    """What happened in a launch."""

    blocks: int = 0
    """Of all kernels, once for each schedule."""
    schedules: int = 0
    seconds: float = 0.0


class SimtFault(NumpyFault):
    """The kernel did something it should not."""

    def __init__(
        self,
        kind: FaultKind,
        diagnostic: Diagnostic,
        program: Grid | None,
        sources: SourceManager | None,
        seed: int,
    ) -> None:
        self.kind: FaultKind = kind
        self.seed = seed
        """Of the schedule it happened in."""
        super().__init__(diagnostic, program, sources)
