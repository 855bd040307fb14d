"""The closed form of a GEMM on a rectangle of cores, as the vendor's library runs it.

Every core computes `core_tiles` of C in blocks of `block_tiles`; for each block it walks over K in
steps of `step_tiles`. One core of a row reads A and multicasts it along the row, one core of a
column reads B and multicasts it along the column, on different processors.

    compute   matmuls * max(FPU, unpackers)
    movement  steps * max(read + multicast of A, read + multicast of B)
    dram      bytes of all cores / rate of DRAM
    total     max(compute + startup, movement, dram)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from tilewright.analysis.tensix_cost.formulas import (
    dram_cycles,
    matmul_cycles,
    multicast_cycles,
    read_cycles,
)
from tilewright.analysis.tensix_cost.parameters import CostTable


@dataclass(frozen=True)
class GemmRun:
    """One launch of a GEMM; sizes in tiles."""

    grid: tuple[int, int]
    """Columns and rows of cores."""
    core_tiles: tuple[int, int]
    """Rows and columns of C that a core computes."""
    block_tiles: tuple[int, int]
    """Rows and columns of C between two walks over K."""
    depth: int
    """Tiles along K."""
    step_tiles: int
    """Tiles along K between two barriers."""
    subblock: tuple[int, int]
    page_bytes: int
    fidelity: str
    a_in_l1: bool = False
    """Whether A is sharded over the L1 of the cores, and with it C."""
    multicasts_b: bool = True
    """Whether the cores of a column share B; otherwise each core reads its own."""

    @property
    def matmuls(self) -> int:
        """Tile matmuls of one core."""
        return self.core_tiles[0] * self.core_tiles[1] * self.depth

    @property
    def walks(self) -> tuple[int, int]:
        """Blocks of a core along rows and columns."""
        return (
            -(-self.core_tiles[0] // self.block_tiles[0]),
            -(-self.core_tiles[1] // self.block_tiles[1]),
        )

    @property
    def dram_bytes(self) -> int:
        """Bytes that all cores together read and write."""
        (columns, rows), (high, wide) = self.grid, self.core_tiles
        along_rows, along_columns = self.walks
        senders_of_a = 1 if not self.multicasts_b else rows
        a = 0 if self.a_in_l1 else senders_of_a * high * self.depth * along_columns
        b = columns * (1 if self.multicasts_b else rows) * wide * self.depth * along_rows
        c = 0 if self.a_in_l1 else columns * rows * high * wide
        return (a + b + c) * self.page_bytes


@dataclass(frozen=True)
class GemmCost:
    """Cycles; a model, not a measurement."""

    compute: Fraction
    movement: Fraction
    dram: Fraction
    startup: Fraction

    @property
    def total(self) -> Fraction:
        return max(self.compute + self.startup, self.movement, self.dram)

    @property
    def limit(self) -> str:
        """What the total is determined by."""
        parts = {"compute": self.compute + self.startup, "NoC": self.movement, "DRAM": self.dram}
        return max(parts, key=lambda name: parts[name])


def gemm_cost(run: GemmRun, table: CostTable) -> GemmCost:
    """Cycles of a launch."""
    pages = (run.page_bytes, run.page_bytes)
    compute = run.matmuls * matmul_cycles(table, run.fidelity, run.subblock, pages)
    a = _panel(table, run, run.block_tiles[0], is_read=not run.a_in_l1, is_sent=True)
    b = _panel(table, run, run.block_tiles[1], is_read=True, is_sent=run.multicasts_b)
    steps = -(-run.depth // run.step_tiles) * run.walks[0] * run.walks[1]
    return GemmCost(
        compute, steps * max(a, b), dram_cycles(table, run.dram_bytes), table.startup.value
    )


def _panel(table: CostTable, run: GemmRun, tiles: int, *, is_read: bool, is_sent: bool) -> Fraction:
    """One K step of one operand, on the core that sends it."""
    pages = tiles * run.step_tiles
    read = read_cycles(table, pages, run.page_bytes) if is_read else Fraction(0)
    return read + (multicast_cycles(table, pages * run.page_bytes) if is_sent else 0)
