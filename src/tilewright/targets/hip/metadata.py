"""What a launcher and a reader of tables need of a HIP kernel, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tilewright.layouts.hardware.amd_chips import Chip, chip_named
from tilewright.targets.metadata import stamped


@dataclass(frozen=True)
class HipKernelMetadata:
    """A kernel as a launch sees it, and what it takes of a compute unit."""

    name: str
    chip: str
    threads: int
    shared: int
    """Bytes of LDS of a block, whether the source or the launch gives their size."""
    dynamic_shared: int
    """Those that the launch gives."""
    parameters: tuple[str, ...]
    """Kinds in order: ``ptr``, ``i32``, ``f32``, ..."""
    cooperative: bool = False
    vgprs: int = 0
    """Vector registers of a lane, AGPRs included."""
    agprs: int = 0
    sgprs: int = 0
    vgpr_spills: int = 0
    """Stores of vector registers to where the register allocator spills them."""
    sgpr_spills: int = 0
    scratch_bytes: int = 0
    """Private memory of a lane: spilled registers, and arrays that have no registers."""
    index_bits: int = 32
    """How wide the numbers are that address elements."""

    def as_values(self) -> dict[str, Any]:
        return stamped(asdict(self))

    @property
    def registers(self) -> int:
        return self.vgprs

    @property
    def spill_bytes(self) -> int:
        """Bytes of registers that a lane stores to memory.

        Scalar registers spill to lanes of vector registers, and take memory only when those do.
        """
        return 4 * self.vgpr_spills

    @property
    def waves(self) -> int:
        """Waves of a block."""
        return -(-self.threads // chip_named(self.chip).wave)

    @property
    def occupancy(self) -> int:
        """Waves on a SIMD at a time."""
        return occupancy(chip_named(self.chip), self.vgprs, self.shared, self.threads)


def occupancy(chip: Chip, registers: int, lds_bytes: int, threads: int) -> int:
    """Waves of a kernel that a SIMD has at a time: what registers and LDS leave space for.

    Where the waves of all blocks do not fill the SIMDs evenly, those of the fullest count.
    """
    by_registers = chip.waves_with(registers)
    if not lds_bytes:
        return by_registers
    waves = max(1, -(-threads // chip.wave))
    available = chip.lds_bytes * chip.block_simds // chip.simds_per_cu
    blocks = available // lds_bytes
    return min(by_registers, -(-blocks * waves // chip.block_simds))
