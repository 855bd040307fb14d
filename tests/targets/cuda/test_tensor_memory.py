"""Kernels for tensor memory become CUDA that NVRTC compiles for sm_100a, without spills."""

from __future__ import annotations

import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import tilewright as tw
from tests.targets.numpy.simt.blackwell_kernels import attention
from tests.targets.numpy.simt.tensor_memory_kernels import Gemm, chain_text, gemm_text, parsed
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source

GROUP2 = "cta_group::2"
CASES = {
    "f16": (gemm_text(Gemm(n=256, k=64)), ("kind::f16", "tcgen05.alloc.cta_group::1"), "UTCHMMA"),
    "f16 sums": (gemm_text(Gemm(result="f16")), (".x32.pack::16b.b32",), "UTCHMMA"),
    "tf32": (gemm_text(Gemm(dtype="f32", block_k=32, k=64)), ("kind::tf32",), "UTCHMMA"),
    "fp8": (gemm_text(Gemm(dtype="f8E4M3FN", block_k=128)), ("kind::f8f6f4",), "UTCQMMA"),
    "int8": (gemm_text(Gemm(dtype="i8", block_k=128)), ("kind::i8",), "UTCIMMA"),
    "block scales": (
        gemm_text(Gemm(dtype="f8E4M3FN", block_k=128, scaled=True)),
        ("kind::mxf8f6f4.block_scale.scale_vec::1X", "32x128b.warpx4"),
        "UTCCP",
    ),
    "pair": (
        gemm_text(Gemm(m=256, n=256, k=64, group=2, b_along_n=True)),
        (f"tcgen05.mma.{GROUP2}", "complete_tx::bytes.cta_group::2", ".multicast::cluster.b64"),
        "UTCHMMA.2CTA",
    ),
    "chain": (chain_text(), ("[%0], [%1], %2", "tcgen05.st.sync.aligned.32x32b.x32.b32"), "STTM"),
}


def disassembler() -> str | None:
    """The disassembler of a toolkit, or of the installed Triton."""
    found = shutil.which("nvdisasm")
    triton = find_spec("triton")
    if found is None and triton is not None and triton.origin is not None:
        packaged = Path(triton.origin).parent / "backends/nvidia/bin/nvdisasm"
        found = str(packaged) if packaged.exists() else None
    return found


_MORE = ("f16", "f16 sums", "tf32", "fp8")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in _MORE else n for n in CASES]
)
def test_kernels_compile_without_spills(name: str, tmp_path: Path) -> None:
    text, wanted, instruction = CASES[name]
    source = emit_kernel(kernels_of(parsed(text))[0])
    for each in wanted:
        assert each in source.text, source.text
    compiled = compile_source(source.text, "sm_100a")
    assert compiled.cubin[:4] == b"\x7fELF"
    assert "0 bytes spill stores, 0 bytes spill loads" in compiled.log
    program = disassembler()
    if program is None:
        pytest.skip("machine code not looked at: there is no nvdisasm")
    cubin = tmp_path / "kernel.cubin"
    cubin.write_bytes(compiled.cubin)
    listing = subprocess.run([program, "-c", cubin], capture_output=True, text=True, check=True)
    for each in (instruction, "UTCBAR", "LDTM"):
        assert each in listing.stdout


def test_registers_of_a_load_are_fenced_after_its_wait() -> None:
    """No read of them may move before the wait, of which the compiler knows nothing."""
    text = emit_kernel(kernels_of(parsed(chain_text()))[0]).text
    first = text.index("  tw::tensor_load_32x32b_x64(s, ")
    tail = text[first:].splitlines()
    assert [line.strip() for line in tail if "//" not in line][1:3] == [
        "tw::tensor_wait_load();",
        "tw::tensor_settle<64>(s);",
    ]


def test_a_masked_attention_compiles_without_spills() -> None:
    """Without a loop over columns ptxas loads them all before it reduces the first."""
    program = compile_module(tw.compile(attention(256)).prim_func.module, "sm_100a")
    assert program.spill_bytes == 0
    (kernel,) = program.kernels.values()
    lines = [line.strip() for line in kernel.source.splitlines()]
    assert lines.count("#pragma unroll 1") == 2
    fenced = [n for n, line in enumerate(lines) if line.startswith("tw::tensor_settle<16>(S")]
    assert len(fenced) == 3
    assert all(lines[n - 1] == "tw::tensor_wait_load();" for n in fenced)
    reason = "remark: tensor memory reduced in loops over its columns: "
    assert len([each for each in program.remarks if reason in each]) == 1
