"""Shadow memory: the last accesses of each granule, to decide whether an access is ordered.

A granule has the size of the narrowest element that the kernel stores in shared memory. Recorded
are the last write of each, and its last read by every agent. An access is ordered if the last write
happens before it (`clocks.py`), and for a write all the reads, too. Lanes of one warp are ordered
only where the whole warp has synchronised.

A proxy fence must separate writes of threads from reads of an asynchronous unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from xdsl.ir import Operation

from tilewright.targets.numpy.simt.clocks import Clocks, ClockSnapshot
from tilewright.targets.numpy.simt.problems import Note, SimtRuntimeFault

LazyMask: TypeAlias = Callable[[], Any]
"""A bool for each granule, computed on demand."""

_UNWRITTEN = -1
SEVERAL = 127
"""The lane of an access by more than one lane; no warp has so many."""


@dataclass(frozen=True)
class ShadowAccess:
    """One access of several granules, with warps and lanes. All arrays have the same length."""

    granules: Any
    warps: Any
    lanes: Any


class Shadow:
    """The last accesses of one block to its shared memory, or to a tensor."""

    def __init__(
        self,
        clocks: Clocks,
        size: int,
        granule: int,
        describe: Callable[[int], str],
        *,
        is_filled: bool = False,
    ) -> None:
        self.clocks = clocks
        self.is_filled = is_filled
        """Whether all of it was written before the block started."""
        self.granule = granule
        self.describe = describe
        """Names the element at a byte address."""
        count = -(-size // granule)
        self.readers = 3 * clocks.warps
        self.writer = np.full(count, _UNWRITTEN, np.int16)
        self.written = np.zeros(count, np.int32)
        self.write_lane = np.zeros(count, np.int8)
        self.write_op = np.zeros(count, np.int32)
        self.read = np.zeros((self.readers, count), np.int32)
        self.read_lane = np.zeros((clocks.warps, count), np.int8)
        self.read_op = np.zeros((self.readers, count), np.int32)
        self.latest_write = np.zeros(clocks.agents, np.int32)
        self.latest_read = np.zeros(self.readers, np.int32)
        """By agent: a clock that covers these covers the accesses to all granules."""
        self.ops: list[Operation] = []
        self._op_indices: dict[Operation, int] = {}
        self._spreads: dict[int, tuple[Any, Any, Any]] = {}
        """By granules of an access: the threads of the last one, and their warps and lanes."""

    def access(self, start: Any, size: int, threads: Any) -> ShadowAccess:
        """The access of `size` bytes from `start` on by each thread."""
        steps = max(1, size // self.granule)
        granules = start // self.granule
        if steps > 1:
            granules = (granules[:, None] + np.arange(steps)).ravel()
        last = self._spreads.get(steps)
        if last is None or last[0] is not threads:
            spread = np.repeat(threads, steps)
            last = self._spreads[steps] = threads, *divmod(spread, self.clocks.warp_size)
        return ShadowAccess(granules, last[1], last[2])

    def spread(self, addresses: Any, size: int) -> Any:
        """The granules of elements of `size` bytes."""
        steps = max(1, size // self.granule)
        granules = (addresses.ravel() // self.granule)[:, None] + np.arange(steps)
        return granules.ravel()

    # -- threads -----------------------------------------------------------------------------

    def read_by_threads(self, op: Operation, access: ShadowAccess) -> None:
        at, warps, lanes = access.granules, access.warps, access.lanes
        self._check_written(op, at)
        self._after_write(op, access, "reads")
        now = self.clocks.observed.diagonal()[warps]
        where = warps * self.read.shape[1] + at
        read, read_lane = self.read.reshape(-1), self.read_lane.reshape(-1)
        lane = np.where((read[where] == now) & (read_lane[where] != lanes), SEVERAL, lanes)
        read[where] = now
        read_lane[where] = lane
        mixed = read_lane[where] != lane
        if np.count_nonzero(mixed):
            read_lane[where[mixed]] = SEVERAL
        self.read_op.reshape(-1)[where] = self._op_index(op)
        self.latest_read[warps] = now

    def write_by_threads(
        self, op: Operation, access: ShadowAccess, is_there: LazyMask | None = None
    ) -> None:
        """A write; `is_there` computes for each granule whether it already holds the written value.

        Threads may write the same value to one element with the same op, in lockstep or not.
        """
        self._after_write(op, access, "writes", is_there)
        self._after_reads(op, access)
        self.record_write(op, access)

    def record_write(self, op: Operation, access: ShadowAccess) -> None:
        """The write is in memory as one of these threads."""
        at, warps = access.granules, access.warps
        now = self.clocks.observed.diagonal()[warps]
        self.writer[at], self.written[at] = warps, now
        self.write_lane[at] = access.lanes
        self.write_op[at] = self._op_index(op)
        self.latest_write[warps] = now

    def update_by_threads(self, op: Operation, access: ShadowAccess) -> None:
        """Atomic updates: in any order among themselves, each with all other accesses."""
        at = access.granules
        again = np.array(
            [
                self.writer[each] >= 0 and self.ops[self.write_op[each]].name == op.name
                for each in at
            ]
        )
        rest = ShadowAccess(at[~again], access.warps[~again], access.lanes[~again])
        self._after_write(op, rest, "updates")
        self._after_reads(op, access)
        self.record_write(op, access)

    def start_copy(self, op: Operation, access: ShadowAccess) -> Any:
        """A write by `cp.async` of these threads; the times at which their warps did it."""
        self._after_write(op, access, "writes")
        self._after_reads(op, access)
        agents = self.clocks.copy_agents(np.unique(access.warps))
        self.clocks.tick(agents)
        own = self.clocks.copy_agents(access.warps)
        times = self.clocks.ticks[own]
        at = access.granules
        self.writer[at], self.written[at] = own, times
        self.write_lane[at], self.write_op[at] = access.lanes, self._op_index(op)
        self.latest_write[own] = times
        return times

    def finish_copy(self, op: Operation, access: ShadowAccess, times: Any) -> None:
        """The issuing threads have waited: their copies count as their own writes from now on."""
        at = access.granules
        still = (self.writer[at] == self.clocks.copy_agents(access.warps)) & (
            self.written[at] == times
        )
        self.record_write(op, ShadowAccess(at[still], access.warps[still], access.lanes[still]))

    # -- asynchronous units ------------------------------------------------------------------

    def read_by_engine(
        self,
        op: Operation,
        granules: Any,
        agent: int,
        time: int,
        issuer: ClockSnapshot,
        thread: int | None,
    ) -> None:
        """An engine reads from now until its issuer has waited for it.

        `thread` issued it; None if whole warps did.
        """
        self._check_written(op, granules)
        self._known_to(op, granules, issuer, "reads", thread)
        writer, written = self.writer[granules], self.written[granules]
        generic = (writer >= 0) & (writer < self.clocks.warps)
        unfenced = generic & (issuer.fenced[writer] < written)
        if unfenced.any():
            where = int(granules[int(np.argmax(unfenced))])
            other = self.ops[int(self.write_op[where])]
            self._raise_unfenced(op, where, "reads", "written", other)
        self.read[agent, granules] = time
        self.read_op[agent, granules] = self._op_index(op)
        self.latest_read[agent] = time

    def write_by_engine(
        self, op: Operation, granules: Any, agent: int, time: int, issuer: ClockSnapshot
    ) -> None:
        self._known_to(op, granules, issuer, "writes", None)
        recent, late = self._read_after(granules, issuer.observed[: self.readers])
        if late.any():
            row, reader = (int(each) for each in np.argwhere(late.T)[0])
            self._raise_race(op, int(granules[row]), "writes", reader=int(recent[reader]))
        self._check_fenced_for_write(op, granules, issuer)
        self.mark_by_engine(op, granules, agent, time)

    def _read_after(self, granules: Any, times: Any) -> tuple[Any, Any]:
        """Agents that read after these times, and whether each of them read a granule then."""
        recent = (self.latest_read[: len(times)] > times).nonzero()[0]
        return recent, self.read[recent[:, None], granules] > times[recent][:, None]

    def _check_fenced_for_write(self, op: Operation, granules: Any, issuer: ClockSnapshot) -> None:
        """Threads that accessed what TMA is about to write have passed a proxy fence since."""
        warps = self.clocks.warps
        recent, unread = self._read_after(granules, issuer.fenced[:warps])
        if unread.any():
            row, warp = (int(each) for each in np.argwhere(unread.T)[0])
            other = self.ops[int(self.read_op[int(recent[warp]), int(granules[row])])]
            self._raise_unfenced(op, int(granules[row]), "writes", "read", other)
        writer, written = self.writer[granules], self.written[granules]
        late = (writer >= 0) & (writer < warps) & (issuer.fenced[writer] < written)
        if late.any():
            where = int(granules[int(np.argmax(late))])
            self._raise_unfenced(
                op, where, "writes", "written", self.ops[int(self.write_op[where])]
            )

    def mark_by_engine(self, op: Operation, granules: Any, agent: int, time: int) -> None:
        """Record a write without checking its order."""
        self.writer[granules], self.written[granules] = agent, time
        self.write_lane[granules], self.write_op[granules] = 0, self._op_index(op)
        self.latest_write[agent] = time

    # -- order -------------------------------------------------------------------------------

    def _is_all_known(self, latest: Any, warps: Any) -> bool:
        """Whether some warps have observed all accesses, whatever the granule."""
        own = np.bincount(warps).nonzero()[0]
        if np.count_nonzero(latest[own] >= self.clocks.converged[own]):
            return False
        return not np.count_nonzero(latest > self.clocks.observed[own, : len(latest)])

    def _after_write(
        self, op: Operation, access: ShadowAccess, verb: str, is_there: LazyMask | None = None
    ) -> None:
        at, warps = access.granules, access.warps
        if self._is_all_known(self.latest_write, warps):
            return
        writer, written = self.writer[at], self.written[at]
        late = (writer >= 0) & (self.clocks.observed[warps, writer] < written)
        own = (writer == warps) & (written >= self.clocks.converged[warps])
        late |= own & (self.write_lane[at] != access.lanes)
        if is_there is not None and late.any():
            late &= ~(is_there() & (self.write_op[at] == self._op_index(op)))
        if late.any():
            where = int(np.argmax(late))
            thread = int(warps[where]) * self.clocks.warp_size + int(access.lanes[where])
            self._raise_race(op, int(at[where]), verb, thread=thread)

    def _after_reads(self, op: Operation, access: ShadowAccess) -> None:
        at, warps = access.granules, access.warps
        if self._is_all_known(self.latest_read, warps):
            return
        read = self.read[:, at]
        late = read > self.clocks.observed[warps, : self.readers].T
        each = np.arange(len(at))
        own = read[warps, each]
        others = (own > 0) & (own >= self.clocks.converged[warps])
        late[warps, each] = others & (self.read_lane[warps, at] != access.lanes)
        if late.any():
            where, reader = (int(each) for each in np.argwhere(late.T)[0])
            thread = int(warps[where]) * self.clocks.warp_size + int(access.lanes[where])
            self._raise_race(op, int(at[where]), "writes", thread=thread, reader=reader)

    def _known_to(
        self, op: Operation, granules: Any, issuer: ClockSnapshot, verb: str, thread: int | None
    ) -> None:
        writer, written = self.writer[granules], self.written[granules]
        late = (writer >= 0) & (issuer.observed[writer] < written)
        if thread is not None:
            warp, lane = divmod(thread, self.clocks.warp_size)
            own = (writer == warp) & (written >= self.clocks.converged[warp])
            late |= own & (self.write_lane[granules] != lane)
        if late.any():
            self._raise_race(op, int(granules[int(np.argmax(late))]), verb)

    # -- reports -----------------------------------------------------------------------------

    def _op_index(self, op: Operation) -> int:
        found = self._op_indices.get(op)
        if found is None:
            found = self._op_indices[op] = len(self.ops)
            self.ops.append(op)
        return found

    def _check_written(self, op: Operation, granules: Any) -> None:
        if self.is_filled:
            return
        missing = self.writer[granules] == _UNWRITTEN
        if np.count_nonzero(missing):
            where = int(granules[int(np.argmax(missing))])
            raise SimtRuntimeFault(
                "uninitialised",
                f"uninitialised read: {self.describe(where * self.granule)} has not been written",
                op,
            )

    def _raise_race(
        self,
        op: Operation,
        granule: int,
        verb: str,
        thread: int | None = None,
        reader: int | None = None,
    ) -> None:
        element = self.describe(granule * self.granule)
        if reader is None:
            agent, other = int(self.writer[granule]), self.ops[int(self.write_op[granule])]
            did = "written"
        else:
            agent, other, did = reader, self.ops[int(self.read_op[reader, granule])], "read"
        subject = "an asynchronous unit" if thread is None else f"thread {thread}"
        raise SimtRuntimeFault(
            "race",
            f"data race: {subject} {verb} {element}, and nothing orders it after "
            f"{self._agent(agent, other)}",
            op,
            [
                Note(f"{did} here by {self._agent(agent, other)}", other),
                Note(
                    "a barrier, or a wait for the copy or MMA, is missing between the two accesses"
                ),
            ],
        )

    def _raise_unfenced(
        self, op: Operation, granule: int, verb: str, did: str, other: Operation
    ) -> None:
        element = self.describe(granule * self.granule)
        raise SimtRuntimeFault(
            "fence",
            f"missing async proxy fence: an asynchronous unit {verb} {element}, {did} by threads",
            op,
            [
                Note(f"{did} here", other),
                Note("nv.fence_proxy_async is missing between the two accesses"),
            ],
        )

    def _agent(self, agent: int, op: Operation) -> str:
        kind, warp = divmod(agent, self.clocks.warps)
        if agent >= self.clocks.first_load:
            return "an in-flight copy"
        copy = "a copy to LDS" if op.name == "amd.load_lds" else "cp.async"
        names = ("warp {}", "the tensor core of warp {}", "a bulk store of warp {}")
        return (*names, f"{copy} of warp {{}}")[kind].format(warp)
