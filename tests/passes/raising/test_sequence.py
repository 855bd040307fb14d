"""Loops that run sequentially: their loaded operands share buffers where they are alike."""

from __future__ import annotations

from collections import Counter

from scripts.raise_survey import example_texts
from tests.passes.raising.levels import parsed
from tilewright.dialects.tile import AllocOp, PipelineOp
from tilewright.ir.traversal import walk
from tilewright.passes.tile.raise_to_tile import RaisedKernel, RaiseOptions, raise_module
from tilewright.targets.cuda.compile import compile_module


def _attention() -> str:
    found = [text for name, text in example_texts() if name == "tl/attention.attention_kernel.0"]
    return found[0]


def _raised(text: str) -> RaisedKernel:
    result = raise_module(parsed(text), RaiseOptions(num_stages=3))
    assert isinstance(result, RaisedKernel)
    return result


def _buffers(raised: RaisedKernel) -> Counter[str]:
    return Counter(
        op.buffer_name.partition("_")[0]
        for op in walk(raised.module)
        if isinstance(op, AllocOp) and op.space.is_shared
    )


def test_both_loops_of_causal_attention_use_one_buffer_for_k_and_one_for_v() -> None:
    raised = _raised(_attention())
    assert sum(isinstance(op, PipelineOp) for op in walk(raised.module)) == 2
    buffers = _buffers(raised)
    assert (buffers["k"], buffers["v"]) == (1, 1)


def test_the_loops_have_one_ring() -> None:
    (kernel,) = compile_module(_raised(_attention()).module, "sm_90a").kernels.values()
    assert "full_0" in kernel.source
    assert "full_1" not in kernel.source
