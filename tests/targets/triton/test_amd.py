"""Kernels of `tl` become code objects of AMD GPUs, with their registers, spills and LDS."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tl_examples import NAMES, load
from tests.sampling import only
from tilewright import tl
from tilewright.dialects.amd.chips import chip_named
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.runtime.compile_only import compiling_only
from tilewright.runtime.compiled import CompiledKernel
from tilewright.targets.triton import amdgcn, installation
from tilewright.targets.triton.artefact import Artefact, read_artefact
from tilewright.targets.triton.compile import compile_module

from .support import CORPUS, SCALE, parse

pytest.importorskip("triton", reason="the machine code is made by Triton, which is not installed")

_ELF_MACHINE = slice(18, 20)
_AMDGPU = (224).to_bytes(2, "little")
MULTIPLIES = ("attention", "block_scaled_matmul", "conv2d", "grouped_gemm", "matmul")


@functools.cache
def artemetadata(name: str, chip: str) -> tuple[Artefact, ...]:
    """What an example launches, in the sizes it runs with on the host."""
    found: list[CompiledKernel] = []
    with tw.running(target=f"triton:{chip}"), compiling_only(found.append):
        try:
            load(name).example(np.random.default_rng(0))
        except TypeError:  # what it would have gone on with was not computed
            assert found
    unique = {each.artefact.key: each.artefact for each in found if each.artefact is not None}
    return tuple(unique.values())


def check(name: str, chip_name: str) -> None:
    chip = chip_named(chip_name)
    assert chip is not None
    made = artemetadata(name, chip_name)
    assert made
    for artefact in made:
        metadata = artefact.metadata
        assert artefact.code[:4] == b"\x7fELF"
        assert artefact.code[_ELF_MACHINE] == _AMDGPU
        assert f"gfx{chip_name[3:]}" in artefact.text("amdgcn").splitlines()[0]
        assert metadata.arch_name == chip_name
        assert metadata.spill_bytes == metadata.stack_bytes == 0
        assert 0 < metadata.registers <= chip.registers
        assert 0 < metadata.scalar_registers <= 112
        assert 0 <= metadata.shared <= chip.lds_bytes
        assert metadata.threads == chip.wave * metadata.num_warps
        assert ("v_mfma_" in artefact.text("amdgcn")) == (
            name in (*MULTIPLIES, "persistent_matmul")
        )


@pytest.mark.parametrize("name", only(["matmul", "softmax", "vector_add"], NAMES))
def test_examples_become_code_objects_of_gfx942(name: str):
    check(name, "gfx942")


@pytest.mark.parametrize("name", only(["grouped_gemm"], NAMES))
def test_examples_become_code_objects_of_gfx950(name: str):
    check(name, "gfx950")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_examples_become_code_objects_of_gfx90a(name: str):
    check(name, "gfx90a")


@pytest.mark.parametrize("chip", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    "name", only(["vector_add"], ["vector_add", "softmax_row", "flash_attn_fwd"])
)
def test_it_is_the_code_object_of_triton_itself(name: str, chip: str):
    from tests.dumps.consumer import build

    module = parse((CORPUS / f"{name}.ttir").read_text())
    text = installation.spelling_of(print_module, module)
    options = {"num_warps": 4, "num_stages": 2, "num_ctas": 1}
    made = compile_module(module, capability=chip, num_stages=2)
    assert made.code == build(text, "source.ttir", chip, options)
    assert list(made.asm) == ["ttir", "ttir.final", "ttgir.final", "llir", "amdgcn", "hsaco"]
    assert made.metadata.parameters[-2:] == ("scratch", "profile")
    assert read_artefact(made.key) == made


def test_launch_options_of_amd_reach_the_code_object():
    module = parse((CORPUS / "flash_attn_fwd.ttir").read_text())
    engine = DiagnosticEngine()
    free = compile_module(module, capability="gfx942", num_stages=1)
    tight = compile_module(module, capability="gfx942", num_stages=1, waves_per_eu=8, engine=engine)
    assert free.metadata.spill_bytes == 0
    assert tight.metadata.registers == 64 < free.metadata.registers
    assert tight.metadata.spill_bytes > 0
    assert tight.metadata.stack_bytes > 0
    (remark,) = [each for each in engine.diagnostics if each.code == "TW6205"]
    assert remark.message.endswith("increase num_warps, reduce the tile, or lower waves_per_eu")
    small = compile_module(module, capability="gfx942", num_stages=1, matrix_instr_nonkdim=16)
    assert "v_mfma_f32_16x16x16" in small.text("amdgcn")
    assert "v_mfma_f32_32x32" not in small.text("amdgcn")


# A transposition by way of LDS, larger than there is.
TRANSPOSITION = """\
module {
  tt.func public @transpose(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %row = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %i = tt.expand_dims %row {axis = 1 : i32} : tensor<256xi32> -> tensor<256x1xi32>
    %j = tt.expand_dims %row {axis = 0 : i32} : tensor<256xi32> -> tensor<1x256xi32>
    %w = arith.constant dense<256> : tensor<256x1xi32>
    %v = arith.constant dense<256> : tensor<1x256xi32>
    %iw = arith.muli %i, %w : tensor<256x1xi32>
    %jv = arith.muli %j, %v : tensor<1x256xi32>
    %a = tt.broadcast %iw : tensor<256x1xi32> -> tensor<256x256xi32>
    %b = tt.broadcast %j : tensor<1x256xi32> -> tensor<256x256xi32>
    %ab = arith.addi %a, %b : tensor<256x256xi32>
    %c = tt.broadcast %i : tensor<256x1xi32> -> tensor<256x256xi32>
    %d = tt.broadcast %jv : tensor<1x256xi32> -> tensor<256x256xi32>
    %cd = arith.addi %c, %d : tensor<256x256xi32>
    %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x256x!tt.ptr<f32>>
    %pp = tt.addptr %p, %ab : tensor<256x256x!tt.ptr<f32>>, tensor<256x256xi32>
    %t = tt.load %pp : tensor<256x256x!tt.ptr<f32>>
    %q = tt.splat %y : !tt.ptr<f32> -> tensor<256x256x!tt.ptr<f32>>
    %qq = tt.addptr %q, %cd : tensor<256x256x!tt.ptr<f32>>, tensor<256x256xi32>
    tt.store %qq, %t : tensor<256x256x!tt.ptr<f32>>
    tt.return
  }
}
"""


def test_more_lds_than_there_is():
    module = parse(TRANSPOSITION)
    engine = DiagnosticEngine()
    made = compile_module(module, capability="gfx942", engine=engine)
    assert made.metadata.shared > 65536
    (remark,) = [each for each in engine.diagnostics if each.code == "TW6210"]
    assert "65536 available on gfx942" in remark.message


def test_a_chip_that_triton_does_not_know():
    with pytest.raises(CompileError, match="has no target gfx999"):
        compile_module(parse(SCALE), capability="gfx999")


@tw.jit
def scale(x_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(x_ptr + at, 2 * tl.load(x_ptr + at))


def test_stages_are_those_of_triton_unless_a_launch_sets_them():
    x = np.ones(64, np.float32)
    assert scale.warmup(x, BLOCK=64, target="triton:gfx942").metadata["num_stages"] == 2
    assert scale.warmup(x, BLOCK=64, target="triton:sm_90").metadata["num_stages"] == 3
    made = scale.warmup(x, BLOCK=64, target="triton:gfx942", num_stages=1, waves_per_eu=2)
    assert made.metadata["num_stages"] == 1
    assert '"amdgpu-waves-per-eu"="2,2"' in made.text("llir")
    # On other targets it has no effect.
    scale[(1,)](x, BLOCK=64, waves_per_eu=2)
    assert x[0] == 2


def test_a_launch_is_refused():
    x = np.ones(64, np.float32)
    with pytest.raises(ValueError, match=r"'triton:gfx942' makes code objects and launches none"):
        scale[(1,)](x, BLOCK=64, target="triton:gfx942")
    assert x[0] == 1


NOTE = """\
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     4
    .args:
      - .offset:         0
        .value_kind:     global_buffer
      - .offset:         8
        .value_kind:     hidden_block_count_x
    .group_segment_fixed_size: 512
    .private_segment_fixed_size: 24
    .sgpr_count:     9
    .sgpr_spill_count: 2
    .vgpr_count:     36
    .vgpr_spill_count: 5
...
\t.end_amdgpu_metadata
"""


def test_entries_of_the_note():
    found = amdgcn.described(b"code", NOTE, "19")
    assert (found.registers, found.accumulation_registers, found.scalar_registers) == (36, 4, 9)
    assert (found.spill_bytes, found.scalar_spills, found.stack_bytes) == (20, 2, 24)
    assert found.static_shared == 512
    assert amdgcn.argument_count(NOTE) == 1
    with pytest.raises(amdgcn.NoMetadata):
        amdgcn.described(b"code", "s_endpgm", "19")
