"""Kernels of `tl` become code objects of AMD GPUs, with their registers, spills and LDS."""

from __future__ import annotations

import functools
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.examples.tl_examples import NAMES, load
from tests.sampling import only
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.layouts.hardware.amd_chips import chip_named
from tilewright.runtime.compile_only import compiling_only
from tilewright.runtime.pointer.compiled import CompiledKernel
from tilewright.targets.triton import amdgcn, installation
from tilewright.targets.triton.artefact import Artefact, read_artefact
from tilewright.targets.triton.compile import compile_module

from . import amd_kernels
from .amd_kernels import arguments, operands
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


def attention(**options: Any) -> tuple[Artefact, DiagnosticEngine]:
    module = parse((CORPUS / "flash_attn_fwd.ttir").read_text())
    engine = DiagnosticEngine()
    return compile_module(
        module, capability="gfx942", num_stages=1, engine=engine, **options
    ), engine


def test_fewer_registers_spill():
    artefact, engine = attention(waves_per_eu=8)
    metadata = artefact.metadata
    assert metadata.registers == 64
    assert metadata.spill_bytes > 0
    assert metadata.stack_bytes > 0
    (remark,) = [each for each in engine.diagnostics if each.code == "TW6205"]
    assert f"{metadata.spill_bytes} B of registers spill" in remark.message
    assert remark.message.endswith("increase num_warps, reduce the tile, or lower waves_per_eu")


@pytest.mark.slow
def test_launch_options_reach_the_code_object():
    free, _ = attention()
    assert free.metadata.spill_bytes == 0
    assert free.metadata.registers > 64
    small, _ = attention(matrix_instr_nonkdim=16)
    assert "v_mfma_f32_16x16x16" in small.text("amdgcn")
    assert "v_mfma_f32_32x32" not in small.text("amdgcn")


