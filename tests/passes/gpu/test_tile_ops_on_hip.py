"""Combiners, compare-and-swap, precisions and scaled GEMMs as HIP text, which clang compiles."""

from __future__ import annotations

import numpy as np
import pytest

from tests.passes.gpu.combiner_kernels import COMBINERS, tile_kernel
from tests.passes.gpu.test_compare_and_swap import locked_by_the_block, swaps
from tests.passes.gpu.test_gemm_precision import gemm
from tests.passes.gpu.test_scaled_gemms import Case
from tests.passes.gpu.tile_levels import lowered
from tests.targets.hip.support import needs_clang
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.hip.clang import assembly
from tilewright.targets.hip.emit.kernel import emit_kernel, kernels_of

CASES = {
    "reduce_by": (tile_kernel(COMBINERS["argmax"], (4, 100), 1), "s_barrier"),
    "scan_by": (tile_kernel(COMBINERS["linear"], (4, 100), 1, scan=True), "s_barrier"),
    "cas": (swaps(np.float32, 32, 32, "order acq_rel scope sys"), "atomic_cmpswap"),
    "lock": (locked_by_the_block(), "atomic_cmpswap"),
    "precision": (gemm(64, 64, 32, "ieee", type="f64"), "v_fmac_f64"),
    "bf16x3": (gemm(64, 64, 32, "bf16x3"), "wmma_f32_16x16x16_bf16"),
    "scaled": (Case("e2m1", "e4m3", turned="B").text(), "bf16"),
}


@needs_clang
@pytest.mark.parametrize("name", CASES)
def test_clang_compiles(name):
    text, expected = CASES[name]
    arch = "gfx1100" if name == "bf16x3" else "gfx942"
    for function in kernels_of(lowered(text, f"hip:{arch}")):
        source = emit_kernel(function, chip_named(arch))
        assert expected in assembly(source.text, arch)
