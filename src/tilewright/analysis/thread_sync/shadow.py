"""Who touched each granule of shared memory last, and may this access follow?

Of every granule the last write is kept, and for every agent its last read. An access is in order if
whoever makes it knows (`clocks.py`) the last write, and, when it writes, all the reads. Lanes of
one warp are ordered only where the whole warp has met.

Accesses of threads are collected between two points at which their knowledge changes, and looked at
together. Within such a batch nothing orders two threads, so that it is enough to ask whether one
touches what another one writes. Threads that write the same place with one and the same op are
taken to write the same value, also where they do not run in step, as long as they come to the op
for the same time; and atomic updates are in order among themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.arena import SlabPlan
from tilewright.analysis.thread_sync.byte_owners import Holders
from tilewright.analysis.thread_sync.clocks import WARP, Clocks, ClockSnapshot
from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault
from tilewright.analysis.thread_sync.thread_accesses import (
    CODE,
    MANY,
    AccessBatch,
    AccessRows,
    ThreadAccess,
)

_NOBODY = -1


@dataclass(frozen=True)
class Landing:
    """cp.async under way: what becomes the threads' own once they have waited."""

    slab: Slab
    rows: AccessRows
    time: int


class Slab:
    """The history of one slab."""

    def __init__(self, plan: SlabPlan, clocks: Clocks, ops: list[tuple[Operation, str]]) -> None:
        self.plan, self.clocks, self.ops = plan, clocks, ops
        self.granule = plan.granule
        self.origin = plan.first // plan.granule
        count = self.count = -(-plan.behind // plan.granule) - self.origin
        self.writer: Any = np.full(count, _NOBODY, np.int16)
        self.written: Any = np.zeros(count, np.int32)
        self.write_thread: Any = np.zeros(count, np.int32)
        self.write_op: Any = np.zeros(count, np.int32)
        self.write_visit: Any = np.zeros(count, np.int32)
        self.read: Any = np.zeros((count, clocks.readers), np.int32)
        self.read_thread: Any = np.zeros((count, clocks.warps), np.int32)
        self.read_op: Any = np.zeros((count, clocks.readers), np.int32)
        self.updates: set[int] = set()
        """Numbers of atomic ops."""
        self.latest_write: Any = np.zeros(clocks.agents, np.int32)
        self.latest_read: Any = np.zeros(clocks.readers, np.int32)
        """By agent: whoever knows these knows all of the slab."""
        self._now_thread: Any = np.full(count, _NOBODY, np.int32)
        self._now_instance: Any = np.zeros(count, np.int32)
        self._now_op: Any = np.zeros(count, np.int32)
        self.holders = Holders(plan, count)

    # -- threads -----------------------------------------------------------------------------

    def settle(self, batch: AccessBatch) -> Landing | None:
        """Check a batch and take it into the history; what of it is still under way."""
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
        self.holders.settle(batch)
        if reads is not None:
            self._mark_reads(reads)
        if writes is not None:
            self._mark_writes(writes)
        return None if copies is None else self._start(copies)

    def _check_within(
        self, reads: AccessRows | None, writes: AccessRows | None, copies: AccessRows | None
    ) -> None:
        """No thread touches what another one writes; nobody touches what copies write."""
        made = [each for each in (writes, copies) if each is not None]
        if not made:
            return
        for rows in made:
            at = rows.granules
            self._now_thread[at] = rows.threads
            self._now_instance[at], self._now_op[at] = rows.instances, rows.numbers
        for rows in made:
            at = rows.granules
            clash = (self._now_thread[at] != rows.threads) & (
                self._now_instance[at] != rows.instances
            )
            self._raise_within(rows, clash, "writes")
        if reads is not None:
            theirs = self._now_thread[reads.granules]
            clash = (theirs != _NOBODY) & (theirs != reads.threads)
            if copies is not None:
                # A thread knows of its own copies no more than of others'; but what it read before
                # it started one, it has.
                by_copy = np.isin(reads.granules, copies.granules)
                clash |= by_copy & (self._now_instance[reads.granules] < reads.instances)
            self._raise_within(reads, clash, "reads")
        for rows in made:
            self._now_thread[rows.granules] = _NOBODY

    def _raise_within(self, rows: AccessRows, clash: Any, verb: str) -> None:
        if not clash.any():
            return
        row = int(np.argmax(clash))
        at = int(rows.granules[row])
        thread, other = _name_of(int(self._now_thread[at])), int(self._now_op[at])
        if int(self._now_instance[at]) < int(rows.instances[row]):
            self._raise(rows, clash, row, verb, "written", thread, other)
        # The one that came first is the one of the rows.
        mine = clash & rows.like(row)
        run, (op, buffer) = self._run(rows.granules, mine, row), self.ops[other]
        did, who = ("read" if verb == "reads" else "written"), _name_of(int(rows.threads[row]))
        self._raise_race(op, buffer, f"{thread} writes", run, did, who, int(rows.numbers[row]))

    def _mark_reads(self, rows: AccessRows) -> None:
        at, warps, threads = rows.granules, rows.warps, rows.threads
        now = self.clocks.known[warps, warps]
        again = self.read[at, warps] == now
        before = self.read_thread[at, warps]
        self.read[at, warps], self.read_op[at, warps] = now, rows.numbers
        self.read_thread[at, warps] = threads
        several = (self.read_thread[at, warps] != threads) | (again & (before != threads))
        if several.any():
            self.read_thread[at[several], warps[several]] = MANY
        self.latest_read[warps] = now

    def _mark_writes(self, rows: AccessRows) -> None:
        at, warps = rows.granules, rows.warps
        self.writer[at], self.written[at] = warps, self.clocks.known[warps, warps]
        self.write_thread[at], self.write_op[at] = rows.threads, rows.numbers
        self.write_visit[at] = rows.visits
        self.latest_write[warps] = self.clocks.known[warps, warps]

    def _start(self, rows: AccessRows) -> Landing:
        agents = 3 * self.clocks.warps + rows.warps
        time = int(self.clocks.ticks[agents].max()) + 1
        self.clocks.ticks[agents] = time
        at = rows.granules
        self.writer[at], self.written[at] = agents, time
        self.write_thread[at], self.write_op[at] = rows.threads, rows.numbers
        self.latest_write[agents] = time
        return Landing(self, rows, time)

    def land(self, landing: Landing) -> None:
        """The issuing threads have waited: what was copied counts as written by them, now."""
        rows, at = landing.rows, landing.rows.granules
        still = (self.writer[at] == 3 * self.clocks.warps + rows.warps) & (
            self.written[at] == landing.time
        )
        self._mark_writes(
            AccessRows(
                at[still],
                rows.threads[still],
                rows.warps[still],
                rows.numbers[still],
                rows.instances[still],
                rows.visits[still],
            )
        )

    # -- engines -----------------------------------------------------------------------------

    def read_by_engine(
        self, deed: ThreadAccess, agent: int, time: int, issuer: ClockSnapshot, thread: int | None
    ) -> None:
        """An engine reads from now until its issuer has waited for it.

        `thread` issued it; None if whole warps did.
        """
        at = deed.granules
        self._known_to(deed, issuer, "reads", thread)
        self.holders.read(deed)
        warps = self.clocks.warps
        if (self.latest_write[:warps] > issuer.fenced[:warps]).any():
            writer = self.writer[at]
            generic = (writer >= 0) & (writer < warps)
            unfenced = generic & (issuer.fenced[writer] < self.written[at])
            if unfenced.any():
                number = int(self.write_op[at[int(np.argmax(unfenced))]])
                self._raise_unfenced(deed, unfenced, "reads", "written", number)
        self.read[at, agent], self.read_op[at, agent] = time, deed.number
        self.latest_read[agent] = time

    def write_by_engine(
        self, deed: ThreadAccess, agent: int, time: int, issuer: ClockSnapshot
    ) -> None:
        at = deed.granules
        self._known_to(deed, issuer, "writes", None)
        recent = np.flatnonzero(self.latest_read > issuer.known[: self.clocks.readers])
        late = self.read[at[:, None], recent] > issuer.known[recent]
        if late.any():
            row, column = (int(each) for each in np.argwhere(late)[0])
            reader = int(recent[column])
            number = int(self.read_op[at[row], reader])
            self._raise_engine(deed, late.any(axis=1), "writes", "read", reader, number)
        self._check_fenced_for_write(deed, issuer)
        self.mark_by_engine(deed, agent, time)

    def _check_fenced_for_write(self, deed: ThreadAccess, issuer: ClockSnapshot) -> None:
        """Threads that accessed what TMA is about to write have passed a proxy fence since."""
        at, warps = deed.granules, self.clocks.warps
        recent = np.flatnonzero(self.latest_read[:warps] > issuer.fenced[:warps])
        unread = self.read[at[:, None], recent] > issuer.fenced[recent]
        if unread.any():
            row, column = (int(each) for each in np.argwhere(unread)[0])
            number = int(self.read_op[at[row], int(recent[column])])
            self._raise_unfenced(deed, unread.any(axis=1), "writes", "read", number)
        if (self.latest_write[:warps] > issuer.fenced[:warps]).any():
            writer = self.writer[at]
            generic = (writer >= 0) & (writer < warps)
            unfenced = generic & (issuer.fenced[writer] < self.written[at])
            if unfenced.any():
                number = int(self.write_op[at[int(np.argmax(unfenced))]])
                self._raise_unfenced(deed, unfenced, "writes", "written", number)

    def mark_by_engine(self, deed: ThreadAccess, agent: int, time: int) -> None:
        """Note a write without asking whether it may be."""
        at = deed.granules
        self.holders.write(deed)
        self.writer[at], self.written[at] = agent, time
        self.write_thread[at], self.write_op[at] = _NOBODY, deed.number
        self.latest_write[agent] = time

    # -- order -------------------------------------------------------------------------------

    def _is_all_known(self, latest: Any, warps: Any) -> bool:
        """Whether some warps know all accesses of a slab, whatever the granule."""
        own = np.flatnonzero(np.bincount(warps))
        if (latest[own] >= self.clocks.met[own]).any():
            return False
        return not (latest > self.clocks.known[own, : len(latest)]).any()

    def _after_write(self, rows: AccessRows, verb: str) -> None:
        at, warps = rows.granules, rows.warps
        if self._is_all_known(self.latest_write, warps):
            return
        writer, written = self.writer[at], self.written[at]
        late = (writer >= 0) & (self.clocks.known[warps, writer] < written)
        mine = (writer == warps) & (written >= self.clocks.met[warps])
        late |= mine & (self.write_thread[at] != rows.threads)
        if self.updates:
            updates = list(self.updates)
            late &= ~(np.isin(rows.numbers, updates) & np.isin(self.write_op[at], updates))
        if verb == "writes":
            again = (self.write_op[at] == rows.numbers) & (self.write_visit[at] == rows.visits)
            late &= ~(again & (rows.visits > 0))
        if late.any():
            row = int(np.argmax(late))
            agent, number = int(writer[row]), int(self.write_op[at[row]])
            self._raise(rows, late, row, verb, "written", self._agent(agent), number)

    def _after_reads(self, rows: AccessRows) -> None:
        at, warps = rows.granules, rows.warps
        if self._is_all_known(self.latest_read, warps):
            return
        read = self.read[at]
        late = read > self.clocks.known[warps, : self.clocks.readers]
        each = np.arange(len(at))
        mine = read[each, warps]
        unmet = (mine > 0) & (mine >= self.clocks.met[warps])
        late[each, warps] = unmet & (self.read_thread[at, warps] != rows.threads)
        if late.any():
            row, reader = (int(number) for number in np.argwhere(late)[0])
            number = int(self.read_op[at[row], reader])
            late = late.any(axis=1)
            self._raise(rows, late, row, "writes", "read", self._agent(reader), number)

    def _known_to(
        self, deed: ThreadAccess, issuer: ClockSnapshot, verb: str, thread: int | None
    ) -> None:
        at = deed.granules
        if thread is None and not (self.latest_write > issuer.known).any():
            return
        writer, written = self.writer[at], self.written[at]
        late = (writer >= 0) & (issuer.known[writer] < written)
        if thread is not None:
            warp = thread // CODE
            mine = (writer == warp) & (written >= self.clocks.met[warp])
            late |= mine & (self.write_thread[at] != thread)
        if late.any():
            row = int(np.argmax(late))
            agent, number = int(writer[row]), int(self.write_op[at[row]])
            self._raise_engine(deed, late, verb, "written", agent, number)

    # -- words -------------------------------------------------------------------------------

    def _raise(
        self, rows: AccessRows, late: Any, row: int, verb: str, did: str, who: str, other: int
    ) -> None:
        op, buffer = self.ops[int(rows.numbers[row])]
        mine = late & rows.like(row)
        text = f"{_name_of(int(rows.threads[row]))} {verb}"
        self._raise_race(op, buffer, text, self._run(rows.granules, mine, row), did, who, other)

    def _raise_engine(
        self, deed: ThreadAccess, late: Any, verb: str, did: str, agent: int, other: int
    ) -> None:
        run = self._run(deed.granules, late, int(np.argmax(late)))
        text, who = f"{_engine_of(deed.op)} {verb}", self._agent(agent)
        self._raise_race(deed.op, deed.buffer, text, run, did, who, other)

    def _raise_race(
        self,
        op: Operation,
        buffer: str,
        does: str,
        run: tuple[int, int],
        did: str,
        who: str,
        other: int,
    ) -> None:
        place, (first, behind) = self.plan.describe(*run, buffer), run
        theirs, their_buffer = self.ops[other]
        what = "a barrier, or a wait for what is under way, is missing between them"
        if theirs is op:
            # No barrier orders two threads in one statement, unless in turns of a loop.
            what += (
                "; iterations of one T.Parallel that meet in an element have no order: combine "
                "them with T.reduce_*, T.alloc_reducer or T.atomic_add"
            )
        raise FaultError(
            SyncFault(
                FaultKind.RACE,
                op,
                f"{does} {place}, and nothing orders it after {who}",
                (
                    (theirs, f"{did} here by {who}: {self.plan.describe(*run, their_buffer)}"),
                    (
                        None,
                        f"the two share bytes {first} to {behind - 1} of shared memory: {what}",
                    ),
                ),
            )
        )

    def _raise_unfenced(
        self, deed: ThreadAccess, unfenced: Any, verb: str, did: str, number: int
    ) -> None:
        run = self._run(deed.granules, unfenced, int(np.argmax(unfenced)))
        other, _ = self.ops[number]
        place = self.plan.describe(*run, deed.buffer)
        raise FaultError(
            SyncFault(
                FaultKind.FENCE,
                deed.op,
                f"{_engine_of(deed.op)} {verb} {place}, {did} by threads without an async proxy "
                "fence after it",
                (
                    (other, f"{did} here"),
                    (
                        None,
                        f"the two share bytes {run[0]} to {run[1] - 1} of shared memory: "
                        "nv.fence_proxy_async is missing between them",
                    ),
                ),
            )
        )

    def _run(self, granules: Any, late: Any, row: int) -> tuple[int, int]:
        """Bytes of the run of granules around a row that are late as well."""
        found: set[int] = {int(each) for each in granules[late]}
        low = high = int(granules[row])
        while low - 1 in found:
            low -= 1
        while high + 1 in found:
            high += 1
        return (self.origin + low) * self.granule, (self.origin + high + 1) * self.granule

    def _agent(self, agent: int) -> str:
        kind, warp = divmod(agent, self.clocks.warps)
        if agent >= self.clocks.first_load:
            return "a copy that is under way"
        names = ("warp {}", "the tensor core of warp {}", "a bulk store of warp {}")
        return (*names, "cp.async of warp {}")[kind].format(warp)


def _name_of(thread: int) -> str:
    warp, lane = divmod(thread, CODE)
    return f"warp {warp}" if lane >= WARP else f"thread {warp * WARP + lane}"


def _engine_of(op: Operation) -> str:
    return "the tensor core" if op.name == "nv.wgmma" else "the copy engine"
