"""The threads that run in step, and the block they belong to.

A *frame* is a set of threads of one block that run the same ops: all of them at first, then those
of a role. Where control flow diverges, `mask` says who takes part; the others compute along, but
touch no memory.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.thread_sync.arena import Arena, BufferSpan
from tilewright.analysis.thread_sync.barriers import NamedBarrier, PhaseBarrier
from tilewright.analysis.thread_sync.clocks import GROUP, WARP, Clocks, ClockSnapshot
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.origins import Origin
from tilewright.analysis.thread_sync.shadow import Landing, Slab
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
"""How far numbers that are made up for neighbouring elements of a tensor lie apart."""


@dataclass(frozen=True)
class Wait:
    """Why a task does not go on."""

    op: Operation
    text: str
    is_over: Callable[[], bool]
    barrier: PhaseBarrier | NamedBarrier
    frame: Frame

    @property
    def threads(self) -> Any:
        """Who waits."""
        return self.frame.tids if self.frame.mask is None else self.frame.tids[self.frame.mask]

    @property
    def is_partial(self) -> bool:
        """Whether threads that do not wait are held up."""
        return self.frame.mask is not None


Steps: TypeAlias = Generator[Wait, None, None]


@dataclass
class Budget:
    """How much may be run, and how loops are shortened."""

    steps: int
    is_short: bool = True
    """Whether the middle of long loops is left out."""
    guess: Operation | None = None
    """A loop or branch that was followed, though only the run knows how."""
    left_out: dict[object, dict[int, int]] = field(default_factory=dict[object, dict[int, int]])
    """By the family of a loop and its turns, how many were left out."""
    is_made_up: bool = False
    """Whether numbers of the caller stand for others: indices may then be too great."""
    too_great: frozenset[Origin] = frozenset()
    """What was chosen greater than every caller may have it."""
    elements_are_zero: bool = False

    def element(self, place: int) -> int:
        """A number for an element of a tensor."""
        self.is_made_up = True
        return 0 if self.elements_are_zero else _ELEMENT * (place + 1)

    def spend(self, op: Operation, steps: int) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise NotAnalysedError(op, "the kernel takes too many steps to be followed")


@dataclass
class Groups:
    """Operations that are waited for by counting."""

    open: list[Any] = field(default_factory=list[Any])
    committed: list[list[Any]] = field(default_factory=list[list[Any]])

    def commit(self) -> None:
        self.committed.append(self.open)
        self.open = []

    def forget(self, leave: int) -> list[Any]:
        """What a wait covers that leaves so many groups under way."""
        count = max(len(self.committed) - leave, 0)
        found = [each for group in self.committed[:count] for each in group]
        del self.committed[:count]
        return found

    def all(self) -> list[Any]:
        return [*self.open, *(each for group in self.committed for each in group)]


@dataclass
class RegisterState:
    """An array of registers that products read or write."""

    writing: int = 0
    """Products under way that write it."""
    reading: int = 0
    is_unsettled: bool = False
    changed: int = 0
    """When threads last wrote it."""
    op: Operation | None = None
    """The last product."""


@dataclass(eq=False)
class BlockState:
    """One block while it runs."""

    arena: Arena
    threads: int
    index: Triple
    grid: Triple
    rank: int
    cluster: list[BlockState]
    """All blocks of the cluster, this one among them."""
    budget: Budget
    numbers: dict[tuple[Operation, str], int] = field(
        default_factory=dict[tuple[Operation, str], int]
    )
    ops: list[tuple[Operation, str]] = field(default_factory=list[tuple[Operation, str]])
    """Ops that touched shared memory, and the buffers they named."""
    named: dict[int, NamedBarrier] = field(default_factory=dict[int, NamedBarrier])
    stores: list[Groups] = field(default_factory=list[Groups])
    """Bulk stores of all threads: whoever ends has to have waited for them."""
    skipped: list[Operation] = field(default_factory=list[Operation])
    """Writes whose place, or whose condition, only the run knows."""

    def __post_init__(self) -> None:
        rows = [alloc.result for alloc in self.arena.barriers]
        sizes = [num_elements(each.type) for each in rows]
        self.clocks = Clocks(self.threads, sum(sizes))
        self.slabs = [Slab(plan, self.clocks, self.ops) for plan in self.arena.slabs]
        self.barriers: dict[SSAValue, list[PhaseBarrier | None]] = {
            each: [None] * size for each, size in zip(rows, sizes, strict=True)
        }
        self.barrier_agent: dict[SSAValue, int] = {}
        agent = self.clocks.first_barrier
        for each, size in zip(rows, sizes, strict=True):
            self.barrier_agent[each] = agent
            agent += size
        self.instances = TOGETHER
        self.meeting = self.clocks.nothing()
        """What threads told when they came to the cluster's barrier."""

    def number(self, op: Operation, buffer: str) -> int:
        found = self.numbers.get((op, buffer))
        if found is None:
            found = self.numbers[op, buffer] = len(self.ops)
            self.ops.append((op, buffer))
        return found

    def all_barriers(self) -> list[PhaseBarrier]:
        return [each for row in self.barriers.values() for each in row if each is not None]