# A transposition by way of LDS, larger than there is.
TRANSPOSITION = """\
module {
  tt.func public @transpose(%x: !tt.ptr<f64> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f64> {tt.divisibility = 16 : i32}) {
    %row = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
    %i = tt.expand_dims %row {axis = 1 : i32} : tensor<128xi32> -> tensor<128x1xi32>
    %j = tt.expand_dims %row {axis = 0 : i32} : tensor<128xi32> -> tensor<1x128xi32>
    %w = arith.constant dense<128> : tensor<128x1xi32>
    %v = arith.constant dense<128> : tensor<1x128xi32>
    %iw = arith.muli %i, %w : tensor<128x1xi32>
    %jv = arith.muli %j, %v : tensor<1x128xi32>
    %a = tt.broadcast %iw : tensor<128x1xi32> -> tensor<128x128xi32>
    %b = tt.broadcast %j : tensor<1x128xi32> -> tensor<128x128xi32>
    %ab = arith.addi %a, %b : tensor<128x128xi32>
    %c = tt.broadcast %i : tensor<128x1xi32> -> tensor<128x128xi32>
    %d = tt.broadcast %jv : tensor<1x128xi32> -> tensor<128x128xi32>
    %cd = arith.addi %c, %d : tensor<128x128xi32>
    %p = tt.splat %x : !tt.ptr<f64> -> tensor<128x128x!tt.ptr<f64>>
    %pp = tt.addptr %p, %ab : tensor<128x128x!tt.ptr<f64>>, tensor<128x128xi32>
    %t = tt.load %pp : tensor<128x128x!tt.ptr<f64>>
    %q = tt.splat %y : !tt.ptr<f64> -> tensor<128x128x!tt.ptr<f64>>
    %qq = tt.addptr %q, %cd : tensor<128x128x!tt.ptr<f64>>, tensor<128x128xi32>
    tt.store %qq, %t : tensor<128x128x!tt.ptr<f64>>
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


# -- tlx -----------------------------------------------------------------------------------------

TILES = {"M_TILE": 128, "N_TILE": 128, "K_TILE": 32}


@functools.cache
def gemm(name: str, arch: str, *, transposed: bool) -> Artefact:
    """A GEMM of 256 x 256 x 128."""
    a, b, c, _ = operands(np.random.default_rng(0), 256, 256, 128, transposed=transposed)
    kernel, more = {
        "staged": (amd_kernels.staged_gemm, {"DEPTH": 2}),
        "direct": (amd_kernels.direct_gemm, {"WAIT": 1}),
    }[name]
    made = kernel.warmup(
        *arguments(a, b, c), **TILES, **more, target=f"triton:{arch}", matrix_instr_nonkdim=16
    )
    assert made.artefact is not None
    return made.artefact


def loops(artefact: Artefact) -> str:
    """The instructions between the first label that is jumped back to and that jump."""
    lines = artefact.text("amdgcn").splitlines()
    labels = {line.split(":")[0]: index for index, line in enumerate(lines) if line[:2] == ".L"}
    for index, line in enumerate(lines):
        found = re.match(r"\ts_c?branch\w*\s+(\S+)", line)
        if found and labels.get(found[1], index) < index:
            return "\n".join(lines[labels[found[1]] : index])
    raise AssertionError("there is no loop")


def count(pattern: str, text: str) -> int:
    return len(re.findall(pattern, text))


def test_a_staged_gemm_for_gfx942():
    artefact = gemm("staged", "gfx942", transposed=True)
    metadata = artefact.metadata
    assert metadata.spill_bytes == metadata.stack_bytes == 0
    assert metadata.shared == 2 * 2 * 128 * 32 * 2
    assert metadata.registers <= 128
    loop = loops(artefact)
    # 64 x 64 a wave, in steps of 16 x 16 x 16.
    assert count("v_mfma_f32_16x16x16_f16", loop) == 4 * 4 * 2
    assert count("global_load_dwordx4", loop) == 4
    # K is contiguous in LDS too: nothing is read or written by the element.
    assert count("ds_read_u16|ds_write_b16|ds_read_b32", loop) == 0
    assert count("ds_read2?(st64)?_b(64|128)", loop) >= 8
    assert "scratch_" not in loop
    # Operands are read in the layout of the instruction, which is nothing to remark.
    assert not [each for each in artefact.remarks if each.code == "TW2050"]
    assert "tlx." not in artefact.text("ttgir")
    assert "amdg.buffer" not in artefact.text("ttgir")
    swizzled = "vec = 4, perPhase = 2, maxPhase = 8"
    assert f"{swizzled}, order = [1, 0]" in artefact.text("ttgir")
    assert f"{swizzled}, order = [0, 1]" in artefact.text("ttgir")


def test_rows_of_b_along_n_stay_rows_along_n():
    text = gemm("staged", "gfx942", transposed=False).text("ttgir")
    assert "vec = 4, perPhase = 2, maxPhase = 8, order = [1, 0]" in text
    assert "vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]" in text
    assert "order = [0, 1]}>" not in text.split("module")[0].replace("#ttg.blocked", "")


def test_a_direct_gemm_for_gfx950():
    artefact = gemm("direct", "gfx950", transposed=True)
    metadata = artefact.metadata
    assert metadata.spill_bytes == metadata.stack_bytes == 0
    assert metadata.shared == 2 * 2 * 128 * 32 * 2
    loop = loops(artefact)
    # 128 x 32 halves are two copies of 16 bytes for each of 256 lanes.
    assert count(r"buffer_load_dwordx4 .* lds", loop) == 4
    assert count("ds_write", loop) == 0
    assert count("ds_read_b128", loop) == 8
    assert count("v_mfma_f32_16x16x32_f16", loop) == 4 * 4
    assert count("s_setprio", loop) >= 2
    # One group stays in flight: the wait is not for everything.
    assert re.search(r"vmcnt\([1-9]", loop)
    assert artefact.text("ttgir").count("amdg.buffer_load_to_local") == 4
    assert "syncedViaAsyncWait" in artefact.text("ttgir")


def test_a_direct_gemm_for_gfx942_copies_four_bytes():
    artefact = gemm("direct", "gfx942", transposed=True)
    loop = loops(artefact)
    assert count(r"buffer_load_dword .* lds", loop) == 4 * 4
    assert count("ds_write", loop) == 0
    assert artefact.metadata.spill_bytes == 0


def test_what_is_not_contiguous_goes_through_registers():
    rng = np.random.default_rng(0)
    a, b, c, _ = operands(rng, 256, 256, 129, transposed=True)
    options = {**TILES, "WAIT": 1, "target": "triton:gfx950"}
    made = amd_kernels.direct_gemm.warmup(*arguments(a, b, c), **options).artefact
    # Rows of 129 halves begin at odd addresses: two bytes are proved.
    remarks = [each for each in made.remarks if each.code == "TW3051"]
    assert len(remarks) == 4
    assert "4 or 16 bytes a lane needed, 2 proved" in remarks[0].message
    assert " lds" not in made.text("amdgcn")
    assert count("ds_write", made.text("amdgcn")) > 0


@pytest.mark.parametrize(("arch", "version"), [("gfx942", 3), ("gfx950", 4)])
def test_layouts_that_a_kernel_chooses_are_those_of_its_instructions(arch: str, version: int):
    a = np.ones((64, 64), np.float16)
    c = np.empty((64, 64), np.float32)
    made = amd_kernels.pinned_gemm.warmup(
        a, a, c, TILE=64, VERSION=version, target=f"triton:{arch}"
    ).artefact
    layout = (
        f"#ttg.amd_mfma<{{version = {version}, warpsPerCTA = [2, 2], instrShape = [16, 16, 16], "
        "isTransposed = true}>"
    )
    assert layout in made.text("ttgir.final")
    assert count("tt.dot ", made.text("ttgir.final")) == 1
    assert count("v_mfma_f32_16x16x16_f16", made.text("amdgcn")) == 2 * 2 * 4
    assert {each.code for each in made.remarks} >= {"TW6044", "TW6206"}


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_same_kernels_on_the_host(arch: str, transposed: bool):
    a, b, c, expected = operands(np.random.default_rng(1), 256, 128, 96, transposed=transposed)
    with tw.running(target=f"hip:{arch}", schedules=3):
        amd_kernels.staged_gemm[(2, 1)](*arguments(a, b, c), **TILES, DEPTH=2)
        np.testing.assert_array_equal(c, expected)
        c.fill(0)
        amd_kernels.direct_gemm[(2, 1)](*arguments(a, b, c), **TILES, WAIT=1)
        np.testing.assert_array_equal(c, expected)
        with pytest.raises(tw.NumpyFault, match="TW6120"):
            amd_kernels.direct_gemm[(2, 1)](*arguments(a, b, c), **TILES, WAIT=2)


def test_pinned_layouts_on_the_host():
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-3, 4, (64, 64)).astype(np.float16) for _ in range(2))
    c = np.empty((64, 64), np.float32)
    amd_kernels.pinned_gemm[(1,)](a, b, c, TILE=64, VERSION=4, target="hip:gfx950")
    np.testing.assert_array_equal(c, np.float32(a) @ np.float32(b) + np.arange(64))


@tw.jit
def waits_for_a_barrier(x_ptr):
    bar = tlx.alloc_barriers(1)
    tlx.barrier_wait(bar[0], 0)
    tl.store(x_ptr, 1.0)


@tw.jit
def moves_tensors(x_ptr):
    box = tlx.local_alloc((1, 64), tl.float32, 1)
    source = tl.make_tensor_descriptor(x_ptr, [1, 64], [64, 1], [1, 64])
    tlx.async_amd_descriptor_load(source, box[0], [0, 0])
    tlx.async_amd_descriptor_wait(0)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (waits_for_a_barrier, r"TW6040.*'ttng\.\w+' has no equivalent in stock Triton for AMD"),
        (moves_tensors, r"only available on AMD TDM-capable targets, got arch=gfx942"),
    ],
)
def test_what_the_gpu_does_not_have_is_refused(kernel: tw.JITFunction, message: str):
    with pytest.raises(CompileError, match=message):
        kernel.warmup(np.ones(64, np.float32), target="triton:gfx942")


def test_text_for_another_generation_is_refused():
    text = SCALE.replace("%at = tt", "amdg.cluster_barrier_arrive\n    %at = tt")
    with pytest.raises(CompileError, match=r"TW6211.*not available on gfx950: it requires gfx1250"):
        compile_module(parse(text), capability="gfx950")


# -- the note ------------------------------------------------------------------------------------

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
