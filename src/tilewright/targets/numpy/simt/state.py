"""A convergent group of threads and its block.

A *frame* is a set of threads of one block that execute the same ops at the same time: all of them
at first, then those of a role. A value is an array with one element for each of its threads, or a
NumPy scalar if all agree. Where control flow diverges, `mask` selects the active threads; the
others compute along, but access no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.targets.numpy.reached import ReachedMemory
from tilewright.targets.numpy.simt.api import FaultKind, SimtOptions
from tilewright.targets.numpy.simt.clocks import Clocks, ClockSnapshot
from tilewright.targets.numpy.simt.machine import Groups, Machine
from tilewright.targets.numpy.simt.problems import Note, SimtRuntimeFault
from tilewright.targets.numpy.simt.shadow import Shadow

GROUP = 4 * NVIDIA_WARP
"""Threads of a warp group."""


@dataclass(eq=False)
class BlockRun:
    """One block of a launch while it runs."""

    index: tuple[int, int, int]
    grid: tuple[int, int, int]
    threads: int
    machine: Machine
    options: SimtOptions
    arena: Any
    """Its shared memory, in bytes."""
    granule: int = 1
    warp_size: int = NVIDIA_WARP
    """Lanes of a warp (AMD: a wave)."""
    has_narrow_barriers: bool = False
    """Whether some barriers order accesses to shared memory alone."""
    has_tensor_memory: bool = False
    blocks: int = 1
    """Blocks of the cluster."""
    waiting: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """First blocks of the clusters of the launch that have not run, the same for all blocks."""
    tensor_memory: Any = None
    """Columns of 128 lanes, of kernels that use them (`tensor_memory.TensorMemory`)."""
    spans: list[tuple[int, int, str, int]] = field(default_factory=list[tuple[int, int, str, int]])
    """First byte, end, name and element size of each shared buffer."""
    rank: int = 0
    """Its number in the cluster."""
    cluster: list[BlockRun] = field(default_factory=list["BlockRun"])
    """All blocks of the cluster, this one among them."""
    named: dict[int, Any] = field(default_factory=dict[int, Any])
    """Barriers that count threads, by number."""
    barriers: dict[object, Any] = field(default_factory=dict[object, Any])
    """Buffers of barriers: one for the block, made by the first role to reach its allocation."""
    tensors: dict[tuple[int, int], Shadow] = field(default_factory=dict[tuple[int, int], Shadow])
    """The last accesses to tensors that the kernel reads and writes, by address and itemsize."""
    stores: list[Groups] = field(default_factory=list[Groups])
    """Bulk stores of all threads: the block must have waited for them before it exits."""
    reached: ReachedMemory[Any] = field(default_factory=lambda: ReachedMemory[Any](()))
    """Memory of the launch that addresses may point into."""
    steps: int = 0
    ticks: int = 1
    """Counts writes to registers of MMAs, and fences, to order the two."""

    def __post_init__(self) -> None:
        forwarded = self.blocks if self.has_tensor_memory else 1
        self.clocks = Clocks(self.threads, self.warp_size, forwarded, self.has_tensor_memory)
        self.tensor_clocks = self.clocks
        """Those of accesses to tensors, which narrow barriers do not order."""
        if self.has_narrow_barriers:
            self.tensor_clocks = Clocks(self.threads, self.warp_size)
        self.shadow = Shadow(self.clocks, len(self.arena), self.granule, self.describe)
        self.cluster_clocks = self.clocks.nothing()
        """The clocks that threads released on arrival at the cluster barrier."""
        self.cluster = self.cluster or [self]

    def take_cluster(self) -> tuple[int, int, int] | None:
        """Cancel the launch of a cluster: the next one, if there is any."""
        return self.waiting.pop(0) if self.waiting else None

    def describe(self, address: int) -> str:
        """The element at a byte of shared memory."""
        for first, end, name, size in reversed(self.spans):
            if first <= address < end:
                return f"{name}[{(address - first) // size}]"
        return f"byte {address} of shared memory"

    def count_step(self) -> None:
        self.steps += 1
        if self.steps > self.options.max_steps:
            raise SimtRuntimeFault(
                "endless", f"the block did not terminate within {self.options.max_steps} ops"
            )


@dataclass(eq=False)
class Frame:
    """Threads in lockstep."""

    block: BlockRun
    tids: Any
    """Their numbers in the block."""
    env: list[Any]
    """Values by slot."""
    name: str = "block"
    mask: Any = None
    """The active threads; None for all."""
    op: Operation | None = None
    """What is being executed."""
    copies: Groups = field(default_factory=Groups)
    """cp.async."""
    mmas: Groups = field(default_factory=Groups)
    stores: dict[int, Groups] = field(default_factory=dict[int, Groups])
    """Bulk stores of each thread that issued some."""
    lds_copies: dict[int, Groups] = field(default_factory=dict[int, Groups])
    """Copies from global memory to LDS of each wave, each a group of its own."""
    cluster_waits: int = 0
    """How many cluster barriers these threads have waited for."""
    fence_time: int = 0
    """When the last `wgmma.fence` was."""

    def __post_init__(self) -> None:
        self.count = len(self.tids)
        first, last = int(self.tids[0]), int(self.tids[-1])
        is_run = last - first + 1 == self.count
        self.rows: Any = slice(first, last + 1) if is_run else self.tids
        """Their rows in an array with one row per thread of the block."""
        self.all = np.ones(self.count, np.bool_)
        self.warp_size = self.block.warp_size
        self.warps = np.unique(self.tids // self.warp_size)

    # -- threads -------------------------------------------------------------------------------

    @property
    def active(self) -> Any:
        """A bool for each thread."""
        return self.all if self.mask is None else self.mask

    @property
    def active_tids(self) -> Any:
        return self.tids if self.mask is None else self.tids[self.mask]

    @property
    def active_warps(self) -> Any:
        return self.warps if self.mask is None else np.unique(self.active_tids // self.warp_size)

    def whole_warps(self, what: str, lanes: int | None = None) -> Any:
        """The warps that take part, each with all lanes; or `what` cannot run.

        With `lanes`, parts of warps of so many.
        """
        tids, size = self.active_tids, lanes or self.warp_size
        groups, counts = np.unique(tids // size, return_counts=True)
        full = np.minimum(size, self.block.threads - groups * size)
        if (counts != full).any():
            first = int(groups[np.argmax(counts != full)]) * size
            raise self.problem(
                "divergent",
                f"{what} needs all lanes of a warp, but only some lanes of warp "
                f"{first // self.warp_size} reach it",
            )
        return groups

    def whole_groups(self, what: str) -> list[int]:
        """First warps of the warp groups that take part."""
        warps = self.whole_warps(what)
        groups, counts = np.unique(warps // 4, return_counts=True)
        if (counts != 4).any():
            raise self.problem("divergent", f"{what} needs all four warps of a warp group")
        return [int(each) * 4 for each in groups]

    def leader(self, what: str) -> int:
        """The position of the only thread that takes part."""
        found = np.flatnonzero(self.active)
        if len(found) != 1:
            raise self.problem(
                "divergent",
                f"{what} must be issued by one thread, but {len(found)} threads reach it",
            )
        return int(found[0])

    def signal_of(self, position: int) -> ClockSnapshot:
        warp = int(self.tids[position]) // self.warp_size
        clocks = self.block.clocks
        return ClockSnapshot(clocks.observed[warp].copy(), clocks.fenced[warp].copy())

    # -- values --------------------------------------------------------------------------------

    def wide(self, value: Any) -> Any:
        """A value as an array with one element per thread."""
        return value if value.ndim else np.broadcast_to(value, (self.count,))

    def uniform(self, value: Any, what: str) -> int:
        """A number that all active threads agree on."""
        if not value.ndim:
            return int(value)
        chosen = value[self.active]
        if (chosen != chosen[0]).any():
            raise self.problem("divergent", f"threads have different values of {what}")
        return int(chosen[0])

    def tick(self) -> int:
        self.block.ticks += 1
        return self.block.ticks

    def problem(
        self, kind: FaultKind, message: str, notes: Sequence[Note] = ()
    ) -> SimtRuntimeFault:
        return SimtRuntimeFault(kind, message, self.op, notes)
