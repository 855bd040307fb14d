"""Cycles of single operations, from the parameters of an architecture.

read, write, multicast    latency + bytes / rate, for all pages between two barriers
tile matmul              max(FPU, unpackers); of the two operands of a sub-block of h x w tiles
                          the one of the shorter side is loaded for every matmul, the other
                          once per row (column) of the sub-block
element-wise, reduction   FPU and SFPU cycles; unpackers and packer run beside them
"""

from __future__ import annotations

from fractions import Fraction

from tilewright.analysis.tensix_cost.parameters import (
    FIDELITY_PHASES,
    OTHER_SFPU_INSTRUCTIONS,
    SFPU_INSTRUCTIONS,
    CostTable,
)


def read_cycles(table: CostTable, pages: int, page_bytes: int) -> Fraction:
    """DRAM pages to L1, with the barrier."""
    return table.read_latency.value + pages * page_bytes / table.read_rate.value


def multicast_cycles(table: CostTable, size_bytes: int) -> Fraction:
    """L1 to the same address of a row or column of cores, in one call."""
    return table.multicast_latency.value + size_bytes / table.multicast_rate.value


def dram_cycles(table: CostTable, size_bytes: int) -> Fraction:
    """What all cores together read and write."""
    return size_bytes / table.dram_rate.value


def matmul_cycles(
    table: CostTable, fidelity: str, subblock: tuple[int, int], page_bytes: tuple[int, int]
) -> Fraction:
    """One tile matmul of ``matmul_block`` over a sub-block of `subblock` rows and columns."""
    height, width = subblock
    in0, in1 = page_bytes
    if height > width:
        unpack = (in0 + Fraction(in1, height)) / table.unpack_rate_high.value
    else:
        unpack = (in1 + Fraction(in0, width)) / table.unpack_rate.value
    return max(_matmul_math(table, fidelity), unpack)


def single_matmul_cycles(table: CostTable, fidelity: str, page_bytes: tuple[int, int]) -> Fraction:
    """One tile matmul of ``matmul_tiles``, which loads both operands."""
    return max(_matmul_math(table, fidelity), sum(page_bytes) / table.unpack_rate.value)


def _matmul_math(table: CostTable, fidelity: str) -> Fraction:
    return FIDELITY_PHASES[fidelity] * table.matmul_phase.value + table.matmul_overhead.value


def fpu_cycles(table: CostTable, kind: str, function: str, fidelity: str) -> Fraction:
    """One tile of an FPU op other than a matmul."""
    phases = FIDELITY_PHASES[fidelity]
    if kind in ("binary", "bcast"):
        return table.fpu_add.value if function != "mul" else phases * table.fpu_mul_phase.value
    if kind == "reduce":
        return table.fpu_reduce_phase.value * (1 if function == "max" else phases)
    return table.fpu_transpose.value if kind == "transpose" else table.fpu_copy.value


def sfpu_cycles(table: CostTable, function: str) -> Fraction:
    """One tile of an SFPU function."""
    return SFPU_INSTRUCTIONS.get(function, OTHER_SFPU_INSTRUCTIONS) * table.sfpu_step.value


def unpack_cycles(table: CostTable, size_bytes: int) -> Fraction:
    """Tiles of circular buffers to FPU or DST."""
    return size_bytes / table.unpack_rate.value


def pack_cycles(table: CostTable, size_bytes: int) -> Fraction:
    """Tiles of DST to a circular buffer."""
    return size_bytes / table.pack_rate.value
