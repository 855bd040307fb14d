"""Whose data lies in each granule of a slab: a buffer finds there what it put there itself.

Buffers share bytes because one is not needed while the other is (`place-shared-memory`). If a
buffer is read where it was written once, and another one has been written since, its data was
needed after all. What a buffer never wrote it may read: that is for the author to answer.

Storage that an author has shared counts as one buffer, for what lies there is his affair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.analysis.thread_sync.arena import SlabPlan
from tilewright.analysis.thread_sync.faults import FaultError, FaultKind, SyncFault
from tilewright.analysis.thread_sync.thread_accesses import AccessBatch, ThreadAccess

_NOBODY = -1


class Holders:
    """The holders of one slab."""

    def __init__(self, plan: SlabPlan, count: int) -> None:
        self.plan = plan
        self.column = {
            storage: number
            for number, storage in enumerate(dict.fromkeys(each.storage for each in plan.places))
        }
        self.is_shared = len(self.column) > 1
        if self.is_shared:
            self.holder: Any = np.full(count, _NOBODY, np.int16)
            self.writer: Any = np.zeros(count, np.int32)
            """The last write, as a number of `deeds`."""
            self.has_written: Any = np.zeros((count, len(self.column)), np.bool_)
            self.deeds: list[ThreadAccess] = []

    def settle(self, batch: AccessBatch) -> None:
        """What threads did, in its order."""
        if not self.is_shared:
            return
        reads = {deed.instance for deed in batch.reads}
        everything = (*batch.reads, *batch.writes, *batch.copies)
        for deed in sorted(everything, key=lambda each: each.instance):
            if deed.instance in reads:
                self.read(deed)
            else:
                self.write(deed)

    def write(self, deed: ThreadAccess) -> None:
        if not self.is_shared:
            return
        at, column = deed.granules, self.column[deed.storage]
        self.holder[at], self.writer[at] = column, len(self.deeds)
        self.has_written[at, column] = True
        self.deeds.append(deed)

    def read(self, deed: ThreadAccess) -> None:
        if not self.is_shared:
            return
        at, column = deed.granules, self.column[deed.storage]
        lost = self.has_written[at, column] & (self.holder[at] != column)
        if lost.any():
            self._raise(deed, int(at[np.argmax(lost)]))

    def _raise(self, deed: ThreadAccess, granule: int) -> None:
        first = granule * self.plan.granule + self.plan.first // self.plan.granule * (
            self.plan.granule
        )
        span = first, first + self.plan.granule
        other = self.deeds[int(self.writer[granule])]
        mine, theirs = (self.plan.describe(*span, each.buffer) for each in (deed, other))
        raise FaultError(
            SyncFault(
                FaultKind.LOST,
                deed.op,
                f"reads {mine}, whose bytes {other.buffer} has taken since it was written",
                (
                    (other.op, f"{theirs} is written here"),
                    (
                        None,
                        f"both lie in bytes {span[0]} to {span[1] - 1} of shared memory: "
                        f"{deed.buffer} was taken for dead too early",
                    ),
                ),
            )
        )
