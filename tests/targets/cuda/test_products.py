"""Sums are read after their products are done, in the machine code itself."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tests.sampling import every
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source

triton = pytest.importorskip("triton")
CUOBJDUMP = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"


@tw.jit
def product(A, B, block_M=128, block_N=128, block_K=32, threads=128):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), "float16")
        B_shared = T.alloc_shared((block_K, block_N), "float16")
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def instructions(**tile: int) -> tuple[list[str], str]:
    """The machine code of the product, and what the compiler said."""
    like = np.empty((1024, 1024), np.float16)
    module = product.get_tir(like, like, **tile).module.clone()
    engine = DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    (kernel,) = kernels_of(module)
    compiled = compile_source(emit_kernel(kernel).text, "sm_90a")
    return disassembled(compiled.cubin), compiled.log


def disassembled(cubin: bytes) -> list[str]:
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        command = [str(CUOBJDUMP), "-sass", file.name]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return re.findall(r"^\s+/\*[0-9a-f]{4}\*/\s+(.*?);", text, re.MULTILINE)


@pytest.mark.parametrize(
    "tile",
    every(
        4,
        [
            {},
            {"block_M": 64},
            {"block_N": 64},
            {"block_K": 64},
            {"block_M": 256, "block_N": 64, "threads": 256},
        ],
    ),
    ids=str,
)
def test_no_sum_is_read_before_the_last_product_is_waited_for(tile: dict[str, int]) -> None:
    code, log = instructions(**tile)
    products = [number for number, each in enumerate(code) if "HGMMA" in each]
    waits = [number for number, each in enumerate(code) if "DEPBAR.LE gsb0, 0x0" in each]
    reads = [number for number, each in enumerate(code) if "F2FP" in each]
    assert products, "a product of a warp group"
    last = max(products)
    done = min(number for number in waits if number > last)
    assert not [number for number in reads if last < number < done]
    assert "serialized" not in log
    assert "0 bytes spill stores, 0 bytes spill loads" in log
