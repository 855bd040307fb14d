"""What both executors take and return: options, results, findings and traffic.

A run is deterministic for a seed: the order in which kernels advance and the moments at which
queued NoC transfers are performed are drawn from it. Results may not depend on the seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING

from tilewright.targets.tenstorrent.program import Core

if TYPE_CHECKING:
    from tilewright.targets.tenstorrent.timing import TimedRun


class Numerics(Enum):
    """How arithmetic rounds."""

    EXACT = "exact"
    """fp32 throughout; a format rounds only when a tile is packed."""
    DEVICE = "device"
    """Operands truncated as the unpacker does, DST rounded to 16 bits unless fp32 is enabled."""


class Check(Enum):
    """A sanitizer; its value names it in reports and in `RunOptions.off`."""

    OVER_RESERVE = "over-reserve"
    OVER_WAIT = "over-wait"
    PUSH_WITHOUT_RESERVE = "push-without-reserve"
    POP_WITHOUT_WAIT = "pop-without-wait"
    STRADDLING_WRAP = "straddling-wrap"
    UNDEFINED_DST = "undefined-dst"
    UNUSED_DST = "unused-dst"
    UNPOPPED_PAGES = "unpopped-pages"
    UNPUSHED_READ = "unpushed-read"
    POISONED_READ = "poisoned-read"
    UNWRITTEN_PAGE = "unwritten-page"
    PUSH_BEFORE_BARRIER = "push-before-barrier"
    POP_BEFORE_WRITE = "pop-before-write"
    DST_SECTION = "dst-section"
    DST_RANGE = "dst-range"
    MISSING_INIT = "missing-init"
    MISALIGNED = "misaligned"
    PAGE_RANGE = "page-range"
    OUTSIDE_WINDOW = "outside-window"
    TWO_WRITERS = "two-writers"
    UNORDERED_ACCESS = "unordered-access"
    UNWRITTEN_OUTPUT = "unwritten-output"
    SEMAPHORE_OWNER = "semaphore-owner"
    MULTICAST_COUNT = "multicast-count"
    ARGUMENT_RANGE = "argument-range"
    DEADLOCK = "deadlock"
    BAD_ADDRESS = "bad-address"

    @property
    def code(self) -> str:
        """The code of its reports."""
        return _CODES[self]


_CODES = {
    Check.DEADLOCK: "TW7201",
    Check.OVER_RESERVE: "TW7202",
    Check.OVER_WAIT: "TW7203",
    Check.PUSH_WITHOUT_RESERVE: "TW7204",
    Check.POP_WITHOUT_WAIT: "TW7205",
    Check.STRADDLING_WRAP: "TW7206",
    Check.UNPOPPED_PAGES: "TW7207",
    Check.UNPUSHED_READ: "TW7208",
    Check.POISONED_READ: "TW7209",
    Check.UNWRITTEN_PAGE: "TW7210",
    Check.PUSH_BEFORE_BARRIER: "TW7211",
    Check.POP_BEFORE_WRITE: "TW7212",
    Check.DST_SECTION: "TW7213",
    Check.DST_RANGE: "TW7214",
    Check.UNDEFINED_DST: "TW7215",
    Check.MISSING_INIT: "TW7216",
    Check.MISALIGNED: "TW7217",
    Check.PAGE_RANGE: "TW7218",
    Check.OUTSIDE_WINDOW: "TW7219",
    Check.TWO_WRITERS: "TW7220",
    Check.UNWRITTEN_OUTPUT: "TW7221",
    Check.SEMAPHORE_OWNER: "TW7222",
    Check.MULTICAST_COUNT: "TW7223",
    Check.ARGUMENT_RANGE: "TW7224",
    Check.BAD_ADDRESS: "TW7225",
    Check.UNUSED_DST: "TW7226",
    Check.UNORDERED_ACCESS: "TW7227",
}


@dataclass(frozen=True)
class RunOptions:
    """How a program is executed."""

    seed: int = 0
    numerics: Numerics = Numerics.EXACT
    off: frozenset[Check] = frozenset()
    """Sanitizers that do not report."""
    max_findings: int = 20
    timeout_seconds: float = 120.0
    """Processor time after which a run ends with a deadlock report."""
    keep_l1: bool = False
    """Whether the result holds the L1 of every active core."""
    trace: bool = False
    """Whether the result holds the events of the run."""
    timed: bool = False
    """Whether the result holds the cycles of an event-driven run of the same program."""


@dataclass(frozen=True)
class Finding:
    """One report of a sanitizer."""

    check: Check
    message: str
    core: Core | None = None
    kernel: str | None = None
    line: int | None = None
    """Line of the kernel's source, if known."""
    file: str | None = None
    """The file of that line; None for the kernel's own source."""
    column: int = 1

    def __str__(self) -> str:
        where = f"core ({self.core[0]},{self.core[1]}) " if self.core is not None else ""
        at = f" line {self.line}" if self.line else ""
        kernel = f"{self.kernel}{at}: " if self.kernel is not None else ""
        return f"{where}{kernel}{self.message} [{self.check.value}]"


@dataclass(frozen=True)
class Traffic:
    """Counted transfers, in the units of the plan file."""

    dram_page_reads: int = 0
    dram_page_writes: int = 0
    multicast_pages: int = 0
    dram_read_bytes: int = 0
    dram_write_bytes: int = 0
    noc_bytes: int = 0
    """Bytes between cores, a multicast counted once for each destination."""
    l1_page_reads: int = 0
    """Pages of sharded tensors that were read over the NoC."""
    l1_page_writes: int = 0
    """Pages of sharded tensors that were written over the NoC."""


class EventKind(Enum):
    """What happened in a traced run."""

    BLOCK = "block"
    RESUME = "resume"
    PUSH = "push"
    POP = "pop"
    ISSUE = "issue"
    DONE = "done"


@dataclass(frozen=True)
class Event:
    """One event of a traced run; events are in the order in which they happened."""

    kind: EventKind
    core: Core
    kernel: str
    line: int
    key: int
    """The circular buffer of a push or pop, the id of a transfer."""
    text: str
    """The call that blocks, the page count of a push or pop, the transfer."""


@dataclass(frozen=True)
class RunResult:
    """The outcome of one run."""

    buffers: Mapping[str, bytes]
    """The pages of every buffer, in page order."""
    findings: tuple[Finding, ...] = ()
    traffic: Traffic = field(default_factory=Traffic)
    page_reads: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Pages that were read from every buffer in DRAM, by its name."""
    prints: tuple[str, ...] = ()
    """Lines that kernels printed, each with its core."""
    l1: Mapping[Core, bytes] = field(default_factory=lambda: MappingProxyType({}))
    """L1 of every active core after the run, if the caller requested them."""
    switches: int = 0
    """Switches between kernels."""
    events: tuple[Event, ...] = ()
    """What happened, if the run was traced."""
    timing: TimedRun | None = None
    """Cycles of the cost model, if the caller requested them; never of the run itself."""
    launches: tuple[RunResult, ...] = ()
    """The results of the launches, if there were several."""

    def raise_for_findings(self) -> RunResult:
        """This result, if no sanitizer reported.

        Raises:
            ExecutionError: with every finding.
        """
        if self.findings:
            raise ExecutionError(self.findings)
        return self


class ExecutionError(RuntimeError):
    """A run in which sanitizers reported."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        super().__init__("\n".join(str(each) for each in findings))
