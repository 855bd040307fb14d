"""Loops of MMAs and of copies, which are unrolled less where registers spill."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tilewright import T
from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.passes.tile.double_threads import DoubleThreads
from tilewright.targets.cuda import compile as compiling
from tilewright.targets.cuda.emit.kernel import emit_kernel
from tilewright.targets.cuda.long_copies import COPIES_AT_ONCE, long_copies
from tilewright.targets.cuda.long_steps import (
    FEWER_STEPS,
    SHORTEN_STEPS,
    STEPS_AT_ONCE,
    long_steps,
)
from tilewright.targets.cuda.unrolling import unroll_by, unroll_whole


def gemm_of(depth: int, *, in_registers: bool = False) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((32, depth), "float16"),
        B: T.Tensor((depth, 64), "float16"),
        C: T.Tensor((32, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((32, depth), "float16")
            A_local = T.alloc_fragment((32, depth), "float16")
            B_shared = T.alloc_shared((depth, 64), "float16")
            C_local = T.alloc_fragment((32, 64), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            if in_registers:
                T.copy(A_shared, A_local)
                T.gemm(A_local, B_shared, C_local, clear_accum=True)
            else:
                T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            T.copy(C_local, C)

    return main


def lowered(kernel: Any) -> FuncOp:
    module = kernel.module.clone()
    engine = DiagnosticEngine()
    GpuPipeline(target="cuda:sm_90a").run(module, engine)
    engine.raise_if_errors()
    return next(
        op
        for op in module.body.ops
        if isinstance(op, FuncOp) and simt_names.KERNEL in op.attributes
    )


def test_steps_from_shared_memory() -> None:
    function = lowered(gemm_of(128))
    before = emit_kernel(function).text
    loops = long_steps(function)
    assert len(loops) == 1
    unroll_by(STEPS_AT_ONCE, loops)
    assert emit_kernel(function).text.count("#pragma unroll 2\n") == 1
    assert long_steps(function) == []
    unroll_whole(loops)
    assert emit_kernel(function).text == before


@pytest.mark.parametrize("kernel", [gemm_of(32), gemm_of(128, in_registers=True)])
def test_steps_that_stay(kernel: Any) -> None:
    """Two steps are few, and registers need constant indices."""
    assert long_steps(lowered(kernel)) == []


def _no_other_form(*_: Any) -> None:
    pass


def _no_revisions(*_: Any) -> Iterator[Any]:
    return iter(())


@pytest.mark.parametrize(
    ("after", "leave_out", "used"),
    [(0, (), True), (8, (), True), (16, (), False), (0, (SHORTEN_STEPS,), False)],
)
def test_the_form_that_spills_less(
    after: int, leave_out: tuple[str, ...], used: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = compiling._metadata  # pyright: ignore[reportPrivateUsage]
    spills = iter([16, after])

    def spilling(*arguments: Any) -> Any:
        metadata = real(*arguments)
        object.__setattr__(metadata, "spill_bytes", next(spills, after))
        return metadata

    monkeypatch.setattr(compiling, "_metadata", spilling)
    monkeypatch.setattr(compiling, "revisions", _no_revisions)
    monkeypatch.setattr(DoubleThreads, "run", _no_other_form)
    engine = DiagnosticEngine()
    pipeline = GpuPipeline(target="cuda:sm_90a", leave_out=leave_out)
    program = compiling.compile_module(
        gemm_of(128).module, "sm_90a", engine=engine, pipeline=pipeline
    )
    assert ("#pragma unroll 2\n" in program.source) == used
    assert (FEWER_STEPS in {each.code for each in engine.diagnostics}) == used


def copied_by(threads: int, rows: int = 128) -> Any:
    """A tile that some warps copy to shared memory."""

    @T.prim_func
    def main(A: T.Tensor((rows, 128), "bfloat16"), B: T.Tensor((rows, 128), "bfloat16")):
        with T.Kernel(1, threads=128):
            S = T.alloc_shared((rows, 128), "bfloat16")
            if T.get_thread_binding() < threads:
                T.copy(A, S, disable_tma=True)
            T.sync_threads()
            T.copy(S, B, disable_tma=True)

    return main


def test_copies_of_one_warp() -> None:
    """64 iterations are unrolled by sixteen; the 16 of all four warps stay."""
    function = lowered(copied_by(32))
    before = emit_kernel(function).text
    loops = long_copies(function)
    assert len(loops) == 1
    unroll_by(COPIES_AT_ONCE, loops)
    assert emit_kernel(function).text.count("#pragma unroll 16\n") == 1
    assert long_copies(function) == []
    unroll_whole(loops)
    assert emit_kernel(function).text == before


def test_copies_of_many_warps_stay() -> None:
    assert long_copies(lowered(copied_by(128))) == []


def test_copies_to_registers_stay() -> None:
    """Registers need constant indices."""

    @T.prim_func
    def main(A: T.Tensor((32, 512), "bfloat16"), B: T.Tensor((32, 512), "bfloat16")):
        with T.Kernel(1, threads=32):
            F = T.alloc_fragment((32, 512), "bfloat16")
            T.copy(A, F)
            for i, j in T.Parallel(32, 512):
                F[i, j] += F[i, j]
            T.copy(F, B)

    assert long_copies(lowered(main)) == []
