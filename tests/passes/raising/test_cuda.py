"""Raised kernels compile to machine code; no GPU is needed."""

from __future__ import annotations

import pytest

from scripts.raise_survey import corpus_texts, dump_texts, example_texts
from tests.passes.raising.levels import parsed
from tilewright.passes.tile.raise_to_tile import RaisedKernel, RaiseOptions, raise_module
from tilewright.targets.cuda.compile import compile_module

SAMPLE = {
    "tl/vector_add.add_kernel.0": "sm_80",
    "tl/softmax.softmax_kernel.0": "sm_90a",
    "tl/matmul.matmul_kernel.0": "sm_90a",
}
AMD_FORMATS = ("fp8e4b8", "fp8e5b16")
"""Kernels with float formats that NVIDIA GPUs do not have."""


SHARED_BYTES = {"sm_80": 166_912, "sm_90a": 232_448}
TOO_LARGE = {("sm_80", "dumps/gemm_persistent_specialized_halves")}
"""Layout conversions of a 128 x 256 accumulator need more shared memory than there is."""


def _raised(text: str, arch: str = "sm_90a") -> RaisedKernel | None:
    result = raise_module(parsed(text), RaiseOptions(shared_bytes=SHARED_BYTES[arch]))
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


def test_stages_fit_in_shared_memory() -> None:
    """Both loops of causal attention give up stages of the buffers that they share."""
    (text,) = [text for name, text in example_texts() if name == "tl/attention.attention_kernel.0"]
    stages: list[list[int]] = []
    for limit in (10**6, 40_000, 30_000):
        options = RaiseOptions(num_stages=4, shared_bytes=limit)
        result = raise_module(parsed(text), options)
        assert isinstance(result, RaisedKernel)
        stages.append([plan.stages for plan in result.plan.loops.values()])
    assert stages[0] == [4, 4]
    assert sum(stages[2]) < sum(stages[1]) < 8
    assert all(first >= last for first, last in stages)


def test_the_last_gemm_of_attention_overlaps_with_the_next_iteration() -> None:
    """The first wait of an iteration leaves the other MMA in flight."""
    (text,) = [text for name, text in example_texts() if name == "tl/attention.attention_kernel.0"]
    raised = _raised(text)
    assert raised is not None
    (kernel,) = compile_module(raised.module, "sm_90a").kernels.values()
    assert "wgmma_wait<1>" in kernel.source


QUOTIENT = """
tt.func public @quotient(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) {
  %a = tt.load %x : !tt.ptr<f32>
  %b = tt.load %y : !tt.ptr<f32>
  %q = OP %a, %b : f32
  tt.store %y, %q : !tt.ptr<f32>
  tt.return
}
"""


@pytest.mark.parametrize(
    ("op", "text"), [("arith.divf", "approximate_quotient("), ("tt.precise_divf", " / ")]
)
def test_quotients_are_as_exact_as_triton_computes_them(op: str, text: str) -> None:
    raised = _raised(QUOTIENT.replace("OP", op))
    assert raised is not None
    (kernel,) = compile_module(raised.module, "sm_80").kernels.values()
    _, _, body = kernel.source.partition('extern "C"')
    assert text in body


@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_all_raised_kernels_compile(arch: str) -> None:
    for texts in (example_texts, dump_texts, corpus_texts):
        for name, text in texts():
            raised = _raised(text, arch)
            if raised is None or name.endswith(AMD_FORMATS) or (arch, name) in TOO_LARGE:
                continue
            program = compile_module(raised.module, arch)
            assert all(kernel.cubin for kernel in program.kernels.values()), name
