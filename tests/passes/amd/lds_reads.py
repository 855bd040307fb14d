"""What kernels read from LDS at the thread level: addresses of every lane, as the executor sees them.

Counts bank conflicts by the model of the chip, from addresses alone: how layouts were chosen does
not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from tilewright.dialects.amd.ops import MatrixCoreOp
from tilewright.dialects.simt.moves import MoveOp
from tilewright.layouts.hardware.amd_chips import Chip
from tilewright.layouts.hardware.banks import BankModel, fewest_wavefronts, wavefronts
from tilewright.targets.numpy.simt.buffers import SharedBuffer


@dataclass
class OperandReads:
    """The reads that fill registers of matrix instructions."""

    chip: Chip
    widths: Counter[int] = field(default_factory=Counter[int])
    """Reads of a wave, by bytes a lane."""
    conflicts: Counter[str] = field(default_factory=Counter[str])
    """Wavefronts too many, by the buffer that is read."""

    def add(self, buffer: str, addresses: Any, threads: Any, width: int) -> None:
        for wave in np.unique(threads // self.chip.wave):
            lanes: list[int | None] = [None] * self.chip.wave
            here = threads // self.chip.wave == wave
            for thread, address in zip(threads[here], addresses[here], strict=True):
                lanes[int(thread) % self.chip.wave] = int(address)
            self.widths[width] += 1
            self.conflicts[buffer] += _conflicts(tuple(lanes), width, self.chip.banks)


@cache
def _conflicts(lanes: tuple[int | None, ...], width: int, model: BankModel) -> int:
    return wavefronts(lanes, width, model) - fewest_wavefronts(lanes, width, model)


def _feeds_matrix_cores(registers: SSAValue) -> bool:
    return any(
        isinstance(use.operation, MatrixCoreOp) and registers is not use.operation.c
        for use in registers.uses
    )


@contextmanager
def recorded(chip: Chip) -> Iterator[OperandReads]:
    """Record while kernels run."""
    found, read = OperandReads(chip), SharedBuffer.read

    def reading(self: SharedBuffer, frame: Any, index: Any, lanes: int) -> Any:
        if isinstance(frame.op, MoveOp) and _feeds_matrix_cores(frame.op.dst):
            at = self.address(frame.wide(index)[frame.active])
            found.add(self.name, at, frame.active_tids, lanes * self.dtype.itemsize)
        return read(self, frame, index, lanes)

    SharedBuffer.read = reading  # type: ignore[method-assign]
    try:
        yield found
    finally:
        SharedBuffer.read = read  # type: ignore[method-assign]
