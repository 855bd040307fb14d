"""Register spills: what the compiler reports, where it comes from, what would fit.

    gemm.py:19: warning[TW5012]: gemm_kernel: 96 B per thread spill to scratch memory: about 536
    registers needed, 512 available

What a kernel needs is what a lane has and what is in scratch memory beside. With more threads,
each holds less of the same tiles; a block of many waves leaves each fewer registers.
"""

from __future__ import annotations

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.layouts.hardware.amd_chips import Chip, chip_named
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.register_arrays import warn

_REGISTER_BYTES = 4


def warn_of_spills(function: FuncOp, metadata: HipKernelMetadata, engine: DiagnosticEngine) -> None:
    """Warn about register spills and suggest a fix."""
    if not metadata.spill_bytes:
        return
    chip = chip_named(metadata.chip)
    need = metadata.vgprs + -(-metadata.scratch_bytes // _REGISTER_BYTES)
    limit = registers_for(chip, metadata.threads)
    available = f"{limit} available"
    if metadata.vgprs < limit:
        available = f"{metadata.vgprs} used of {limit}"
    warn(
        function,
        f"{metadata.name}: {metadata.spill_bytes} B per thread spill to scratch memory: "
        f"about {need} registers needed, {available}",
        metadata.threads,
        lambda largest: _suggest_fix(chip, need, metadata.threads, largest),
        engine,
    )


def registers_for(chip: Chip, threads: int) -> int:
    """The most registers that a lane of a block of so many threads can have."""
    waves = -(-threads // chip.wave)
    per_simd = -(-waves // chip.block_simds)
    each = chip.register_file // per_simd // chip.register_granule * chip.register_granule
    return min(chip.registers, each)


def _suggest_fix(chip: Chip, need: int, threads: int, largest: str) -> str:
    """The smallest number of threads among which the tiles fit, or the largest tile that fits."""
    count = threads * 2
    while count <= chip.max_threads:
        each = -(-need * threads // count)
        if each <= registers_for(chip, count):
            return f"use threads={count} (about {each} registers per thread) or a smaller tile"
        count *= 2
    tiles = f"the tiles, '{largest}' first," if largest else "the tiles"
    part = 1
    while -(-need // part) > registers_for(chip, threads):
        part *= 2
    return f"reduce {tiles} to 1/{max(part, 2)} of their size"
