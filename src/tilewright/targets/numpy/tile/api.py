"""What callers of the tile level's NumPy target give and get.

    kernel = compile_tile_module(module)
    kernel.launch([Buffer("A", a), Buffer("B", b), np.int32(n)], TileOptions(schedules=20))

Blocks run sequentially in launch order, x fastest. A kernel with asynchronous copies, roles or
barriers has more than one legal order of events inside a block; each schedule is one of them, and
all must give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from tilewright.ir.codes.shared import RESULT_DEPENDS_ON_SCHEDULE, SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import Diagnostic, SourceManager
from tilewright.targets.numpy.api import Buffer, Grid, NumpyFault, Progress
from tilewright.targets.numpy.fault_codes import (
    ASSERTION,
    BARRIER_MISUSE,
    DATA_RACE,
    DEADLOCK,
    ENDLESS,
    MISALIGNED_TILE,
    OUT_OF_BOUNDS,
    READ_ONLY,
    SHAPE_MISMATCH,
    UNINITIALISED,
)

FaultKind: TypeAlias = Literal[
    "out of bounds",
    "read-only",
    "uninitialised",
    "race",
    "not arrived",
    "deadlock",
    "barrier",
    "schedule",
    "assertion",
    "shape",
    "endless",
    "misaligned",
    "division",
    "unwritten",
    "overlap",
    "capacity",
]

CODES: dict[FaultKind, str] = {
    "out of bounds": OUT_OF_BOUNDS,
    "read-only": READ_ONLY,
    "uninitialised": UNINITIALISED,
    "race": DATA_RACE,
    "not arrived": "TW6120",
    "deadlock": DEADLOCK,
    "barrier": BARRIER_MISUSE,
    "schedule": RESULT_DEPENDS_ON_SCHEDULE,
    "assertion": ASSERTION,
    "shape": SHAPE_MISMATCH,
    "endless": ENDLESS,
    "misaligned": MISALIGNED_TILE,
    "division": "TW6128",
    "unwritten": "TW6129",
    "overlap": "TW6141",
    "capacity": SHARED_MEMORY_EXCEEDED,
}

__all__ = ["CODES", "Buffer", "FaultKind", "TileFault", "TileOptions", "TileReport"]


@dataclass(frozen=True)
class TileOptions:
    """How to run."""

    checked: bool = True
    """Report uninitialised reads, indices out of bounds, races and bytes that have not arrived."""
    check_uninitialised: bool = True
    """Among these, report uninitialised reads; not for kernels that mask them later."""
    check_races: bool = True
    """Report two blocks that access one element of global memory, at least one of them writing."""
    check_capacity: bool = False
    """Report a kernel that needs more shared memory than its target offers per block."""
    schedules: int = 1
    """How many orders of events to try where there is more than one."""
    seed: int = 0
    """Of the first schedule; see `machine/schedule.py` for what seeds mean."""
    seeds: tuple[int, ...] | None = None
    """Exactly these schedules instead, compared with the first of them."""
    progress: Progress | None = None
    """Called with the number of finished blocks and of all blocks."""
    reachable: tuple[Buffer, ...] = ()
    """Arrays that the kernel may find by addresses, beside its arguments."""
    output: Callable[[str], None] | None = None
    """Takes the lines of `T.print`; None prints to standard output."""
    sources: SourceManager | None = None
    """Source text of the locations, for messages; None reads the files."""


@dataclass
class TileReport:
    """What happened in a launch."""

    programs: int = 0
    """Blocks of all launches of the function, once for each schedule."""
    schedules: int = 0
    is_concurrent: bool = False
    """Whether the order of events was a matter of choice."""
    not_analysed: list[str] = field(default_factory=list[str])
    """What the checks could not follow, and why."""
    left: dict[int, tuple[Any, Diagnostic]] = field(
        default_factory=lambda: dict[int, "tuple[Any, Diagnostic]"]()
    )
    """Elements of fresh arrays that no block wrote, by the position of the argument."""
    seconds: float = 0.0


class TileFault(NumpyFault):
    """The kernel did something it should not."""

    def __init__(
        self,
        kind: FaultKind,
        diagnostic: Diagnostic,
        program: Grid | None,
        sources: SourceManager | None,
        seed: int | None = None,
    ) -> None:
        self.kind: FaultKind = kind
        self.seed = seed
        """Of the schedule it happened in; None where there is only one."""
        super().__init__(diagnostic, program, sources)
