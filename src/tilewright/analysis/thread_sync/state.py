"""Convergent threads, and the block they belong to.

A *frame* is a set of threads of one block that run the same ops: all of them at first, then those
of a role. Where control flow diverges, `mask` selects the active threads; the others compute along,
but access no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Groups
from tilewright.analysis.thread_sync.arena import Arena, BufferSpan
from tilewright.analysis.thread_sync.barriers import PhaseBarrier, ThreadBarrier
from tilewright.analysis.thread_sync.clocks import GROUP, Clocks, ClockSnapshot
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.origins import Origin
from tilewright.analysis.thread_sync.shadow import Landing, ShadowMemory
from tilewright.analysis.thread_sync.thread_accesses import (
    CODE,
    MANY,
    TOGETHER,
    AccessBatch,
    ThreadAccess,
)
from tilewright.analysis.thread_sync.values import Value
from tilewright.dialects.type_utils import num_elements

Triple: TypeAlias = tuple[int, int, int]
_ELEMENT = 512
"""The difference of the values assumed for adjacent elements of a tensor."""


@dataclass
class Budget:
    """The step limit, and how loops are shortened."""

    steps: int
    is_short: bool = True
    """Whether the middle of long loops is left out."""
    guess: Operation | None = None
    """A loop or branch that depends on a run-time value, and was executed as a guess."""
    left_out: dict[object, dict[int, int]] = field(default_factory=dict[object, dict[int, int]])
    """By the family of a loop and its trip count, how many iterations were skipped."""
    is_made_up: bool = False
    """Whether argument values are assumed: indices may then be too large."""
    too_great: frozenset[Origin] = frozenset()
    """Origins whose assumed values may exceed those of every caller."""
    elements_are_zero: bool = False

    def element(self, offset: int) -> int:
        """The assumed value of an element of a tensor."""
        self.is_made_up = True
        return 0 if self.elements_are_zero else _ELEMENT * (offset + 1)

    def spend(self, op: Operation, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise NotAnalysedError(op, "the kernel exceeds the step limit of the analysis")


@dataclass
class RegisterState:
    """An array of registers that MMAs read or write."""

    writing: int = 0
    """MMAs in flight that write it."""
    reading: int = 0
    is_unfenced: bool = False
    changed: int = 0
    """The time of the last write by threads."""
    op: Operation | None = None
    """The last MMA."""


@dataclass(eq=False)
class BlockState:
    """The state of one block."""

    arena: Arena
    threads: int
    warp_size: int
    index: Triple
    grid: Triple
    rank: int
    cluster: list[BlockState]
    """All blocks of the cluster, this one among them."""
    budget: Budget
    op_indices: dict[tuple[Operation, str], int] = field(
        default_factory=dict[tuple[Operation, str], int]
    )
    ops: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """Ops that accessed shared memory, and the buffers they used."""
    named: dict[int, ThreadBarrier] = field(default_factory=dict[int, ThreadBarrier])
    stores: list[Groups[Any]] = field(default_factory=list[Groups[Any]])
    """Bulk stores of all threads: a thread must wait for them before it exits."""
    skipped: list[Operation] = field(default_factory=list[Operation])
    """Writes whose address or condition is a run-time value."""
    has_tensor_memory: bool = False
    blocks: int = 1
    """Of the cluster."""
    tensor_memory: Any = None
    """Columns of 128 lanes (`tensor_core.TensorState`), made by the first op that uses them."""

    def __post_init__(self) -> None:
        rows = [alloc.result for alloc in self.arena.barriers]
        sizes = [num_elements(each.type) for each in rows]
        self.clocks = Clocks(
            self.threads,
            self.warp_size,
            sum(sizes),
            blocks=self.blocks,
            has_tensor_memory=self.has_tensor_memory,
        )
        self.regions = [ShadowMemory(plan, self.clocks, self.ops) for plan in self.arena.regions]
        self.barriers: dict[SSAValue, list[PhaseBarrier | None]] = {
            each: [None] * size for each, size in zip(rows, sizes, strict=True)
        }
        self.barrier_agent: dict[SSAValue, int] = {}
        agent = self.clocks.first_barrier
        for each, size in zip(rows, sizes, strict=True):
            self.barrier_agent[each] = agent
            agent += size
        self.instances = TOGETHER
        self.cluster_signal = self.clocks.nothing()
        """The clocks that threads released at the cluster barrier."""

    @property
    def arrivals(self) -> int:
        """The arrivals of all its threads at a barrier, which counts lanes of warps."""
        return self.clocks.warps * self.warp_size

    def op_index(self, op: Operation, buffer: str) -> int:
        found = self.op_indices.get((op, buffer))
        if found is None:
            found = self.op_indices[op, buffer] = len(self.ops)
            self.ops.append((op, buffer))
        return found

    def all_barriers(self) -> list[PhaseBarrier]:
        return [each for row in self.barriers.values() for each in row if each is not None]


def distinct(values: Any) -> Any:
    """The elements of an array, each once, in order: `numpy.unique`, which loads masked arrays."""
    ordered = np.sort(values, axis=None)
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


class Frame:
    """Convergent threads."""

    def __init__(self, block: BlockState, tids: Any, env: list[Value], name: str = "") -> None:
        self.block, self.tids, self.env, self.name = block, tids, env, name
        self.clocks = block.clocks
        self.count = len(tids)
        self.warp_size = block.warp_size
        self.codes: Any = tids // self.warp_size * CODE + tids % self.warp_size
        self.warps: Any = distinct(tids // self.warp_size)
        self.mask: Any = None
        """The active threads; None is all of them."""
        self.is_unsure = False
        """Whether execution depends on a run-time condition."""
        self.iterations: list[tuple[Operation, int]] = []
        self.copies, self.mmas = Groups[Any](), Groups[Any]()
        self.stores: dict[int, Groups[Any]] = {}
        self.lds_copies: dict[int, Groups[Any]] = {}
        """Copies from global memory to LDS of each wave, each a group of its own."""
        self.registers: dict[SSAValue, RegisterState] = {}
        self.held: dict[SSAValue, dict[int, Any]] = {}
        """Registers whose values matter."""
        self.split: Sequence[tuple[Any, Any, str]] = ()
        """Set where roles begin: the code, the threads and the name of each."""
        self.fence_time = self.time = 0
        self.cluster_waits = 0
        self._batches: dict[int, AccessBatch] = {}
        self._visits: dict[int, int] = {}
        """How many times threads reached an op that writes, by its index."""
        self._masked: tuple[Any, Any] = (None, None)
        """The last mask, and its warps."""

    # -- threads -------------------------------------------------------------------------------

    @property
    def active_codes(self) -> Any:
        return self.codes if self.mask is None else self.codes[self.mask]

    @property
    def active_count(self) -> int:
        return self.count if self.mask is None else int(np.count_nonzero(self.mask))

    @property
    def active_warps(self) -> Any:
        if self.mask is None:
            return self.warps
        if self.mask is not self._masked[0]:
            warps = np.flatnonzero(np.bincount(self.tids[self.mask] // self.warp_size))
            self._masked = self.mask, warps
        return self._masked[1]

    def groups(self) -> list[int]:
        """First warps of the active warp groups."""
        return sorted({int(each) // GROUP * GROUP for each in self.active_warps})

    def value_of_group(self, value: Value, first: int) -> Value:
        """The common value of the threads of a warp group."""
        if value is None or isinstance(value, int):
            return value
        return int(value[int(np.searchsorted(self.tids, first * self.warp_size))])

    def leader(self) -> int | None:
        """The position of the active thread, if it is only one."""
        if self.mask is None:
            return 0 if self.count == 1 else None
        found = np.flatnonzero(self.mask)
        return int(found[0]) if len(found) == 1 else None

    def uniform(self, op: Operation, value: Value, what: str) -> int:
        """An integer that is uniform over the active threads."""
        if isinstance(value, int):
            return int(value)
        if value is None:
            raise NotAnalysedError(op, f"{what} is a run-time value")
        chosen = value if self.mask is None else value[self.mask]
        if (chosen != chosen[0]).any():
            raise NotAnalysedError(op, f"{what} differs between threads")
        return int(chosen[0])

    def tick(self) -> int:
        self.time += 1
        return self.time

    def where(self) -> str:
        """The current iterations of the enclosing loops."""
        return ", ".join(f"iteration {op_index}" for _, op_index in self.iterations)

    # -- memory --------------------------------------------------------------------------------

    def access(
        self,
        op: Operation,
        kind: str,
        region: int,
        span: BufferSpan,
        address: Value,
        size: int,
        *,
        matrices: int = 0,
        is_atomic: bool = False,
    ) -> None:
        """Threads access `size` bytes each, from `address` on.

        With `matrices`, lanes of whole warps address the rows of so many, and share the accesses.
        """
        if address is None or self.is_unsure:
            if kind != "reads":
                self.block.skipped.append(op)
            return
        history = self.block.regions[region]
        codes = self.active_codes
        if isinstance(address, int):
            start = np.full(len(codes), address)
        else:
            start = address if self.mask is None else address[self.mask]
        if matrices:
            named = codes % CODE < 8 * matrices
            start, codes = start[named], codes[named] // CODE * CODE + MANY
        if not len(start):
            return
        low, end = int(start.min()), int(start.max()) + size
        if low < span.first or end > span.end:
            self._leave(op, span, low, end)
            return
        cells = start // history.cell_bytes - history.origin
        steps = max(1, size // history.cell_bytes)
        if steps > 1:
            cells = (cells[:, None] + np.arange(steps)).ravel()
            codes = np.repeat(codes, steps)
        self.block.instances += 1
        op_index = self.block.op_index(op, span.name)
        if is_atomic:
            history.updates.add(op_index)
        instance = TOGETHER if is_atomic else self.block.instances
        batch = self._batches.get(region)
        if batch is None:
            batch = self._batches[region] = AccessBatch()
        visit = 0
        if kind == "writes":
            visit = self._visits[op_index] = self._visits.get(op_index, 0) + 1
        found = ThreadAccess(op, op_index, instance, span.name, cells, codes, span.storage, visit)
        getattr(batch, kind).append(found)

    def _leave(self, op: Operation, span: BufferSpan, low: int, end: int) -> None:
        """An access is out of bounds of its buffer.

        With assumed arguments it may be that no caller passes such values: then the access is left
        out, since it would be in another buffer, or another row.
        """
        if self.block.budget.is_made_up:
            return
        raise FaultError(
            SyncFault(
                FaultKind.OUTSIDE,
                op,
                f"out-of-bounds access: bytes {low} to {end - 1} of shared memory, but {span.name} "
                f"is at bytes {span.first} to {span.end - 1}",
                (
                    (
                        None,
                        "help: keep the index inside of the buffer, or enlarge the buffer; a "
                        "run with target='numpy' names the element",
                    ),
                ),
            )
        )

    def by_engine(
        self,
        op: Operation,
        region: int,
        span: BufferSpan,
        cells: Any,
        block: BlockState | None = None,
    ) -> ThreadAccess | None:
        """An access by an asynchronous unit, here or in another block: cells of the shadow
        region, in rising order."""
        block = block or self.block
        history = block.regions[region]
        first, end = int(cells[0]), int(cells[-1]) + 1
        low = (first + history.origin) * history.cell_bytes
        last = (end - 1 + history.origin) * history.cell_bytes
        if low < span.first or last >= span.end:
            self._leave(op, span, low, last + history.cell_bytes)
            return None
        block.instances += 1
        op_index = block.op_index(op, span.name)
        run = slice(first, end) if end - first == len(cells) else None
        return ThreadAccess(
            op, op_index, block.instances, span.name, cells, None, span.storage, run=run
        )

    # -- order ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Check the accesses of threads since their clocks last changed."""
        for region, batch in self._batches.items():
            if batch:
                landing: Landing | None = self.block.regions[region].record(batch)
                if landing is not None:
                    self.copies.open.append(landing)
                self._batches[region] = AccessBatch()

    def release(self) -> ClockSnapshot:
        self.flush()
        return self.clocks.release(self.active_warps)

    def acquire(self, signal: ClockSnapshot) -> None:
        self.flush()
        self.clocks.acquire(self.active_warps, signal)
