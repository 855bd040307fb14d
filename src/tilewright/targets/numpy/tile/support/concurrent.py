"""Blocks whose events have more than one legal order: roles, asynchronous copies, barriers.

Generated code is then a generator: it yields where other tasks may run. Tile ops are atomic, in the
order of each role; between them the schedule decides (`machine`). The memory that an asynchronous
operation accesses is pending until its completion happens before the issuer's next access:

- an operation that belongs to a group, until the wait that covers the group;
- one that reports to a barrier, until its bytes are completed. The schedule completes late enough
  that a task that does not wait for the barrier accesses pending memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from typing_extensions import override

from tilewright.analysis.concurrency import (
    BarrierMisuse,
    Groups,
    Machine,
    MBarrier,
    NamedBarrier,
    Operation,
    Steps,
    Task,
    Wait,
)
from tilewright.dialects.tile.warps import role_text
from tilewright.targets.numpy.tile.support.block import BlockState, Runtime
from tilewright.targets.numpy.tile.support.block_races import BlockLog
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.bulk import check_tma_start
from tilewright.targets.numpy.tile.support.compute import multiply
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.movement import TileLike, move
from tilewright.targets.numpy.tile.support.pending import PendingWrite
from tilewright.targets.numpy.tile.support.pointers import Pointer, ThreadCopy
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region

COPIES, GEMMS = "copies", "gemms"


@dataclass(eq=False)
class Barriers:
    """A row of memory barriers."""

    name: str
    items: list[MBarrier]
    site: int | None
    is_explicit: bool
    """Whether the kernel issues expect-tx itself; otherwise a copy does so for its own bytes."""

    def at(self, index: Any) -> MBarrier:
        position = int(index)
        if 0 <= position < len(self.items):
            return self.items[position]
        raise RuntimeFault(
            "out of bounds",
            f"barrier index out of bounds: {self.name}[{position}], but {self.name} has "
            f"{count_text(len(self.items), 'barrier')}",
            [Note(f"{self.name} is allocated here", self.site)],
        )


@dataclass(eq=False)
class _Issued:
    """The operations that one task has in flight."""

    copies: Groups[Operation] = field(default_factory=Groups[Operation])
    stores: Groups[Operation] = field(default_factory=Groups[Operation])
    gemms: Groups[Operation] = field(default_factory=Groups[Operation])


def _calls(wait: str) -> Callable[[], str]:
    return lambda: f"call {wait} before this"


def _fix(barrier: MBarrier | None, target: TileSlice) -> Callable[[], str]:
    """What to do about an access that does not wait for a copy."""
    if barrier is None:
        return _calls("T.tma_store_wait(0)" if target.buffer.is_global else "T.ptx_wait_group(0)")
    phase = barrier.phase

    def fix() -> str:
        if barrier.phase == phase:
            return f"call T.mbarrier_wait_parity({barrier.name}, {phase & 1}) before this"
        return (
            f"phase {phase} of {barrier.name} completed before the copy did: make the expect-tx "
            "byte count equal to the bytes that the copies complete"
        )

    return fix


class ConcurrentRuntime(Runtime):
    """The blocks of a launch on a machine."""

    def __init__(
        self, seed: int, *, checked: bool, output: Callable[[str], None], arena_bytes: int = 0
    ) -> None:
        super().__init__(checked=checked, output=output, arena_bytes=arena_bytes)
        self.seed = seed
        self.machine = Machine(seed)
        self._issued: dict[Task | None, _Issued] = {}
        self._parts: dict[Operation, list[tuple[TileBuffer, PendingWrite]]] = {}
        self._named_barriers: dict[object, NamedBarrier] = {}

    def run(self, blocks: Sequence[tuple[tuple[int, ...], Steps]], threads: int) -> None:
        """Run blocks to their end, all at the same time."""
        self.machine = Machine(self.seed)
        self._issued.clear()
        self._parts.clear()
        self._named_barriers.clear()
        for block, steps in blocks:
            name = "block" if len(blocks) == 1 else f"block {block}"
            self.machine.spawn(name, steps, threads, BlockState(block))
        self.machine.run()

    @property
    @override
    def state(self) -> BlockState:
        task = self.machine.current
        context = None if task is None else task.context
        return context if isinstance(context, BlockState) else self._state

    @property
    def _own(self) -> _Issued:
        return self._issued.setdefault(self.machine.current, _Issued())

    @property
    def _threads(self) -> int:
        task = self.machine.current
        return 1 if task is None else task.threads

    # -- roles -------------------------------------------------------------------------------

    def roles(self, *roles: tuple[str, Callable[[], Steps], int]) -> Steps:
        """Run roles concurrently until all have terminated."""
        owner = self.machine.current
        prefix = "" if owner is None or owner.name == "block" else f"{owner.name} "
        tasks = [
            self.machine.spawn(f"{prefix}{role_text(name)}", steps(), threads)
            for name, steps, threads in roles
            if threads > 0
        ]
        yield from self.machine.join(tasks)
        self.machine.tasks = [task for task in self.machine.tasks if task not in tasks]

    # -- memory barriers ---------------------------------------------------------------------

    def barriers(
        self, name: str, counts: Sequence[int], site: int | None, *, is_explicit: bool
    ) -> Barriers:
        items = [MBarrier(f"{name}[{i}]", count, site=site) for i, count in enumerate(counts)]
        return Barriers(name, items, site, is_explicit)

    def arrive(self, barriers: Barriers, index: Any, count: Any = None) -> None:
        """`count` threads of this role arrive, by default all of them."""
        self._arrive(barriers, index, self._threads if count is None else int(count))

    def _arrive(self, barriers: Barriers, index: Any, count: int) -> None:
        barrier = barriers.at(index)
        with _Misuse(barriers, self._threads):
            barrier.arrive(count)

    def init_barrier(self, barriers: Barriers, index: Any, count: int) -> None:
        """Start over with another number of arrivals."""
        old = barriers.at(index)
        with _Misuse(barriers, self._threads):
            barriers.items[int(index)] = MBarrier(old.name, count, site=old.site)

    def expect_tx(self, barriers: Barriers, index: Any, size_bytes: Any) -> None:
        with _Misuse(barriers, self._threads):
            barriers.at(index).expect_tx(int(size_bytes))

    def arrive_expect_tx(self, barriers: Barriers, index: Any, size_bytes: Any) -> None:
        """One thread performs expect-tx and arrives."""
        with _Misuse(barriers, self._threads):
            barriers.at(index).arrive_expect_tx(int(size_bytes))

    def wait(self, barriers: Barriers, index: Any, parity: Any, site: int | None = None) -> Wait:
        """What to yield until the phase of a parity has ended."""
        barrier = barriers.at(index)
        required = int(parity) & 1
        log = self.log
        events = None if log is None else log.events()

        def has_passed() -> bool:
            if not barrier.has_passed(required):
                return False
            if log is not None and events is not None:
                log.observes(events, barrier)
            return True

        return Wait(
            f"the phase of parity {required} of {barrier.name} to complete",
            has_passed,
            barrier.missing,
            barrier,
            site,
        )

    # -- asynchronous copies -----------------------------------------------------------------

    def async_copy(
        self,
        source: TileLike,
        target: TileLike,
        site: int,
        barriers: Barriers | None = None,
        index: Any = 0,
        *,
        flatten: bool = False,
        expand: bool = False,
        fill: Any = None,
        complete_tx: Callable[[int], None] | None = None,
    ) -> None:
        """Issue a copy. It belongs to the open group, or reports to a barrier.

        With `complete_tx` its bytes are counted elsewhere, and expected there.
        """
        one, other = as_region(source), as_region(target)
        barrier = None if barriers is None else barriers.at(index)
        what = f"the copy {one.text()} -> {other.text()}"
        size = (one if expand else other).bytes
        if barrier is not None or other.buffer.is_global:
            is_store = other.buffer.is_global
            check_tma_start(other if is_store else one, is_store=is_store)
        issue = Issue(site, self.log)

        def finish() -> None:
            if barrier is not None:
                self._release(operation)
            with issue:
                engine = COPIES if barrier is None else ""
                move(one, other, engine, flatten=flatten, expand=expand, fill=fill)
            if complete_tx is not None:
                complete_tx(size)
            elif barrier is not None:
                barrier.complete_tx(size)

        operation = Operation(what, finish, site, fix=_fix(barrier, other))
        self._hold(operation, [(one, False), (other, True)], site)
        if barrier is None:
            own = self._own
            (own.stores if other.buffer.is_global else own.copies).issue(operation)
        elif barriers is not None and not barriers.is_explicit and complete_tx is None:
            self.expect_tx(barriers, index, size)
        self.machine.issue(COPIES, operation)

    def cp_async(
        self,
        threads: Lanes | None,
        target: Pointer,
        source: Pointer,
        size_bytes: int,
        site: int,
        predicate: Any = None,
    ) -> None:
        """Issue copies of a few bytes by each thread that takes part."""
        copies = ThreadCopy.of(threads, target, source, size_bytes, predicate)
        one, other = source.buffer, target.buffer
        issue = Issue(site, self.log)

        def finish() -> None:
            with issue:
                copies.finish()

        what = f"the copy {one.name} -> {other.name}"
        operation = Operation(what, finish, site, fix=_calls("T.ptx_wait_group(0)"))
        parts = [(one, copies.source_index, False), (other, copies.target_index, True)]
        self._hold_parts(operation, parts, site)
        self._own.copies.issue(operation)
        self.machine.issue(COPIES, operation)

    def commit(self) -> None:
        self._own.copies.commit()

    def wait_group(self, leave: Any, site: int) -> Steps:
        """Wait until at most `leave` groups of copies are in flight."""
        yield from self._wait(self._own.copies, int(leave), "copies", site)

    def commit_stores(self) -> None:
        self._own.stores.commit()

    def wait_stores(self, leave: Any, site: int) -> Steps:
        """Wait until at most `leave` groups of stores are in flight."""
        yield from self._wait(self._own.stores, int(leave), "stores", site)

    def arrive_when_copied(self, barriers: Barriers, index: Any, site: int, *, extra: bool) -> None:
        """Threads arrive once the copies that this role has issued so far are done.

        With `extra` the arrivals are added to the arrive count of the barrier.
        """
        barrier, threads, copies = barriers.at(index), self._threads, self._own.copies
        if extra:
            barrier.expect_arrivals(threads)
        before = copies.all()
        for operation in before:
            # From here on the barrier signals their completion, not a wait for groups.
            operation.finish = _then(operation.finish, lambda op=operation: self._release(op))

        def finish() -> None:
            for operation in before:
                operation.complete()
                self._release(operation)
            with _Misuse(barriers, threads):
                barrier.arrive(threads)

        arrival = Operation(f"the arrival on {barrier.name}", finish, site)
        self.machine.issue(COPIES, arrival)

    # -- asynchronous GEMMs ------------------------------------------------------------------

    def async_gemm(
        self,
        a: TileLike,
        b: TileLike,
        c: TileLike,
        site: int,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        clear: Any = False,
    ) -> None:
        """Issue a GEMM, a group of its own."""
        left, right, result = as_region(a), as_region(b), as_region(c)
        clears = bool(clear)
        issue = Issue(site, self.log)

        def finish() -> None:
            with issue:
                multiply(left, right, result, transpose_a, transpose_b, clears, GEMMS)

        what = f"the GEMM {left.text()} @ {right.text()} -> {result.text()}"
        operation = Operation(what, finish, site, fix=_calls("T.wait_wgmma(0)"))
        parts = [(left, False), (right, False), (result, True)]
        self._hold(operation, parts, site, GEMMS)
        self._own.gemms.issue_alone(operation)
        self.machine.issue(GEMMS, operation, in_order=True)

    def wait_products(self, leave: Any, site: int) -> Steps:
        """Wait until at most `leave` GEMMs are in flight."""
        yield from self._wait(self._own.gemms, int(leave), "GEMMs", site)

    def _wait(self, groups: Groups[Operation], leave: int, what: str, site: int) -> Steps:
        text = f"all but {leave} groups of {what}" if leave else f"all groups of {what}"
        yield groups.wait(leave, text, site)
        for operation in groups.forget(leave):
            self._release(operation)

    # -- what is pending ---------------------------------------------------------------------

    def _hold(
        self,
        operation: Operation,
        regions: Sequence[tuple[TileSlice, bool]],
        site: int,
        engine: str = "",
    ) -> None:
        """Mark the memory that an operation accesses as pending."""
        if self.checked:
            on_chip = [each for each in regions if not each[0].buffer.is_global]
            parts = [(region.buffer, region.box(), writes) for region, writes in on_chip]
            self._hold_parts(operation, parts, site, engine)

    def _hold_parts(
        self,
        operation: Operation,
        parts: Sequence[tuple[TileBuffer, Any, bool]],
        site: int,
        engine: str = "",
    ) -> None:
        """As `_hold`, for buffers and indices; global memory is never pending."""
        if not self.checked:
            return
        held: list[tuple[TileBuffer, PendingWrite]] = []
        for buffer, index, writes in parts:
            if buffer.is_global:
                continue
            buffer.pending.check(buffer.name, buffer.data, index, writes=writes, engine=engine)
            what = operation.what
            part = PendingWrite(
                buffer.data,
                index,
                buffer.name,
                writes,
                what,
                site,
                engine or COPIES,
                operation.fix,
            )
            held.append((buffer, part))
        for buffer, part in held:
            buffer.pending.add(part)
        self._parts[operation] = held

    def _release(self, operation: Operation) -> None:
        for buffer, part in self._parts.pop(operation, ()):
            buffer.pending.remove(part)

    # -- barriers of threads -----------------------------------------------------------------

    def sync(self, site: int, barrier_id: Any = None, threads: Any = None) -> Steps:
        """All threads of the block, or `threads` of them at barrier `barrier_id`, come together."""
        everybody = 1
        for extent in self.threads:
            everybody *= extent
        required = everybody if threads is None else int(threads)
        if required == self._threads and barrier_id is None:
            yield None
            return
        name = "the block's barrier" if barrier_id is None else f"barrier {int(barrier_id)}"
        barrier = self._named_barrier((self.state.block, name), name)
        generation = _come(barrier, self._threads, required)
        yield _opened(barrier, generation, f"{count_text(required, 'thread')} at {name}", site)

    def signal(self, barrier_id: Any, threads: Any) -> None:
        """Come to a barrier and do not wait."""
        name = f"barrier {int(barrier_id)}"
        _come(self._named_barrier((self.state.block, name), name), self._threads, int(threads))

    def sync_grid(self, site: int) -> Steps:
        """All blocks of the grid come together."""
        count = 1
        for extent in self.grid:
            count *= extent
        yield from self._sync_blocks("the grid", "the grid's barrier", count, site)

    def sync_cluster(self, site: int) -> Steps:
        """All blocks of the cluster come together."""
        count = 1
        for extent in self.cluster:
            count *= extent
        corner = tuple(b // c for b, c in zip(self.state.block, self.cluster, strict=True))
        yield from self._sync_blocks(("cluster", corner), "the cluster's barrier", count, site)

    def _sync_blocks(self, key: object, name: str, count: int, site: int) -> Steps:
        barrier = self._named_barrier(key, name)
        generation = _come(barrier, 1, count)
        barrier_phase = key, generation
        if self.log is not None:
            self.log.arrives(barrier_phase)
        yield _opened(barrier, generation, f"{count_text(count, 'block')} at {name}", site)
        if self.log is not None and count == prod(self.grid):
            self.log.passes_for_all(barrier_phase)
        elif self.log is not None:
            self.log.passes(barrier_phase)

    def _named_barrier(self, key: object, name: str) -> NamedBarrier:
        return self._named_barriers.setdefault(key, NamedBarrier(name))


def _come(barrier: NamedBarrier, count: int, required: int) -> int:
    try:
        return barrier.arrive(count, required)
    except BarrierMisuse as misuse:
        raise RuntimeFault("barrier", str(misuse), [_COUNT_NOTE]) from None


def _opened(barrier: NamedBarrier, generation: int, what: str, site: int) -> Wait:
    return Wait(what, lambda: barrier.has_opened(generation), barrier.missing, barrier, site)


_COUNT_NOTE = "all uses of a named barrier must pass the same thread count"


def _then(first: Callable[[], None], second: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        first()
        second()

    return both


class Issue:
    """An engine at work: for the block that issued its operation, and reported where it did."""

    def __init__(self, site: int, log: BlockLog | None) -> None:
        self._site = site
        self._log = log
        self._issuer = None if log is None else log.issue_site(site)

    def __enter__(self) -> None:
        if self._log is not None:
            self._log.acting = self._issuer

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._log is not None:
            self._log.acting = None
        if isinstance(error, RuntimeFault) and error.site is None:
            error.site = self._site


class _Misuse:
    """Turns a misuse of a barrier into a report."""

    def __init__(self, barriers: Barriers, threads: int) -> None:
        self._barriers = barriers
        self._threads = threads

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not isinstance(error, BarrierMisuse):
            return
        notes = [
            Note(f"{self._barriers.name} is allocated here", self._barriers.site),
            f"{count_text(self._threads, 'thread')} of this role arrive together: set the arrive "
            "count to all arrivals of one phase, and wait for each phase before the next",
        ]
        raise RuntimeFault("barrier", str(error), notes) from None
