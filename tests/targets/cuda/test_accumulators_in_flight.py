"""Machine code does not access the registers of MMAs in flight.

ptxas may move reads of an accumulator before the wait for its MMA; `tw::settle_late` prevents it.
Shown by disassembling what it makes, with the disassembler that comes with Triton.
"""

from __future__ import annotations

import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

from tilewright import T
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.nvrtc import compile_source

_INSTRUCTION = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?);")
_MMA = re.compile(r"[HIQ]GMMA\.\d+x(?P<columns>\d+)x\d+\.F32\S* R(?P<first>\d+)")
_WAIT = re.compile(r"WARPGROUP\.DEPBAR\.LE gsb0, 0x(?P<pending>\w+)")


def disassembler() -> Path:
    found = find_spec("triton")
    if found is None or found.origin is None:
        pytest.skip("Triton, whose disassembler this needs, is not installed")
    return Path(found.origin).parent / "backends/nvidia/bin/nvdisasm"


def accessed_in_flight(assembly: str) -> list[str]:
    """Instructions that name registers of MMAs that were not waited for, in the order of text."""
    groups: list[set[int]] = []
    current: set[int] = set()
    found: list[str] = []
    for line in assembly.splitlines():
        match = _INSTRUCTION.search(line)
        if match is None:
            continue
        text = match[1]
        if mma := _MMA.search(text):
            first, count = int(mma["first"]), int(mma["columns"]) // 2
            current |= set(range(first, first + count))
            if "gsb0" in text:
                groups.append(current)
                current = set()
        elif wait := _WAIT.search(text):
            pending = int(wait["pending"], 16)
            groups = groups[len(groups) - pending :] if pending else []
        elif set[int]().union(current, *groups) & {int(n) for n in re.findall(r"\bR(\d+)", text)}:
            found.append(text)
    return found


@T.prim_func
def gemm(
    A: T.Tensor((1000, 1024), "float16"),
    B: T.Tensor((1024, 1024), "float16"),
    C: T.Tensor((1000, 1024), "float16"),
):
    """The last tile ends out of bounds: its stores are guarded."""
    with T.Kernel(8, 8, threads=128) as (bx, by):
        A_shared = T.alloc_shared((128, 32), "float16")
        B_shared = T.alloc_shared((32, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(32, num_stages=4):
            T.copy(A[by * 128, k * 32], A_shared)
            T.copy(B[k * 32, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])


def disassembled(cubin: bytes, directory: Path) -> str:
    file = directory / "kernel.cubin"
    file.write_bytes(cubin)
    command = [str(disassembler()), "-c", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_results_of_mmas_are_read_after_the_wait(tmp_path: Path) -> None:
    (kernel,) = compile_module(gemm.module, "sm_90a").kernels.values()
    assert "tw::settle_late(C_local)" in kernel.source
    assembly = disassembled(kernel.cubin, tmp_path)
    assert _MMA.search(assembly)
    assert accessed_in_flight(assembly) == []
    # Without `#pragma unroll 1` ptxas may merge the last iteration with what follows.
    late = kernel.source.replace("#pragma unroll 1\n", "")
    assert _accessed_in_flight(late, tmp_path) == []
    assert _accessed_in_flight(late.replace("tw::settle_late(", "tw::settle("), tmp_path)


def _accessed_in_flight(source: str, directory: Path) -> list[str]:
    return accessed_in_flight(disassembled(compile_source(source, "sm_90a").cubin, directory))
