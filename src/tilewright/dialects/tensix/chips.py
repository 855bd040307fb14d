"""The Tenstorrent chips: one table of hardware constants.

    property                    wormhole            blackhole
    L1 of a Tensix core         1464 KiB            1536 KiB
    circular buffers of a core  32                  64
    DRAM banks                  12                  8

The first 128 KiB of L1 are reserved for firmware, kernel text, run-time arguments and stacks; the
rest is the budget of circular buffers. `grid` is the logical core grid that every board with the
chip offers to a program; `largest_grid` is the most that some board offers. Logical coordinates
`(x, y)` are dense and start at (0, 0); device code sees NoC coordinates, which have gaps.

The chip `sim` has the constants of wormhole and any grid, L1 size and bank count: tests choose
them with `simulated`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

L1_RESERVED_BYTES = 128 * 1024
"""L1 below this address belongs to firmware, kernel text, run-time arguments and stacks."""

L1_WINDOW_BYTES = 2 * 1024 * 1024
"""Address space of one core's L1: more than any chip has."""


@dataclass(frozen=True)
class ChipSpec:
    """Hardware constants of one chip."""

    name: str
    arch: str
    """The architecture as the plan file and the vendor's build name it."""
    grid: tuple[int, int]
    """Logical cores (columns, rows) that every board with this chip offers."""
    largest_grid: tuple[int, int]
    clock_ghz: float
    l1_bytes: int
    circular_buffers: int
    """Circular buffers of one core."""
    dram_banks: int
    dram_bank_bytes: int
    noc_word_bytes: int
    max_noc_packet_bytes: int
    dram_read_alignment: int
    noc_origin: tuple[int, int]
    """NoC coordinate of the logical core (0, 0)."""
    noc_column_gaps: tuple[int, ...] = ()
    """NoC columns without Tensix cores, to the right of the origin."""
    ordered_multicast_flags: bool = True
    """Whether a semaphore multicast arrives after the data multicast issued before it."""
    dram_write_alignment: int = 16
    l1_alignment: int = 16
    semaphores: int = 16
    semaphore_stride_bytes: int = 16
    max_runtime_args: int = 341
    l1_reserved_bytes: int = L1_RESERVED_BYTES

    @property
    def cb_budget_bytes(self) -> int:
        """L1 bytes of a core that circular buffers and L1 buffers may take."""
        return self.l1_bytes - self.l1_reserved_bytes

    @property
    def num_cores(self) -> int:
        """Cores of `grid`."""
        return self.grid[0] * self.grid[1]

    def dst_tiles(self, *, fp32_dest_acc: bool, full_sync: bool) -> int:
        """DST slots of 32x32 elements that a compute kernel may use between acquire and commit."""
        return 16 // (2 if fp32_dest_acc else 1) // (1 if full_sync else 2)

    def noc_coordinate(self, x: int, y: int) -> tuple[int, int]:
        """NoC coordinates of the logical core (x, y)."""
        column = self.noc_origin[0] + x
        for gap in self.noc_column_gaps:
            if column >= gap:
                column += 1
        return column, self.noc_origin[1] + y

    def with_grid(self, columns: int, rows: int) -> ChipSpec:
        """This chip with another grid of usable cores.

        Raises:
            ValueError: if the grid is empty or no board with this chip offers it.
        """
        widest, tallest = self.largest_grid
        if min(columns, rows) < 1:
            raise ValueError(f"core grid {columns}x{rows} is empty: use at least 1x1 cores")
        if columns > widest or rows > tallest:
            raise ValueError(
                f"core grid {columns}x{rows} does not exist on {self.name}: "
                f"at most {widest}x{tallest} cores"
            )
        return replace(self, grid=(columns, rows))


WORMHOLE = ChipSpec(
    name="wormhole",
    arch="wormhole_b0",
    grid=(8, 7),
    largest_grid=(8, 10),
    clock_ghz=1.0,
    l1_bytes=1_499_136,
    circular_buffers=32,
    dram_banks=12,
    dram_bank_bytes=1_073_741_824,
    noc_word_bytes=32,
    max_noc_packet_bytes=8192,
    dram_read_alignment=32,
    noc_origin=(18, 18),
)

BLACKHOLE = ChipSpec(
    name="blackhole",
    arch="blackhole",
    grid=(11, 10),
    largest_grid=(14, 10),
    clock_ghz=1.35,
    l1_bytes=1_572_864,
    circular_buffers=64,
    dram_banks=8,
    dram_bank_bytes=4_278_190_080,
    noc_word_bytes=64,
    max_noc_packet_bytes=16384,
    dram_read_alignment=64,
    noc_origin=(1, 2),
    noc_column_gaps=(8, 9),
    ordered_multicast_flags=False,
)

SIM = replace(WORMHOLE, name="sim", arch="sim", grid=(8, 8), largest_grid=(32, 32))

CHIPS: Mapping[str, ChipSpec] = MappingProxyType(
    {chip.name: chip for chip in (WORMHOLE, BLACKHOLE, SIM)}
)
"""All chips by the name that a target string has after `tenstorrent:`."""


def chip_named(name: str) -> ChipSpec:
    """The chip of a target string's suffix.

    Raises:
        ValueError: if there is no such chip.
    """
    if name not in CHIPS:
        raise ValueError(f"unknown Tenstorrent chip '{name}': expected one of {', '.join(CHIPS)}")
    return CHIPS[name]


def simulated(
    columns: int,
    rows: int,
    *,
    l1_bytes: int = SIM.l1_bytes,
    dram_banks: int = SIM.dram_banks,
    circular_buffers: int = SIM.circular_buffers,
) -> ChipSpec:
    """The chip `sim` with these sizes.

    Raises:
        ValueError: if the grid is empty or too large, or L1 does not fit its address window.
    """
    if not L1_RESERVED_BYTES < l1_bytes <= L1_WINDOW_BYTES:
        raise ValueError(
            f"L1 of {l1_bytes} B: expected more than the {L1_RESERVED_BYTES} B reserved for "
            f"firmware and at most {L1_WINDOW_BYTES} B"
        )
    return replace(
        SIM.with_grid(columns, rows),
        l1_bytes=l1_bytes,
        dram_banks=dram_banks,
        circular_buffers=circular_buffers,
    )
