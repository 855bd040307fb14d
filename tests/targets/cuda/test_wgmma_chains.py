"""MMAs that are issued together: one device function, the machine code of several."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from benchmarks.h200.tile_kernels import attention, gemm, gemm_fp8
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.header.mma import wgmma_function

SQUARE = {"M": 2048, "N": 2048, "K": 2048}
"""Shorter loops may be unrolled for having fewer statements."""
HEADS = {"batch": 1, "heads": 2, "length": 1024}
CASES = {
    "fp16": lambda: gemm.get_tir(**SQUARE),
    "fp8": lambda: gemm_fp8.get_tir(**SQUARE),
    "A in registers": lambda: attention.get_tir(**HEADS),
}


@pytest.mark.parametrize("case", CASES)
def test_chains_leave_the_machine_code_as_it_is(case: str) -> None:
    module = CASES[case]().module
    pipeline = GpuPipeline(target="cuda:sm_90a")
    apart = replace(pipeline, leave_out=("chain-wgmma",))
    (chained,) = compile_module(module, pipeline=pipeline).kernels.values()
    (single,) = compile_module(module, pipeline=apart).kernels.values()
    assert re.search(r"wgmma_\w+_x[48]\(", chained.source)
    assert not re.search(r"wgmma_\w+_x\d\(", single.source)
    assert chained.cubin == single.cubin


def test_the_operands_of_a_chain() -> None:
    """64 accumulators, then A and B of each step; only the first step may forget."""
    name, text = wgmma_function(
        (64, 128, 16),
        ("f16", "f16", "f32"),
        a_in_registers=False,
        transposed=(False, True),
        count=2,
    )
    assert name == "wgmma_m64n128k16_f32_f16_f16_tb_x2"
    steps = [
        line.strip() for line in text.splitlines() if "keeps, 1, 1" in line or " 1, 1, 1" in line
    ]
    assert steps == [
        '" %64, %65, keeps, 1, 1, 0, 1;\\n"',
        '" %66, %67, 1, 1, 1, 0, 1;\\n"',
    ]
    assert '"setp.ne.b32 keeps, %68, 0;\\n"' in text
    assert text.rstrip().endswith(
        '"l"(a0), "l"(b0), "l"(a1), "l"(b1), "r"(static_cast<int>(keeps)));\n}'
    )
