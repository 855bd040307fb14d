"""Shadow memory: the last accesses of each cell of shared memory, and whether an access may follow.

Every cell has its last write, and for every agent its last read. An access is ordered if its agent
has observed (`clocks.py`) the last write, and, when it writes, all the reads. Lanes of one warp are
ordered only where the whole warp has converged.

Accesses of threads are batched between two points at which their clocks change. Within such a batch
nothing orders two threads, so that it is enough to check whether one accesses what another one
writes. Threads that write the same address with one and the same op are assumed to write the same
value, also where they diverge, as long as they execute the op for the same time; and atomic updates
do not conflict with each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.arena import ShadowPlan
from tilewright.analysis.thread_sync.byte_owners import ByteOwners
from tilewright.analysis.thread_sync.clocks import Clocks, ClockSnapshot
from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault
from tilewright.analysis.thread_sync.thread_accesses import (
    CODE,
    MANY,
    AccessBatch,
    AccessRows,
    ThreadAccess,
    some,
)

_NONE = -1


@dataclass(frozen=True)
class Landing:
    """A copy of threads in flight: it becomes writes of the threads once they have waited."""

    region: ShadowMemory
    rows: AccessRows
    time: int


class ShadowMemory:
    """The shadow memory of one region."""

    def __init__(self, plan: ShadowPlan, clocks: Clocks, ops: list[tuple[Operation, str]]) -> None:
        self.plan, self.clocks, self.ops = plan, clocks, ops
        self.cell_bytes = plan.cell_bytes
        self.origin = plan.first // plan.cell_bytes
        count = self.count = -(-plan.end // plan.cell_bytes) - self.origin
        self.writer: Any = np.full(count, _NONE, np.int16)
        self.written: Any = np.zeros(count, np.int32)
        self.write_thread: Any = np.zeros(count, np.int32)
        self.write_op: Any = np.zeros(count, np.int32)
        self.write_visit: Any = np.zeros(count, np.int32)
        self.read: Any = np.zeros((clocks.readers, count), np.int32)
        self.read_thread: Any = np.zeros((clocks.warps, count), np.int32)
        self.read_op: Any = np.zeros((clocks.readers, count), np.int32)
        self.updates: set[int] = set()
        """Indices of atomic ops."""
        self.latest_write: Any = np.zeros(clocks.agents, np.int32)
        self.latest_read: Any = np.zeros(clocks.readers, np.int32)
        """By agent: a clock that covers these covers all of the region."""
        self._now_thread: Any = np.full(count, _NONE, np.int32)
        self._now_instance: Any = np.zeros(count, np.int32)
        self._now_op: Any = np.zeros(count, np.int32)
        self.owners = ByteOwners(plan, count)

    # -- threads -----------------------------------------------------------------------------

    def record(self, batch: AccessBatch) -> Landing | None:
        """Check a batch and record it; returns the part that is still in flight."""
        writes = AccessRows.of(batch.writes) if batch.writes else None
        copies = AccessRows.of(batch.copies) if batch.copies else None
        reads = AccessRows.of(batch.reads) if batch.reads else None
        for rows in (writes, copies):
            if rows is not None:
                self._after_write(rows, "writes")
                self._after_reads(rows)
        if reads is not None:
            self._after_write(reads, "reads")
        self._check_within(reads, writes, copies)
        self.owners.record(batch)
        if reads is not None:
            self._mark_reads(reads)
        if writes is not None:
            self._mark_writes(writes)
        return None if copies is None else self._start(copies)

    def _check_within(
        self, reads: AccessRows | None, writes: AccessRows | None, copies: AccessRows | None
    ) -> None:
        """No thread accesses what another one writes; no thread accesses what in-flight copies
        write."""
        made = [each for each in (writes, copies) if each is not None]
        if not made:
            return
        for rows in made:
            at = rows.cells
            self._now_thread[at] = rows.threads
            self._now_instance[at], self._now_op[at] = rows.instances, rows.op_indices
        for rows in made:
            at = rows.cells
            clash = (self._now_thread[at] != rows.threads) & (
                self._now_instance[at] != rows.instances
            )
            self._raise_within(rows, clash, "writes")
        if reads is not None:
            other_op = self._now_thread[reads.cells]
            clash = (other_op != _NONE) & (other_op != reads.threads)
            if copies is not None:
                # A thread is not ordered after its own copies either; but reads before it issued
                # one are ordered.
                by_copy = np.isin(reads.cells, copies.cells)
                clash |= by_copy & (self._now_instance[reads.cells] < reads.instances)
            self._raise_within(reads, clash, "reads")
        for rows in made:
            self._now_thread[rows.cells] = _NONE

    def _raise_within(self, rows: AccessRows, clash: Any, verb: str) -> None:
        if not some(clash):
            return
        row = int(np.argmax(clash))
        at = int(rows.cells[row])
        thread, other = self._name_of(int(self._now_thread[at])), int(self._now_op[at])
        if int(self._now_instance[at]) < int(rows.instances[row]):
            self._raise(rows, clash, row, verb, "written", thread, other)
        # The rows have the access that came first.
        own = clash & rows.like(row)
        run, (op, buffer) = self._run(rows.cells, own, row), self.ops[other]
        did, agent_name = (
            ("read" if verb == "reads" else "written"),
            self._name_of(int(rows.threads[row])),
        )
        self._raise_race(
            op, buffer, f"{thread} writes", run, did, agent_name, int(rows.op_indices[row])
        )

    def _mark_reads(self, rows: AccessRows) -> None:
        at, warps, threads = rows.cells, rows.warps, rows.threads
        now = self.clocks.observed[warps, warps]
        where = warps, at
        again = self.read[where] == now
        before = self.read_thread[where]
        self.read[where], self.read_op[where] = now, rows.op_indices
        self.read_thread[where] = threads
        several = (self.read_thread[where] != threads) | (again & (before != threads))
        if some(several):
            self.read_thread[warps[several], at[several]] = MANY
        self.latest_read[warps] = now

    def _mark_writes(self, rows: AccessRows) -> None:
        at, warps = rows.cells, rows.warps
        self.writer[at], self.written[at] = warps, self.clocks.observed[warps, warps]
        self.write_thread[at], self.write_op[at] = rows.threads, rows.op_indices
        self.write_visit[at] = rows.visits
        self.latest_write[warps] = self.clocks.observed[warps, warps]

    def _start(self, rows: AccessRows) -> Landing:
        agents = 3 * self.clocks.warps + rows.warps
        time = int(self.clocks.ticks[agents].max()) + 1
        self.clocks.ticks[agents] = time
        at = rows.cells
        self.writer[at], self.written[at] = agents, time
        self.write_thread[at], self.write_op[at] = rows.threads, rows.op_indices
        self.latest_write[agents] = time
        return Landing(self, rows, time)

    def land(self, landing: Landing) -> None:
        """The issuing threads have waited: the copied bytes count as written by them, now."""
        rows, at = landing.rows, landing.rows.cells
        still = (self.writer[at] == 3 * self.clocks.warps + rows.warps) & (
            self.written[at] == landing.time
        )
        self._mark_writes(rows.chosen(still))

    # -- units -------------------------------------------------------------------------------

    def read_by_engine(
        self, access: ThreadAccess, agent: int, time: int, issuer: ClockSnapshot, thread: int | None
    ) -> None:
        """An asynchronous unit reads from now until its issuer has waited for it.

        `thread` issued it; None if whole warps did.
        """
        at = access.index
        self._known_to(access, issuer, "reads", thread)
        self.owners.read(access)
        self._check_fenced_writes(access, issuer, "reads")
        self.read[agent, at], self.read_op[agent, at] = time, access.op_index
        self.latest_read[agent] = time

    def write_by_engine(
        self, access: ThreadAccess, agent: int, time: int, issuer: ClockSnapshot
    ) -> None:
        self._known_to(access, issuer, "writes", None)
        readers = self.clocks.readers
        recent, late = self._read_after(access, issuer.observed[:readers])
        if some(late):
            row, column = (int(each) for each in np.argwhere(late.T)[0])
            reader = int(recent[column])
            op_index = int(self.read_op[reader, access.cells[row]])
            self._raise_engine(access, late.any(axis=0), "writes", "read", reader, op_index)
        self._check_fenced_for_write(access, issuer)
        self.mark_by_engine(access, agent, time)

    def _read_after(self, access: ThreadAccess, times: Any) -> tuple[Any, Any]:
        """Agents that read in the region after these times, and, by agent, whether such a read was
        of a cell of the access."""
        recent = (self.latest_read[: len(times)] > times).nonzero()[0]
        at = access.index
        late = [self.read[reader, at] > times[reader] for reader in recent]
        return recent, np.array(late, np.bool_).reshape(len(recent), len(access.cells))

    def _check_fenced_for_write(self, access: ThreadAccess, issuer: ClockSnapshot) -> None:
        """Threads that accessed what TMA is about to write have passed an async proxy fence
        since."""
        warps = self.clocks.warps
        recent, unread = self._read_after(access, issuer.fenced[:warps])
        if some(unread):
            row, column = (int(each) for each in np.argwhere(unread.T)[0])
            op_index = int(self.read_op[int(recent[column]), access.cells[row]])
            self._raise_unfenced(access, unread.any(axis=0), "writes", "read", op_index)
        self._check_fenced_writes(access, issuer, "writes")

    def _check_fenced_writes(self, access: ThreadAccess, issuer: ClockSnapshot, verb: str) -> None:
        """Threads that wrote what an asynchronous unit accesses have passed a fence since."""
        warps = self.clocks.warps
        if not some(self.latest_write[:warps] > issuer.fenced[:warps]):
            return
        at = access.index
        writer = self.writer[at]
        generic = (writer >= 0) & (writer < warps)
        unfenced = generic & (issuer.fenced[writer] < self.written[at])
        if some(unfenced):
            op_index = int(self.write_op[access.cells[int(np.argmax(unfenced))]])
            self._raise_unfenced(access, unfenced, verb, "written", op_index)

    def mark_by_engine(self, access: ThreadAccess, agent: int, time: int) -> None:
        """Record a write without a check."""
        at = access.index
        self.owners.write(access)
        self.writer[at], self.written[at] = agent, time
        self.write_thread[at], self.write_op[at] = _NONE, access.op_index
        self.latest_write[agent] = time

    # -- order -------------------------------------------------------------------------------

    def _is_all_known(self, latest: Any, warps: Any) -> bool:
        """Whether some warps have observed all accesses of the region, whatever the cell."""
        own = np.bincount(warps).nonzero()[0]
        if some(latest[own] >= self.clocks.converged[own]):
            return False
        return not some(latest > self.clocks.observed[own, : len(latest)])

    def _after_write(self, rows: AccessRows, verb: str) -> None:
        at, warps = rows.cells, rows.warps
        if self._is_all_known(self.latest_write, warps):
            return
        writer, written = self.writer[at], self.written[at]
        late = (writer >= 0) & (self.clocks.observed[warps, writer] < written)
        own = (writer == warps) & (written >= self.clocks.converged[warps])
        late |= own & (self.write_thread[at] != rows.threads)
        if self.updates:
            updates = list(self.updates)
            late &= ~(np.isin(rows.op_indices, updates) & np.isin(self.write_op[at], updates))
        if verb == "writes":
            again = (self.write_op[at] == rows.op_indices) & (self.write_visit[at] == rows.visits)
            late &= ~(again & (rows.visits > 0))
        if some(late):
            row = int(np.argmax(late))
            agent, op_index = int(writer[row]), int(self.write_op[at[row]])
            self._raise(rows, late, row, verb, "written", self._agent(agent, op_index), op_index)

    def _after_reads(self, rows: AccessRows) -> None:
        at, warps = rows.cells, rows.warps
        if self._is_all_known(self.latest_read, warps):
            return
        read = self.read[:, at]
        late = read > self.clocks.observed[warps, : self.clocks.readers].T
        each = np.arange(len(at))
        own = read[warps, each]
        unmet = (own > 0) & (own >= self.clocks.converged[warps])
        late[warps, each] = unmet & (self.read_thread[warps, at] != rows.threads)
        if some(late):
            row, reader = (int(op_index) for op_index in np.argwhere(late.T)[0])
            op_index = int(self.read_op[reader, at[row]])
            late = late.any(axis=0)
            self._raise(rows, late, row, "writes", "read", self._agent(reader, op_index), op_index)

    def _known_to(
        self, access: ThreadAccess, issuer: ClockSnapshot, verb: str, thread: int | None
    ) -> None:
        at = access.index
        if thread is None and not some(self.latest_write > issuer.observed):
            return
        writer, written = self.writer[at], self.written[at]
        late = (writer >= 0) & (issuer.observed[writer] < written)
        if thread is not None:
            warp = thread // CODE
            own = (writer == warp) & (written >= self.clocks.converged[warp])
            late |= own & (self.write_thread[at] != thread)
        if some(late):
            row = int(np.argmax(late))
            agent, op_index = int(writer[row]), int(self.write_op[access.cells[row]])
            self._raise_engine(access, late, verb, "written", agent, op_index)

    # -- messages ----------------------------------------------------------------------------

    def _raise(
        self,
        rows: AccessRows,
        late: Any,
        row: int,
        verb: str,
        did: str,
        agent_name: str,
        other: int,
    ) -> None:
        op, buffer = self.ops[int(rows.op_indices[row])]
        own = late & rows.like(row)
        text = f"{self._name_of(int(rows.threads[row]))} {verb}"
        self._raise_race(op, buffer, text, self._run(rows.cells, own, row), did, agent_name, other)

    def _raise_engine(
        self, access: ThreadAccess, late: Any, verb: str, did: str, agent: int, other: int
    ) -> None:
        run = self._run(access.cells, late, int(np.argmax(late)))
        text, agent_name = f"{_engine_of(access.op)} {verb}", self._agent(agent, other)
        self._raise_race(access.op, access.buffer, text, run, did, agent_name, other)

    def _raise_race(
        self,
        op: Operation,
        buffer: str,
        does: str,
        run: tuple[int, int],
        did: str,
        agent_name: str,
        other: int,
    ) -> None:
        element, (first, end) = self.plan.describe(*run, buffer), run
        other_op, other_buffer = self.ops[other]
        what = "a barrier, or a wait for the in-flight operation, is missing between them"
        if other_op is op:
            # No barrier orders two threads in one statement, unless in different iterations of a
            # loop.
            what += (
                "; iterations of one T.Parallel that access the same element are unordered: "
                "combine them with T.reduce_*, T.alloc_reducer or T.atomic_add"
            )
        raise FaultError(
            SyncFault(
                FaultKind.RACE,
                op,
                f"data race: {does} {element}, and nothing orders it after {agent_name}",
                (
                    (
                        other_op,
                        f"{did} here by {agent_name}: {self.plan.describe(*run, other_buffer)}",
                    ),
                    (
                        None,
                        f"both access bytes {first} to {end - 1} of shared memory: {what}",
                    ),
                ),
            )
        )

    def _raise_unfenced(
        self, access: ThreadAccess, unfenced: Any, verb: str, did: str, op_index: int
    ) -> None:
        run = self._run(access.cells, unfenced, int(np.argmax(unfenced)))
        other, _ = self.ops[op_index]
        element = self.plan.describe(*run, access.buffer)
        raise FaultError(
            SyncFault(
                FaultKind.FENCE,
                access.op,
                f"{_engine_of(access.op)} {verb} {element}, {did} by threads without an async "
                "proxy fence after it",
                (
                    (other, f"{did} here"),
                    (
                        None,
                        f"both access bytes {run[0]} to {run[1] - 1} of shared memory: "
                        "nv.fence_proxy_async is missing between them",
                    ),
                ),
            )
        )

    def _run(self, cells: Any, late: Any, row: int) -> tuple[int, int]:
        """Bytes of the contiguous cells around a row that are unordered as well."""
        found: set[int] = {int(each) for each in cells[late]}
        low = high = int(cells[row])
        while low - 1 in found:
            low -= 1
        while high + 1 in found:
            high += 1
        return (self.origin + low) * self.cell_bytes, (self.origin + high + 1) * self.cell_bytes

    def _agent(self, agent: int, op_index: int) -> str:
        kind, warp = divmod(agent, self.clocks.warps)
        if agent >= self.clocks.first_load:
            return "an in-flight copy"
        names = ("warp {}", "the tensor core of warp {}", "a bulk store of warp {}")
        copy = copy_of(self.ops[op_index][0])
        return (*names, f"{copy} of warp {{}}")[kind].format(warp)

    def _name_of(self, thread: int) -> str:
        warp, lane = divmod(thread, CODE)
        size = self.clocks.warp_size
        return f"warp {warp}" if lane >= size else f"thread {warp * size + lane}"


def _engine_of(op: Operation) -> str:
    is_tensor_core = op.name == "nv.wgmma" or op.name.startswith("nv.tcgen05.")
    return "the tensor core" if is_tensor_core else "TMA"


def copy_of(op: Operation) -> str:
    """The name of the kind of asynchronous copies of threads."""
    return "a copy to LDS" if op.name == "amd.load_lds" else "cp.async"
