"""Accesses of threads, as rows of numbers: one for each granule and thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

TOGETHER = 0
"""The instance of atomic updates, which need no order."""
CODE = 64
"""A thread is the number of its warp times this, plus its lane."""
MANY = CODE - 1
"""The lane of an access by several lanes."""


@dataclass(frozen=True)
class ThreadAccess:
    """One access of many threads."""

    op: Operation
    number: int
    """Of the op."""
    instance: int
    """Later ones have greater numbers."""
    buffer: str
    granules: Any
    threads: Any
    storage: int
    """Of the buffer."""
    visit: int = 0
    """How often these threads have come to the op; 0 if nobody counts."""


@dataclass
class AccessBatch:
    """What threads of one task did to a slab since their knowledge last changed."""

    reads: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    writes: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    copies: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    """Writes by cp.async, which go on until somebody waits."""

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes or self.copies)


@dataclass(frozen=True)
class AccessRows:
    """Deeds, one row for each granule and thread."""

    granules: Any
    threads: Any
    warps: Any
    numbers: Any
    instances: Any
    visits: Any

    def like(self, row: int) -> Any:
        """Rows of the same thread and op."""
        return (self.numbers == self.numbers[row]) & (self.threads == self.threads[row])

    @classmethod
    def of(cls, deeds: Sequence[ThreadAccess]) -> AccessRows:
        sizes = [len(each.granules) for each in deeds]
        threads = np.concatenate([each.threads for each in deeds])
        return cls(
            np.concatenate([each.granules for each in deeds]),
            threads,
            threads // CODE,
            np.repeat([each.number for each in deeds], sizes),
            np.repeat([each.instance for each in deeds], sizes),
            np.repeat([each.visit for each in deeds], sizes),
        )
