"""Which register of which lane of which warp a load from tensor memory fills.

A warp can access the 32 lanes of tensor memory with its own index (modulo 4), so two bits of the
warp are rows 32 and 64. The rest is the *atom* of the instruction ``tcgen05.ld``:

=========  =============================================================
32x32b     lane = row; registers walk along the columns
16x64b     16 rows; two consecutive lanes, rows 8 apart in the other bit
16x128b    16 rows; four consecutive lanes
16x256b    16 rows; four consecutive lanes, two registers each: as in ``mma``
=========  =============================================================

Warps beyond four divide the repetitions of the instruction, the last ones first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.layouts.bits import log2
from tilewright.layouts.encodings.tensor_memory import COLUMN, ROW, SPARE_LANE_BIT, TensorMemory
from tilewright.layouts.linear import BLOCK, LANE, REGISTER, WARP, Basis, LinearLayout

WARPS_TOGETHER = 4


@dataclass(frozen=True)
class Atom:
    """How one instruction hands columns out; `packed` elements share a register first."""

    registers_before_rows: int
    """How many bits of the 32-bit column are registers, below those of the lanes."""
    column_lanes: int
    """How many bits of the column go to lanes."""
    upper_rows_in_lane: bool
    """Whether row bit 3 is a bit of the lane; otherwise it is one of the register."""


TMEM_ATOMS = {
    "16x64b": Atom(0, 1, True),
    "16x128b": Atom(0, 2, False),
    "16x256b": Atom(1, 2, False),
}
"""The atoms of 16 rows. ``32x32b`` needs no table."""


def tensor_memory_registers(
    memory: TensorMemory,
    shape: Sequence[int],
    element_bits: int,
    num_warps: int,
    atom: str = "32x32b",
) -> LinearLayout:
    """The register layout of a load from, or a store to, a tensor in tensor memory."""
    if num_warps < WARPS_TOGETHER or num_warps & (num_warps - 1):
        raise ValueError(f"{num_warps} warps cannot access tensor memory, expected 4, 8, …")
    layout = memory.to_linear(shape)
    rows = layout.bases_of(ROW)
    columns = [basis for basis in layout.bases_of(COLUMN) if any(basis)]
    if atom == "32x32b":
        registers, lanes, repeats = [], list(rows[:5]), columns
    elif atom in TMEM_ATOMS:
        registers, lanes, repeats = _sixteen_rows(
            TMEM_ATOMS[atom], rows, columns, _packed_bits(memory, element_bits)
        )
    else:
        raise ValueError(f"unknown tensor-memory atom {atom!r}")
    extra = log2(num_warps // WARPS_TOGETHER)
    retained = max(0, len(repeats) - extra)
    # Warps for which nothing is left hold copies.
    shared_out = [*repeats[retained:], *[(0, 0)] * extra][:extra]
    registers += repeats[:retained]
    if atom == "32x32b" and not any(lanes[SPARE_LANE_BIT]) and registers:
        # Blocks of 64 rows leave every second half-warp idle: it takes the far columns.
        lanes[SPARE_LANE_BIT] = registers.pop()
    bases = {REGISTER: registers, LANE: lanes, WARP: [*rows[5:], *shared_out], BLOCK: []}
    return LinearLayout.of(bases, dict(layout.out_dims))


def _packed_bits(memory: TensorMemory, element_bits: int) -> int:
    """How many low bits of the element index are inside a register.

    Elements of 16 bits are packed by the load even when each has a column to itself.
    """
    if memory.col_stride == 1 or element_bits == 16:
        return log2(32 // element_bits)
    return 0


def _sixteen_rows(
    atom: Atom, rows: Sequence[Basis], columns: Sequence[Basis], packed: int
) -> tuple[list[Basis], list[Basis], list[Basis]]:
    """The registers and lanes of one instruction, and the bits that count its repetitions."""
    first = packed + atom.registers_before_rows
    if len(columns) < first + atom.column_lanes:
        raise ValueError("the tensor is narrower than one instruction")
    registers = list(columns[:first])
    lanes = list(columns[first : first + atom.column_lanes])
    if atom.upper_rows_in_lane:
        lanes.insert(0, rows[3])
    else:
        registers.append(rows[3])
    lanes += rows[:3]
    repeats = list(columns[first + atom.column_lanes :])
    repeats += [rows[SPARE_LANE_BIT]] if any(rows[SPARE_LANE_BIT]) else []
    return registers, lanes, repeats
