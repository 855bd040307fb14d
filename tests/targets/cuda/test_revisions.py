"""Machine code that loses speed is noticed in the assembler's log, and compiled in another form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.gpu.use_warp_index import UseWarpIndex
from tilewright.targets.cuda.artefact import DeviceKernel, Program
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.cuda.header import FUNCTIONS
from tilewright.targets.cuda.revisions import losses, revisions
from tilewright.targets.metadata import KernelMetadata
from tilewright.targets.ptxas_log import PtxasLog, is_serialized, lacks_registers, without_positions

DIVERGENT = (
    "ptxas info    : (C7518) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to program dependence on compiler-inserted WG.DP in divergent path in the "
    "function 'k' in line 1493"
)
FEW = (
    "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
    "serialized due to insufficient register resources for the wgmma pipeline in the function "
    "'k' in line 5445"
)
RESOURCES = """ptxas info    : Function properties for k
ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 168 registers, used 9 barriers
"""


def test_the_log_is_read() -> None:
    found = PtxasLog.read(f"{DIVERGENT}\n{DIVERGENT.replace('1493', '2000')}\n{RESOURCES}")
    assert (found.registers, found.stack_bytes, found.barriers) == (168, 16, 9)
    assert (found.spill_stores, found.spill_loads) == (8, 12)
    assert is_serialized(found.performance_remarks)
    assert not lacks_registers(found.performance_remarks)
    (report,) = without_positions(found.performance_remarks)
    assert report.endswith("compiler-inserted WG.DP in divergent path")
    assert lacks_registers(PtxasLog.read(FEW).performance_remarks)
    assert PtxasLog.read(RESOURCES).performance_remarks == ()


def made(log: str) -> Mapping[str, DeviceKernel]:
    report = PtxasLog.read(log)
    metadata = KernelMetadata(
        "k",
        "sm_90a",
        256,
        0,
        (),
        spill_bytes=report.spill_stores,
        performance_remarks=report.performance_remarks,
    )
    return {"k": DeviceKernel("", b"", metadata, log)}


def test_a_serialised_kernel_is_worse_than_one_that_spills() -> None:
    assert losses(made("")) < losses(made(RESOURCES)) < losses(made(DIVERGENT))
    assert not any(losses(made("")))


def proposed(log: str, pipeline: GpuPipeline) -> list[tuple[bool, int | None, tuple[str, ...]]]:
    found = [each.pipeline for each in revisions(pipeline, blocks_of(4), made(log))]
    return [(each.predicate_epilogue, each.max_blocks, each.leave_out) for each in found]


def blocks_of(count: int) -> Any:
    from xdsl.dialects.builtin import IntegerAttr, i64

    from tilewright.dialects.func import FuncOp

    function = FuncOp("k", ([], []))
    function.attributes["simt.min_blocks"] = IntegerAttr(count, i64)
    return [function]


def test_what_is_tried() -> None:
    names = "stagger-wgmma-waits", "overlap-wgmma", "sink-wgmma-waits"
    left_out = [names[: count + 1] for count in range(3)]
    whole = GpuPipeline()
    assert proposed("", whole) == []
    fewer = [(False, 3, ()), (False, 2, ()), (False, 1, ())]
    smaller = (True, None, ())
    without_loads, without_joins = (
        (False, None, (each,)) for each in ("hoist-loads", "join-wgmma-groups")
    )
    assert proposed(RESOURCES, whole) == [without_loads, *fewer, without_joins]
    assert proposed(DIVERGENT, whole) == [smaller, *((False, None, each) for each in left_out)]
    assert proposed(FEW, whole) == [smaller, *fewer, *((False, 1, each) for each in left_out)]


# -- a kernel whose MMAs ptxas serialises if threads may leave between them ------------------------


@tw.jit
def attention(Q, K, V):
    Q: T.Tensor((1024, 128), "float16")
    K: T.Tensor((1024, 128), "float16")
    V: T.Tensor((1024, 128), "float16")
    Out = T.empty((1024, 128), "float32")
    with T.Kernel(16, threads=128) as block:
        Q_shared = T.alloc_shared((64, 128), "float16")
        K_shared = T.alloc_shared((64, 128), "float16")
        V_shared = T.alloc_shared((64, 128), "float16")
        scores = T.alloc_fragment((64, 64), "float32")
        weights = T.alloc_fragment((64, 64), "float16")
        maximum = T.alloc_fragment((64,), "float32")
        before = T.alloc_fragment((64,), "float32")
        out = T.alloc_fragment((64, 128), "float32")
        T.copy(Q[block * 64, 0], Q_shared)
        T.clear(out)
        T.fill(maximum, -1e30)
        for k in T.Pipelined(16, num_stages=2):
            T.copy(K[k * 64, 0], K_shared)
            T.clear(scores)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True)
            T.copy(maximum, before)
            T.reduce_max(scores, maximum, dim=1, clear=False)
            for i, j in T.Parallel(64, 64):
                weights[i, j] = T.cast(T.exp2(scores[i, j] - maximum[i]), "float16")
            for i, j in T.Parallel(64, 128):
                out[i, j] *= T.exp2(before[i] - maximum[i])
            T.copy(V[k * 64, 0], V_shared)
            T.gemm(weights, V_shared, out)
        T.copy(out, Out[block * 64, 0])
    return Out


def compiled(*left_out: str) -> tuple[Program, list[str]]:
    given = [np.zeros((1024, 128), np.float16)] * 3
    engine = DiagnosticEngine()
    pipeline = GpuPipeline(leave_out=left_out)
    module = attention.get_tir(*given).module
    program = compile_module(module, "sm_90a", engine=engine, pipeline=pipeline)
    return program, [each.code for each in engine.diagnostics if each.code]


def overlaps(program: Program) -> bool:
    return "tw::wgmma_wait<1>" in program.source


def test_overlapping_mmas_are_not_serialised() -> None:
    program, codes = compiled()
    assert overlaps(program)
    assert not any(each.metadata.performance_remarks for each in program.kernels.values())
    assert not {"TW5018", "TW6209"} & {*codes}


def test_a_form_without_overlap_is_taken_where_ptxas_serialises_the_mmas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    usual = FUNCTIONS["settle_late"]
    leaving = replace(usual, text=usual.text.replace("@never nanosleep.u32 1;", "@never exit;"))
    assert leaving != usual
    monkeypatch.setitem(FUNCTIONS, "settle_late", leaving)
    program, codes = compiled(
        UseWarpIndex.name
    )  # with it all of a warp leave, which ptxas can derive
    assert "TW5018" in codes
    assert not overlaps(program)
    assert not any(each.metadata.performance_remarks for each in program.kernels.values())
