"""``ldmatrix`` and ``stmatrix``: 8 x 8 matrices of 16-bit elements between shared memory and lanes.

An instruction moves one, two or four matrices. Lane ``8 * m + r`` names the address of row ``r``
of matrix ``m``, 16 bytes; register ``m`` of lane ``4 * r + c`` gets elements ``2 * c`` and
``2 * c + 1`` of row ``r``, or, with ``.trans``, of column ``r``. PTX ISA, "Warp-level matrix load
instruction".

A `MatrixMove` gives the 8 x 16-byte sub-tile that each matrix is. The usual ones, for operands
of ``mma.sync``, put the two halves of the rows first and then the two halves of K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.layouts.fragment import Fragment

SIDE = 8


def matrix_fragment(count: int, trans: bool = False) -> Fragment:
    """Coordinates (matrix, row, column) of 16-bit elements, as lanes hold them."""
    if count not in (1, 2, 4):
        raise ValueError(f"{count} matrices in one instruction, expected 1, 2 or 4")

    def thread(m: Any, r: Any, c: Any) -> Any:
        del m  # each matrix has a register of its own in the same lanes
        return 4 * c + r // 2 if trans else 4 * r + c // 2

    def register(m: Any, r: Any, c: Any) -> Any:
        return 2 * m + (r if trans else c) % 2

    return Fragment((count, SIDE, SIDE), thread, register)


@dataclass(frozen=True)
class MatrixMove:
    """One instruction on a tile in shared memory: where each of its matrices starts.

    `corners` are the row, and the 16-byte unit in it, of each matrix's first row.
    """

    corners: tuple[tuple[int, int], ...]
    trans: bool = False

    def __post_init__(self) -> None:
        if len(self.corners) not in (1, 2, 4):
            raise ValueError(f"{len(self.corners)} matrices in one instruction, expected 1, 2 or 4")

    @property
    def count(self) -> int:
        return len(self.corners)

    @property
    def name(self) -> str:
        """The instruction's suffix in PTX."""
        return f"x{self.count}" + (".trans" if self.trans else "")

    def address(self, lane: int) -> tuple[int, int]:
        """The row and 16-byte unit whose address a lane names; idle lanes repeat the others'."""
        row, unit = self.corners[lane // SIDE % self.count]
        return row + lane % SIDE, unit

    def contents(self, element_bits: int = 16) -> dict[tuple[int, int], tuple[int, int]]:
        """The row and column of the tile in each (lane, element of its registers).

        Elements narrower or wider than 16 bits move in groups or halves and cannot be transposed.
        """
        if element_bits != 16 and self.trans:
            raise ValueError(f".trans requires 16-bit elements, not {element_bits}-bit ones")
        found: dict[tuple[int, int], tuple[int, int]] = {}
        per_register = 32 // element_bits
        per_unit = 128 // element_bits
        if self.trans:
            held = matrix_fragment(self.count, True)
            for (lane, register), (matrix, row, column) in held.contents.items():
                top, unit = self.corners[matrix]
                found[lane, register] = top + row, unit * per_unit + column
            return found
        for lane in range(32):
            for matrix, (top, unit) in enumerate(self.corners):
                for part in range(per_register):
                    column = unit * per_unit + lane % 4 * per_register + part
                    found[lane, matrix * per_register + part] = top + lane // 4, column
        return found


def load_a(trans: bool = False) -> MatrixMove:
    """The 16 x 32-byte operand A, stored row by row (or, `trans`, 16-bit, column by column)."""
    if trans:
        return MatrixMove(((0, 0), (0, 1), (8, 0), (8, 1)), trans=True)
    return MatrixMove(((0, 0), (8, 0), (0, 1), (8, 1)))


def load_b(columns: int = 16, trans: bool = False) -> MatrixMove:
    """The operand B for 8 or 16 columns.

    Stored with K contiguous (rows of memory are columns of B), or, `trans`, with N contiguous.
    """
    if columns not in (8, 16):
        raise ValueError(f"one instruction loads 8 or 16 columns of B, not {columns}")
    if trans:
        pairs = tuple((8 * half, unit) for unit in range(columns // 8) for half in range(2))
    else:
        pairs = tuple((8 * group, half) for group in range(columns // 8) for half in range(2))
    return MatrixMove(pairs, trans)
