"""Every device function of the HIP header compiles for every chip that clang 19 compiles for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.targets.hip.header_uses import uses_of, whole_text
from tests.targets.hip.support import CHIPS as CHIPS_OF_CLANG
from tests.targets.hip.support import needs_clang
from tests.targets.hip.triton_assembler import compile_source, needs_triton_for_amd
from tilewright.layouts.hardware.amd_chips import CHIPS, chip_named
from tilewright.targets.hip.clang import clang_for
from tilewright.targets.hip.header import KEYWORDS, definitions
from tilewright.targets.hip.header.matrix import matrix_function
from tilewright.targets.hip.notes import kernel_notes

OPTIONS = (
    "-x hip --offload-device-only -nogpulib -nogpuinc -O1 -std=c++17 "
    "-munsafe-fp-atomics -fno-strict-aliasing -Wall -Werror"
)


def compiled(text: str, arch: str, directory: Path, *options: str) -> str:
    """The assembly of a text, or the error of the compiler."""
    source, output = directory / "text.hip", directory / "text.s"
    source.write_text(text, encoding="utf-8")
    command = [clang_for(arch).path, *OPTIONS.split(), f"--offload-arch={arch}", "-S", *options]
    done = subprocess.run(
        [*command, str(source), "-o", str(output)], capture_output=True, text=True, check=False
    )
    return output.read_text(encoding="utf-8") if done.returncode == 0 else done.stderr


@needs_clang
@pytest.mark.parametrize("arch", CHIPS_OF_CLANG)
@pytest.mark.parametrize(
    "with_mathematics", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["", "all"]
)
def test_functions_compile(arch: str, with_mathematics: bool, tmp_path: Path) -> None:
    # The mathematics are the same for all chips: one of them compiles it for all.
    chip = chip_named(arch)
    text = whole_text(chip, with_mathematics=with_mathematics or arch == "gfx942")
    assembly = compiled(text, arch, tmp_path)
    assert ".vgpr_spill_count: 0" in assembly, assembly[:3000]
    assert "private_segment_fixed_size: 0" in assembly
    # Nothing is called: there is no library to call.
    assert "s_swappc" not in assembly
    for instruction in {each.kind for each in chip.instructions}:
        assert assembly.count(f"v_{instruction}_") >= len(chip.instructions)


@pytest.mark.slow
@needs_triton_for_amd
def test_all_functions_compile_for_gfx950() -> None:
    done = compile_source(whole_text(chip_named("gfx950")))
    note = kernel_notes(done.code_object)["everything"]
    assert (note.vgpr_spills, note.scratch_bytes) == (0, 0)
    assert "s_swappc" not in done.isa
    # Copies of every size, and the instructions that clang 19 does not have.
    for instruction in ("dword", "dwordx3", "dwordx4"):
        assert re.search(rf"buffer_load_{instruction} .* lds", done.isa)
    for instruction in ("f32_16x16x32_bf16", "i32_32x32x32_i8", "f32_16x16x128_f8f6f4"):
        assert f"v_mfma_{instruction}" in done.isa


def waits_before_the_barrier(function: str, arch: str, directory: Path) -> list[str]:
    """Waits for loads, of a kernel that has one in flight at a barrier."""
    header = definitions([function, "thread_x"], {}, chip_named(arch))
    text = f"""{KEYWORDS}
{header}
extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(256, 256)))
k(float* out, const float* in) {{
  __shared__ float shared[256];
  const int thread = tw::thread_x();
  const float value = in[thread];
  shared[thread] = float(thread);
  tw::{function}();
  out[thread] = shared[255 - thread] + value;
}}"""
    assembly = compiled(text, arch, directory)
    between = re.search(r"global_load.*?s_barrier", assembly, re.DOTALL)
    assert between is not None, assembly[:2000]
    # LDS was waited for.
    assert re.search(r"lgkmcnt\(0\)|dscnt 0x0", between[0])
    return re.findall(r"vmcnt\(\d+\)|s_wait_loadcnt\w*", between[0])


@needs_clang
@pytest.mark.parametrize("arch", CHIPS_OF_CLANG)
def test_loads_stay_in_flight_over_a_barrier_of_lds(arch: str, tmp_path: Path) -> None:
    assert waits_before_the_barrier("sync_local", arch, tmp_path) == []
    if chip_named(arch).barrier_waits:
        assert waits_before_the_barrier("sync", arch, tmp_path) != []


@needs_clang
def test_a_call_that_nothing_resolves_is_found(tmp_path: Path) -> None:
    text = KEYWORDS + (
        '\nextern "C" double tanh(double);\n'
        'extern "C" __global__ void k(double* x) { x[0] = tanh(x[0]); }\n'
    )
    assembly = compiled(text, "gfx942", tmp_path)
    assert "s_swappc" in assembly or "error" in assembly


def test_every_function_has_a_use() -> None:
    for chip in CHIPS.values():
        assert uses_of(chip)  # a function without an entry is a KeyError


def test_a_text_has_only_what_it_calls() -> None:
    chip = chip_named("gfx942")
    text = definitions(["shuffle_xor_by"], {}, chip)
    assert "xor_word" in text and "dpp" in text and "shuffle_up" not in text
    assert definitions((), {}, chip) == ""


def test_functions_that_a_chip_lacks() -> None:
    with pytest.raises(LookupError, match=r"'tw::load_lds' is not defined for gfx1100"):
        definitions(["load_lds"], {}, chip_named("gfx1100"))
    (instruction,) = chip_named("gfx90a").instructions_for("i8", "i8")[:1]
    with pytest.raises(LookupError, match="has no unsigned operands"):
        matrix_function(instruction, chip_named("gfx90a"), (True, False))
