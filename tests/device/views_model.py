"""What a round of `views_kernel` has to read, from addresses and layouts alone.

Shared memory is an array of bytes here. A layout says at which byte of its buffer an element lies;
with the address of the buffer, that is all there is to know. Nothing here knows of Triton, of the
planner or of the index arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from tests.device.views_kernel import Rounds, data_bytes
from tilewright.dialects.ttg.shared import (
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.type_utils import bit_width

_CHUNK = 16  # what a swizzle moves as one, in bytes
_LINE = 128  # a swizzle repeats after eight of these

Starts = Mapping[str, list[int]]
"""Where the buffers of each leaf begin."""


def element_offsets(type: MemDescType) -> np.ndarray:
    """The byte, from the start of a buffer, of each of its elements in row-major order."""
    shape, size = type.shape[1:], bit_width(type.element_type) // 8
    layout, numbers = type.encoding, np.arange(prod(shape))
    if isinstance(layout, NvmmaSharedEncoding) and layout.swizzling_byte_width:
        return _hardware_swizzled(shape, size, layout.swizzling_byte_width)
    if isinstance(layout, PaddedSharedEncoding):
        gaps = zip(layout.intervals, layout.paddings, strict=True)
        return size * (numbers + sum(numbers // interval * gap for interval, gap in gaps))
    if isinstance(layout, SwizzledSharedEncoding):
        assert layout.max_phase == 1, "drawn without a swizzle"
    return size * numbers


def _hardware_swizzled(shape: tuple[int, ...], size: int, width: int) -> np.ndarray:
    """Column blocks as wide as the swizzle, one after the other; in each, chunks of 16 bytes are
    exchanged by the number of the 128-byte line they are in."""
    rows, columns = shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    byte = column * size
    place = byte // width * (rows * width) + row * width + byte % width
    return place ^ (place // _LINE % (width // _CHUNK) * _CHUNK)


def byte_offsets(type: MemDescType) -> np.ndarray:
    """`element_offsets` for every byte."""
    size = bit_width(type.element_type) // 8
    return (element_offsets(type)[:, None] + np.arange(size)).ravel()


@dataclass(frozen=True)
class Model:
    """What every round reads when buffers are written and read at given addresses."""

    rounds: Rounds
    written: Starts
    read: Starts

    def output(self, background: np.ndarray, patterns: np.ndarray) -> np.ndarray:
        places = self._places()
        rows: list[np.ndarray] = []
        for number, (leaf, index) in enumerate(self.rounds.buffers):
            memory = background.copy()
            mine = byte_offsets(leaf.type)
            memory[self.written[leaf.name][index] + mine] = patterns[number, : len(mine)]
            rows.append(memory[places])
        return np.stack(rows)

    def _places(self) -> np.ndarray:
        """The address behind every byte of a row of the output."""
        parts = [np.arange(self.rounds.size_bytes)]
        for leaf in self.rounds.leaves:
            own = byte_offsets(leaf.type)
            parts += [start + own for start in self.read[leaf.name]]
        return np.concatenate(parts)


def differences(rounds: Rounds, found: np.ndarray, expected: np.ndarray) -> list[str]:
    """One line for each pair of buffers where what was read is not what it should be."""
    lines: list[str] = []
    for number, (leaf, index) in enumerate(rounds.buffers):
        wrong = found[number] != expected[number]
        for other in (rounds.whole, *rounds.leaves):
            size, start = data_bytes(other.type), rounds.columns[other.name]
            for position in range(other.count):
                at = start + position * size
                if count := int(wrong[at : at + size].sum()):
                    lines.append(
                        f"{leaf.name}[{index}] written, {other.name}[{position}] read: "
                        f"{count} of {size} bytes differ"
                    )
    return lines
