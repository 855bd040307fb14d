"""Tensor memory of one block: its contents and its allocations.

What orders accesses is in `analysis/thread_sync/tensor_memory`.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from tilewright.analysis.thread_sync.tensor_memory import (
    Cells,
    TensorFaultKind,
    TensorNotes,
    TensorOrder,
)
from tilewright.layouts.hardware.tcgen05 import COLUMNS, LANES
from tilewright.targets.numpy.simt.machine import Pending
from tilewright.targets.numpy.simt.problems import Note, SimtRuntimeFault
from tilewright.targets.numpy.simt.state import BlockRun

_POISON = 0xA5A5A5A5
_ALLOCATION_STEP = 32


class TensorMemory(TensorOrder):
    """128 lanes of 512 columns."""

    def __init__(self, block: BlockRun) -> None:
        super().__init__(block.clocks, checks_values=True)
        self.block = block
        self.contents = np.full((LANES, COLUMNS), _POISON, np.uint32)
        self.owned = np.zeros(COLUMNS, np.bool_)
        self.allocations: dict[int, tuple[int, Operation]] = {}
        """Columns and site, by first column."""
        self.relinquished: Operation | None = None
        self.pending: dict[tuple[str, int], list[Pending]] = {}
        """In-flight loads and stores by warp."""

    @override
    def fail(
        self, kind: TensorFaultKind, message: str, op: Operation, notes: TensorNotes = ()
    ) -> NoReturn:
        raise SimtRuntimeFault(kind, message, op, [Note(text, where) for where, text in notes])

    # -- allocation ----------------------------------------------------------------------------

    def free_column(self, columns: int) -> int | None:
        """The first run of free columns, aligned as allocations are."""
        for first in range(0, COLUMNS - columns + 1, _ALLOCATION_STEP):
            if not self.owned[first : first + columns].any():
                return first
        return None

    def allocate(self, first: int, columns: int, op: Operation) -> None:
        self.allocations[first] = columns, op
        self.owned[first : first + columns] = True
        self.is_written[:, first : first + columns] = False

    def free(self, first: int) -> None:
        columns, _ = self.allocations.pop(first)
        self.owned[first : first + columns] = False

    def check_allocated(self, op: Operation, cells: Cells, what: str) -> None:
        """Every column belongs to an allocation."""
        end = cells.first + cells.columns
        outside = np.arange(cells.first, end)
        wrong = [c for c in outside if not 0 <= c < COLUMNS or not self.owned[c]]
        if not wrong:
            return
        held = [f"{first} to {first + n - 1}" for first, (n, _) in sorted(self.allocations.items())]
        raise SimtRuntimeFault(
            "out of bounds",
            f"{what} columns {cells.first} to {end - 1} of tensor memory, but column {wrong[0]} "
            "is not allocated",
            op,
            [Note(f"allocated: {', '.join(held) or 'nothing'}")],
        )

    def check_freed(self) -> None:
        """Nothing may be allocated when the block exits."""
        for first, (columns, op) in self.allocations.items():
            raise SimtRuntimeFault(
                "tensor memory",
                f"the block exits with columns {first} to {first + columns - 1} of tensor memory "
                "allocated; nv.tcgen05.dealloc is missing",
                op,
            )
