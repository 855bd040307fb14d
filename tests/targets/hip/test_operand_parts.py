"""Kernels whose tiles exceed the LDS of a block, as code objects: nothing spills.

Operands are read 128 bits at a time, whichever dimension K is: each GEMM has parts of its own, with
K contiguous.
"""

from __future__ import annotations

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.amd.latent_attention import latent_attention
from tests.targets.hip.isa import LDS_READ, WIDE_LDS_READ, matrix_loops, unordered_barriers
from tests.targets.hip.support import CHIPS, needs_clang
from tilewright import T
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.targets.hip.artefact import HipKernel
from tilewright.targets.hip.compile import compile_module

FILLED = re.compile(r"'\w+'(?: and '\w+')? filled in \d+ parts along K")


def compiled(module: ModuleOp, chip: str) -> tuple[HipKernel, list[str]]:
    """The only kernel, which does not spill, and its operands in parts."""
    program = compile_module(module, chip)
    (kernel,) = program.kernels.values()
    metadata = kernel.metadata
    assert (metadata.vgpr_spills, metadata.sgpr_spills, metadata.scratch_bytes) == (0, 0, 0)
    assert metadata.shared <= chip_named(chip).lds_bytes
    assert unordered_barriers(kernel.isa) == []
    assert not any("error" in each for each in program.remarks)
    return kernel, [found[0] for each in program.remarks if (found := FILLED.search(each))]


@needs_clang
@pytest.mark.parametrize("chip", ["gfx942", "gfx1201"])
def test_a_tile_of_72_kib_compiles(chip: str) -> None:
    @T.prim_func
    def gram(A: T.Tensor((64, 576), "float16"), D: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((64, 576), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(A, tile)
            T.gemm(tile, tile, total, transpose_B=True, clear_accum=True)
            T.copy(total, D)

    kernel, filled = compiled(gram.module, chip)
    assert filled == ["'tile' filled in 2 parts along K"]
    assert kernel.metadata.shared == 64 * 288 * 2
    reads = re.findall(LDS_READ, kernel.isa)
    assert len(reads) > 0
    assert all(map(WIDE_LDS_READ.match, reads))


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("weights_in", ["shared", "registers", "both"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_latent_attention_compiles(chip: str, weights_in: str, dtype: str) -> None:
    """MLA's decoding: 64 heads, 64 keys of 512 + 64 elements, 256 threads."""
    kernel, filled = compiled(
        latent_attention(
            *(128, 8192, 512),
            rope=64,
            rows=64,
            threads=256,
            dtype=dtype,
            weights_in=weights_in,
        ).module,
        chip,
    )
    assert filled == [
        "'Qs' and 'KVs' filled in 4 parts along K",
        "'KVs' filled in 2 parts along K",
    ]
    (loop,) = matrix_loops(kernel.isa)
    wide, reads = loop.count(WIDE_LDS_READ), loop.count(LDS_READ)
    assert wide >= 0.9 * reads  # the others are of rows' maxima and sums


@needs_clang
@pytest.mark.slow
@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize(("dim", "block"), [(256, 64), (576, 64), (512, 32), (512, 128)])
def test_other_sizes_compile(chip: str, dim: int, block: int) -> None:
    kernel = latent_attention(128, 1024, dim, rope=64, rows=64, block=block, threads=256)
    _, filled = compiled(kernel.module, chip)
    assert len(filled) in (1, 2)