class Frame:
    """Threads in step."""

    def __init__(self, block: BlockState, tids: Any, env: list[Value], name: str = "") -> None:
        self.block, self.tids, self.env, self.name = block, tids, env, name
        self.clocks = block.clocks
        self.count = len(tids)
        self.codes: Any = tids // WARP * CODE + tids % WARP
        self.warps: Any = np.unique(tids // WARP)
        self.mask: Any = None
        """Who takes part; None is everybody."""
        self.is_unsure = False
        """Whether a condition that only the run knows decides if this happens."""
        self.turns: list[tuple[Operation, int]] = []
        self.copies, self.products = Groups(), Groups()
        self.stores: dict[int, Groups] = {}
        self.registers: dict[SSAValue, RegisterState] = {}
        self.held: dict[SSAValue, dict[int, Any]] = {}
        """Registers whose numbers matter."""
        self.split: Sequence[tuple[Any, Any, str]] = ()
        """Set where roles begin: the code, the threads and the name of each."""
        self.fence_time = self.time = 0
        self.cluster_waits = 0
        self._batches: dict[int, AccessBatch] = {}
        self._visits: dict[int, int] = {}
        """How often threads came to an op that writes, by its number."""
        self._masked: tuple[Any, Any] = (None, None)
        """The last mask, and its warps."""

    # -- who -----------------------------------------------------------------------------------

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
            warps = np.flatnonzero(np.bincount(self.tids[self.mask] // WARP))
            self._masked = self.mask, warps
        return self._masked[1]

    def groups(self) -> list[int]:
        """First warps of the warp groups that take part."""
        return sorted({int(each) // GROUP * GROUP for each in self.active_warps})

    def value_of_group(self, value: Value, first: int) -> Value:
        """What the threads of a warp group agree on."""
        if value is None or isinstance(value, int):
            return value
        return int(value[int(np.searchsorted(self.tids, first * WARP))])

    def leader(self) -> int | None:
        """The position of the thread that takes part, if it is only one."""
        if self.mask is None:
            return 0 if self.count == 1 else None
        found = np.flatnonzero(self.mask)
        return int(found[0]) if len(found) == 1 else None

    def uniform(self, op: Operation, value: Value, what: str) -> int:
        """A number that all active threads agree on."""
        if isinstance(value, int):
            return int(value)
        if value is None:
            raise NotAnalysedError(op, f"only the run knows {what}")
        chosen = value if self.mask is None else value[self.mask]
        if (chosen != chosen[0]).any():
            raise NotAnalysedError(op, f"threads disagree on {what}")
        return int(chosen[0])

    def tick(self) -> int:
        self.time += 1
        return self.time

    def where(self) -> str:
        """The turns of loops that threads are in."""
        return ", ".join(f"turn {number}" for _, number in self.turns)

    # -- memory --------------------------------------------------------------------------------

    def touch(
        self,
        op: Operation,
        deed: str,
        slab: int,
        place: BufferSpan,
        address: Value,
        size: int,
        *,
        matrices: int = 0,
        is_atomic: bool = False,
    ) -> None:
        """Threads access `size` bytes each, from `address` on.

        With `matrices`, lanes of whole warps name the rows of so many, and share what they move.
        """
        if address is None or self.is_unsure:
            if deed != "reads":
                self.block.skipped.append(op)
            return
        history = self.block.slabs[slab]
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
        low, behind = int(start.min()), int(start.max()) + size
        if low < place.first or behind > place.behind:
            self._leave(op, place, low, behind)
            return
        granules = start // history.granule - history.origin
        steps = max(1, size // history.granule)
        if steps > 1:
            granules = (granules[:, None] + np.arange(steps)).ravel()
            codes = np.repeat(codes, steps)
        self.block.instances += 1
        number = self.block.number(op, place.name)
        if is_atomic:
            history.updates.add(number)
        instance = TOGETHER if is_atomic else self.block.instances
        batch = self._batches.get(slab)
        if batch is None:
            batch = self._batches[slab] = AccessBatch()
        visit = 0
        if deed == "writes":
            visit = self._visits[number] = self._visits.get(number, 0) + 1
        found = ThreadAccess(
            op, number, instance, place.name, granules, codes, place.storage, visit
        )
        getattr(batch, deed).append(found)

    def _leave(self, op: Operation, place: BufferSpan, low: int, behind: int) -> None:
        """An access is not in its buffer.

        With numbers of a caller that were made up it may be that no caller gives such: then the
        access is left out, for what it meets is another buffer's, or another row's.
        """
        if self.block.budget.is_made_up:
            return
        raise FaultError(
            SyncFault(
                FaultKind.OUTSIDE,
                op,
                f"touches bytes {low} to {behind - 1} of shared memory, but {place.name} lies in "
                f"bytes {place.first} to {place.behind - 1}",
                (
                    (
                        None,
                        "help: keep the index inside of the buffer, or make the buffer larger; a "
                        "run with target='numpy' names the element",
                    ),
                ),
            )
        )

    def by_engine(
        self,
        op: Operation,
        slab: int,
        place: BufferSpan,
        granules: Any,
        block: BlockState | None = None,
    ) -> ThreadAccess | None:
        """What an engine touches, here or in another block: granules of the slab."""
        block = block or self.block
        history = block.slabs[slab]
        low = (int(granules.min()) + history.origin) * history.granule
        last = (int(granules.max()) + history.origin) * history.granule
        if low < place.first or last >= place.behind:
            self._leave(op, place, low, last + history.granule)
            return None
        block.instances += 1
        number = block.number(op, place.name)
        return ThreadAccess(op, number, block.instances, place.name, granules, None, place.storage)

    # -- order ---------------------------------------------------------------------------------

    def flush(self) -> None:
        """Look at what threads did since their knowledge last changed."""
        for slab, batch in self._batches.items():
            if batch:
                landing: Landing | None = self.block.slabs[slab].settle(batch)
                if landing is not None:
                    self.copies.open.append(landing)
                self._batches[slab] = AccessBatch()

    def release(self) -> ClockSnapshot:
        self.flush()
        return self.clocks.release(self.active_warps)

    def acquire(self, signal: ClockSnapshot) -> None:
        self.flush()
        self.clocks.acquire(self.active_warps, signal)
