"""Bank conflicts of a run: every access of every wave to LDS, by its addresses.

What a compiler predicts from layouts is measured here from what threads of the finished kernel do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

from tilewright.layouts.hardware.banks import WIDTHS, BankModel, fewest_wavefronts, wavefronts
from tilewright.targets.numpy.simt.buffers import SharedBuffer
from tilewright.targets.numpy.simt.state import Frame


@dataclass
class Accesses:
    """Of one op."""

    name: str
    """Of the buffer."""
    width: int
    """Bytes of one lane."""
    writes: bool
    instructions: int = 0
    wavefronts: int = 0
    fewest: int = 0

    @property
    def conflicts(self) -> int:
        return self.wavefronts - self.fewest


@contextmanager
def counted(model: BankModel) -> Generator[Mapping[Operation, Accesses]]:
    """Counts while it is open; each pattern of addresses is counted once and then multiplied."""
    found: dict[Operation, Accesses] = {}
    known: dict[bytes, tuple[int, int]] = {}

    def record(held: SharedBuffer, frame: Frame, index: Any, lanes: int, writes: bool) -> None:
        op = frame.op
        width = lanes * held.dtype.itemsize
        if op is None or width not in WIDTHS:
            return
        entry = found.setdefault(op, Accesses(held.name, width, writes))
        address = held.address(frame.wide(index))
        by_wave: dict[int, list[int | None]] = defaultdict(lambda: [None] * model.lanes)
        for position in np.flatnonzero(frame.active):
            wave, lane = divmod(int(frame.tids[position]), model.lanes)
            by_wave[wave][lane] = int(address[position])
        for lanes_of_wave in by_wave.values():
            key = repr((lanes_of_wave, width, writes)).encode()
            if key not in known:
                known[key] = (
                    wavefronts(lanes_of_wave, width, model, writes=writes),
                    fewest_wavefronts(lanes_of_wave, width, model, writes=writes),
                )
            entry.instructions += 1
            entry.wavefronts += known[key][0]
            entry.fewest += known[key][1]

    read, write = SharedBuffer.read, SharedBuffer.write

    def counting_read(self: SharedBuffer, frame: Frame, index: Any, lanes: int) -> Any:
        record(self, frame, index, lanes, writes=False)
        return read(self, frame, index, lanes)

    def counting_write(self: SharedBuffer, frame: Frame, index: Any, values: Any) -> None:
        record(self, frame, index, values.shape[1], writes=True)
        write(self, frame, index, values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SharedBuffer, "read", counting_read)
        patch.setattr(SharedBuffer, "write", counting_write)
        yield found
