"""The buffer whose data each shadow cell holds: a buffer must read what was written to it.

Buffers overlap because their live ranges are disjoint (`place-shared-memory`). If a buffer is read
where it was written once, and another one has been written since, it was still live. A buffer may
read what was never written to it: uninitialised reads are not checked here.

Storage that the user lets overlap counts as one buffer; its contents are up to the kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.analysis.thread_sync.arena import ShadowPlan
from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault
from tilewright.analysis.thread_sync.thread_accesses import AccessBatch, ThreadAccess, some

_NONE = -1


class ByteOwners:
    """The owners of the cells of one shadow region."""

    def __init__(self, plan: ShadowPlan, count: int) -> None:
        self.plan = plan
        self.column = {
            storage: column_index
            for column_index, storage in enumerate(
                dict.fromkeys(each.storage for each in plan.spans)
            )
        }
        self.is_shared = len(self.column) > 1
        if self.is_shared:
            self.owner: Any = np.full(count, _NONE, np.int16)
            self.writer: Any = np.zeros(count, np.int32)
            """The last write, as an index into `accesses`."""
            self.has_written: Any = np.zeros((len(self.column), count), np.bool_)
            self.accesses: list[ThreadAccess] = []

    def record(self, batch: AccessBatch) -> None:
        """A batch of accesses of threads, in order."""
        if not self.is_shared:
            return
        reads = {access.instance for access in batch.reads}
        everything = (*batch.reads, *batch.writes, *batch.copies)
        for access in sorted(everything, key=lambda each: each.instance):
            if access.instance in reads:
                self.read(access)
            else:
                self.write(access)

    def write(self, access: ThreadAccess) -> None:
        if not self.is_shared:
            return
        at, column = access.index, self.column[access.storage]
        self.owner[at], self.writer[at] = column, len(self.accesses)
        self.has_written[column, at] = True
        self.accesses.append(access)

    def read(self, access: ThreadAccess) -> None:
        if not self.is_shared:
            return
        at, column = access.index, self.column[access.storage]
        lost = self.has_written[column, at] & (self.owner[at] != column)
        if some(lost):
            self._raise(access, int(access.cells[np.argmax(lost)]))

    def _raise(self, access: ThreadAccess, cell_bytes: int) -> None:
        first = cell_bytes * self.plan.cell_bytes + self.plan.first // self.plan.cell_bytes * (
            self.plan.cell_bytes
        )
        span = first, first + self.plan.cell_bytes
        other = self.accesses[int(self.writer[cell_bytes])]
        own, overwriter = (self.plan.describe(*span, each.buffer) for each in (access, other))
        raise FaultError(
            SyncFault(
                FaultKind.LOST,
                access.op,
                f"reads {own}, which {other.buffer} has overwritten since it was written",
                (
                    (other.op, f"{overwriter} is written here"),
                    (
                        None,
                        f"both are allocated at bytes {span[0]} to {span[1] - 1} of shared memory: "
                        f"{access.buffer} is still live",
                    ),
                ),
            )
        )
