"""Accesses of threads, as rows of arrays: one for each cell and thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.ir import Operation

TOGETHER = 0
"""The instance of atomic updates, which need no order."""
CODE = 128
"""A thread is the index of its warp times this, plus its lane."""
MANY = CODE - 1
"""The lane of an access by several lanes; no warp has so many."""


def some(mask: Any) -> bool:
    """Whether an element is true; of short arrays `any` takes four times as long."""
    return bool(np.count_nonzero(mask))


@dataclass(frozen=True)
class ThreadAccess:
    """One access of many threads."""

    op: Operation
    op_index: int
    """The index of the op."""
    instance: int
    """Later ones have larger values."""
    buffer: str
    cells: Any
    threads: Any
    storage: int
    """Of the buffer."""
    visit: int = 0
    """How many times these threads have reached the op; 0 if not counted."""
    run: slice | None = None
    """The cells as a slice, if they are known to be contiguous and in order."""

    @property
    def index(self) -> Any:
        """The cells as an index of arrays."""
        return self.cells if self.run is None else self.run


@dataclass
class AccessBatch:
    """Accesses of the threads of one task to a shadow region since their clocks last changed."""

    reads: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    writes: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    copies: list[ThreadAccess] = field(default_factory=list[ThreadAccess])
    """Writes by asynchronous copies of threads, which are in flight until a wait."""

    def __bool__(self) -> bool:
        return bool(self.reads or self.writes or self.copies)


@dataclass(frozen=True)
class AccessRows:
    """Accesses, one row for each cell and thread."""

    cells: Any
    threads: Any
    warps: Any
    op_indices: Any
    instances: Any
    visits: Any

    def like(self, row: int) -> Any:
        """Rows of the same thread and op."""
        return (self.op_indices == self.op_indices[row]) & (self.threads == self.threads[row])

    def of_warp(self, warp: int) -> AccessRows:
        """The rows of one warp."""
        return self.chosen(self.warps == warp)

    def chosen(self, rows: Any) -> AccessRows:
        """Some of the rows."""
        return AccessRows(
            self.cells[rows],
            self.threads[rows],
            self.warps[rows],
            self.op_indices[rows],
            self.instances[rows],
            self.visits[rows],
        )

    @classmethod
    def of(cls, accesses: Sequence[ThreadAccess]) -> AccessRows:
        sizes = [len(each.cells) for each in accesses]
        threads = np.concatenate([each.threads for each in accesses])
        return cls(
            np.concatenate([each.cells for each in accesses]),
            threads,
            threads // CODE,
            np.repeat([each.op_index for each in accesses], sizes),
            np.repeat([each.instance for each in accesses], sizes),
            np.repeat([each.visit for each in accesses], sizes),
        )
