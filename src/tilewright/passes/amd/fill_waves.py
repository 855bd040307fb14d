"""`fill-waves`: threads of whole waves, for kernels with GEMMs that never name a thread.

    tile.kernel ... threads(32) { tile.gemm ... }    ->    tile.kernel ... threads(64) { ... }

Matrix instructions take a whole wave. A block of 32 threads, a warp of other GPUs, is half a wave
of 64 lanes: its GEMMs would be computed in loops, by half of the lanes, from many registers. Tile
ops mean the same for every number of threads; a kernel that names threads stays as it is, and
`check-amd-features` reports what that costs (TW7517).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import GemmOp, ScaledGemmOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.double_threads import never_names_a_thread

FILLED = "TW7552"


@dataclass(frozen=True)
class FillWaves(Pass):
    """Round the threads of a block up to whole waves."""

    name = "fill-waves"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            chip, threads = amd_chip_of(kernel), kernel.num_threads
            if chip is None or threads is None or threads % chip.wave == 0:
                continue
            assert kernel.thread_extents is not None  # it has a number of threads
            first, *others = kernel.thread_extents
            has_gemm = any(isinstance(op, GemmOp | ScaledGemmOp) for op in walk(kernel))
            if not has_gemm or first != threads or not never_names_a_thread(kernel):
                continue
            more = -(-threads // chip.wave) * chip.wave
            engine.remark(
                kernel,
                f"{more} threads per block instead of {threads}: matrix instructions take all "
                f"{chip.wave} lanes of a wave on {chip}",
                FILLED,
            ).note(None, f"help: no change is required; use threads={more}")
            kernel.set_threads((more, *others))
