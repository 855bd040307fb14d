"""The kernels of `examples/tile`, at the sizes of a GPU, as code objects for every chip.

Bars: all of them compile; GEMMs and attention do not spill and have no scratch memory; the innermost
matrix loop of a GEMM has 128-bit accesses only, no copies between halves of the register file, and
waits for all global loads once at most. `NARROW`, `WAITS` and `AGPRS` name what is not so.
"""

from __future__ import annotations

import pytest

from tests.examples.gpu_sizes import ATTENTION, EXAMPLES, GEMM, KERNELS, GpuKernel
from tests.targets.hip.isa import findings, matrix_loops, unordered_barriers, whole_chunks
from tests.targets.hip.support import CHIPS, needs_clang
from tests.targets.hip.triton_assembler import CHIP as GFX950
from tests.targets.hip.triton_assembler import compile_source, needs_triton_for_amd
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip.compile import compile_module, lower_module
from tilewright.targets.hip.emit.kernel import emit_kernel
from tilewright.targets.hip.notes import kernel_notes

CUT = {
    "dynamic_shapes.matmul": "rows of unknown length: chunks that are cut are loaded by elements"
}
"""Kernels with two ways to load a chunk, and why: all bars are for the way of whole chunks."""
NARROW = {
    **CUT,
    "block_sparse_gemm": "the mask of blocks is read by elements",
    "dequant_gemm.matmul_int4": "packed weights are unpacked from LDS",
    "linear_attention": "operands that vary along the other axis",
    "attention_backward.gradients": "operands that vary along the other axis",
}
"""Kernels whose matrix loop has accesses narrower than 128 bits, and why."""
WAITS = {"block_sparse_gemm": "a branch depends on loaded data, and waits for it"}
"""Kernels whose loop waits for global loads more than once, and why."""
WAITS_WITH_FEW_REGISTERS = {
    "gemm",
    "persistent_gemm.matmul_persistent",
    "persistent_gemm.matmul_persistent.parts",
}
"""Tiles of 128 x 256, on chips with 256 registers: too few for the tile of B to be in flight, too
(TW7503)."""
WAITS_OF_CUT_CHUNKS = {"gfx1201"}
"""Chips on which LLVM lets loads of whole chunks wait for those of chunks that were cut."""
AGPRS = {"attention", "attention_backward.gradients", "persistent_gemm.matmul_persistent"}
"""Kernels that need more than half of gfx9's registers, and copies between the halves."""


def _check(kernel: GpuKernel, chip: str, isa: str, spills: int, scratch: int) -> None:
    if kernel.kind in (GEMM, ATTENTION):
        assert (spills, scratch) == (0, 0)
    assert unordered_barriers(isa) == []
    found = matrix_loops(isa)
    if kernel.kind != GEMM or not found:
        return
    inner = [each for each in found if each.depth == max(one.depth for one in found)]
    for loop in inner:
        left = findings(loop)
        if kernel.label in NARROW:
            left = [each for each in left if "128 bits wide" not in each]
        if kernel.label in AGPRS:
            left = [each for each in left if "AGPRs" not in each]
        assert left == []
        is_full = chip_named(chip).registers == 256 and kernel.label in WAITS_WITH_FEW_REGISTERS
        if kernel.label not in WAITS and not is_full:
            way = loop
            if kernel.label in CUT:
                if chip in WAITS_OF_CUT_CHUNKS:
                    continue
                way = whole_chunks(isa, loop)
            assert way.full_waits <= 1, "global loads are in flight across an iteration"


def _compiles(kernel: GpuKernel, chip: str) -> None:
    module = kernel.trace().module
    for each in compile_module(module, chip).kernels.values():
        metadata = each.metadata
        assert 0 < metadata.vgprs <= chip_named(chip).registers
        assert metadata.shared <= chip_named(chip).lds_bytes
        assert metadata.occupancy >= 1
        _check(kernel, chip, each.isa, metadata.spill_bytes, metadata.scratch_bytes)


def _compiles_for_gfx950(kernel: GpuKernel) -> None:
    module, pipeline = kernel.trace().module, AmdPipeline(target=f"hip:{GFX950}")
    lowered = lower_module(module, pipeline)
    for function, source in zip(lowered.functions, lowered.sources, strict=True):
        done = compile_source(source.text)
        note = kernel_notes(done.code_object)[source.name]
        if note.agprs or note.vgpr_spills:
            alone = emit_kernel(function, chip_named(GFX950), waves_per_simd=1)
            done = compile_source(alone.text)
            note = kernel_notes(done.code_object)[source.name]
        assert note.lds_bytes == source.shared_bytes
        _check(kernel, GFX950, done.isa, note.vgpr_spills, note.scratch_bytes)


@needs_clang
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_a_gemm_compiles(chip: str) -> None:
    _compiles(KERNELS["gemm.128x128"], chip)


@needs_triton_for_amd
def test_a_gemm_compiles_for_gfx950() -> None:
    _compiles_for_gfx950(KERNELS["gemm.128x128"])


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("kernel", EXAMPLES, ids=lambda each: each.label)
def test_every_example_compiles(kernel: GpuKernel, chip: str) -> None:
    _compiles(kernel, chip)


@needs_triton_for_amd
@pytest.mark.slow
@pytest.mark.parametrize("kernel", EXAMPLES, ids=lambda each: each.label)
def test_every_example_compiles_for_gfx950(kernel: GpuKernel) -> None:
    _compiles_for_gfx950(kernel)
