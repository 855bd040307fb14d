"""Raised kernels compile to machine code; no GPU is needed."""

from __future__ import annotations

import pytest

from scripts.raise_survey import dump_texts, example_texts, raise_text
from tilewright.passes.tile.raise_to_tile import RaisedKernel
from tilewright.targets.cuda.compile import compile_module

SAMPLE = {
    "tl/vector_add.add_kernel.0": "sm_80",
    "tl/softmax.softmax_kernel.0": "sm_90a",
    "tl/matmul.matmul_kernel.0": "sm_90a",
}
AMD_FORMATS = ("fp8e4b8", "fp8e5b16")
"""Kernels with float formats that NVIDIA GPUs do not have."""


def _raised(text: str) -> RaisedKernel | None:
    result, _ = raise_text(text)
    return result if isinstance(result, RaisedKernel) else None


def test_a_sample_compiles() -> None:
    for name, text in example_texts():
        if name in SAMPLE:
            raised = _raised(text)
            assert raised is not None
            program = compile_module(raised.module, SAMPLE[name])
            (kernel,) = program.kernels.values()
            assert kernel.cubin[:4] == b"\x7fELF"


def test_matmul_uses_tma_and_wgmma() -> None:
    """The raised GEMM gets what a GEMM written with tiles gets."""
    (text,) = [text for name, text in example_texts() if name.startswith("tl/matmul.")]
    raised = _raised(text)
    assert raised is not None
    (kernel,) = compile_module(raised.module, "sm_90a").kernels.values()
    assert "wgmma" in kernel.source


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_all_raised_kernels_compile(arch: str) -> None:
    for texts in (example_texts, dump_texts):
        for name, text in texts():
            raised = _raised(text)
            if raised is None or name.endswith(AMD_FORMATS):
                continue
            program = compile_module(raised.module, arch)
            assert all(kernel.cubin for kernel in program.kernels.values()), name
