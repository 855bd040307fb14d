"""Launch metadata on its way to disk and back, and the metrics in the assembler's log."""

from typing import Any

import pytest

from tilewright.targets.cuda import artefact as cuda_artefact
from tilewright.targets.cuda.artefact import DeviceKernel
from tilewright.targets.hip import artefact as hip_artefact
from tilewright.targets.hip.artefact import HipKernel
from tilewright.targets.hip.metadata import HipKernelMetadata
from tilewright.targets.metadata import FORMAT, KernelMetadata, TensorMapSpec
from tilewright.targets.store import digest
from tilewright.targets.triton.ptxas import described

FACTS = KernelMetadata(
    "gemm",
    90,
    threads=384,
    shared=131072,
    parameters=("tensormap", "i32", "ptr", "scratch", "profile"),
    tensor_maps=(TensorMapSpec(2, (128, 64), 128, 6),),
    scratch_bytes=256,
    scratch_align=128,
    cluster=(2, 1, 1),
    registers=168,
    pdl=True,
)


def test_metadata_survives_the_disk():
    again = KernelMetadata.from_json(FACTS.to_json())
    assert again == FACTS
    assert again.num_warps == 12
    assert isinstance(again.tensor_maps[0].box, tuple)


def test_metadata_of_another_format_is_refused():
    text = FACTS.to_json()
    assert f'"format": {FORMAT}' in text
    with pytest.raises(ValueError, match=f"metadata of format {FORMAT + 1}, expected {FORMAT}"):
        KernelMetadata.from_json(text.replace(f'"format": {FORMAT}', f'"format": {FORMAT + 1}'))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"name": "x"}', "null"])
def test_anything_else_is_refused(text):
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        KernelMetadata.from_json(text)


LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 9 barriers, 16 bytes cumulative stack size
ptxas info    : Function properties for helper
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""


def test_the_assembler_s_numbers():
    found = described(b"code", LOG, "13.0")
    assert (found.registers, found.barriers, found.stack_bytes) == (168, 9, 16)
    assert (found.spill_stores, found.spill_loads, found.spill_bytes) == (8, 12, 12)


def test_what_the_assembler_says_about_speed():
    log = (
        "ptxas info    : (C7515) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to the presence of Extern calls in the function 'k'\n"
    )
    (said,) = described(b"code", log * 2, "13.0").performance_remarks
    assert said == (
        "Performance Loss: wgmma.mma_async instructions are serialized due to the presence of "
        "Extern calls in the function 'k'"
    )
    assert described(b"code", LOG, "13.0").performance_remarks == ()


def test_a_silent_assembler_gives_zeros():
    found = described(b"code", "", "13.0")
    assert (found.registers, found.spill_bytes, found.stack_bytes) == (0, 0, 0)


@pytest.mark.parametrize("target", ["cuda", "hip"])
def test_a_program_of_another_format_is_compiled_anew(target, tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    metadata: Any = FACTS
    kernel: Any = DeviceKernel("source", b"code", FACTS, "log")
    programs: Any = cuda_artefact.PROGRAMS
    program: Any = cuda_artefact.Program((), {"gemm": kernel}, None, ("a remark",))
    if target == "hip":
        metadata = HipKernelMetadata("gemm", "gfx942", 256, 0, 0, ("ptr", "i32"), vgprs=64)
        kernel = HipKernel("source", b"code", "isa", metadata, "log")
        programs = hip_artefact.PROGRAMS
        program = hip_artefact.HipProgram((), {"gemm": kernel}, None, ("a remark",))
    key = digest(target)
    programs.write(key, program)
    assert programs.read(key) == program
    monkeypatch.setattr("tilewright.targets.metadata.FORMAT", FORMAT + 1)
    assert programs.read(key) is None
    programs.write(key, program)
    assert programs.read(key) == program
