"""The lower bound of shared memory that ends forms of a kernel early: never above what they take."""

from __future__ import annotations

import pytest

from tests.passes.amd.latent_attention import latent_attention
from tilewright import T
from tilewright.dialects.tile import PipelineOp
from tilewright.ir.codes.shared import SHARED_MEMORY_EXCEEDED
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd.check_tile_sizes import CheckTileSizes, min_bytes
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.targets.hip.compile import forms, lower_module


def two_gemms(iterations: int, stages: int, *, is_nested: bool) -> PrimFunc:
    """Two GEMMs, whose operands have nothing to do with each other, in one loop."""

    @T.prim_func
    def kernel(
        A: T.Tensor((3, 64, 64 * iterations), "float16"), D: T.Tensor((3, 64, 64), "float32")
    ):
        with T.Kernel(1, threads=128):
            first = T.alloc_shared((64, 64), "float16")
            second = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            for n in T.serial(3 if is_nested else 1):
                T.clear(total)
                for k in T.Pipelined(iterations, num_stages=stages):
                    T.copy(A[n, 0:64, k * 64 : (k + 1) * 64], first)
                    T.gemm(first, first, total, transpose_B=True)
                    T.copy(A[2 - n, 0:64, k * 64 : (k + 1) * 64], second)
                    T.gemm(second, second, total, transpose_B=True)
                T.copy(total, D[n, 0:64, 0:64])

    return kernel


def bound(kernel: PrimFunc, pipeline: AmdPipeline) -> int:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    for each in pipeline.passes():
        if isinstance(each, CheckTileSizes):
            break
        each.run(module, engine)
    return max(min_bytes(op) for op in walk(module) if isinstance(op, PipelineOp))


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize(("iterations", "stages"), [(1, 2), (2, 2), (3, 3), (4, 1), (4, 2), (6, 3)])
def test_buffers_of_a_pipelined_loop_take_the_bound(
    iterations: int, stages: int, is_nested: bool
) -> None:
    kernel = two_gemms(iterations, stages, is_nested=is_nested)
    pipeline = AmdPipeline(target="hip:gfx942", max_versions=1, reuse_within_iteration=True)
    minimum = bound(kernel, pipeline)
    assert minimum == (2 * 64 * 64 * 2 if iterations >= 4 else 0)
    assert lower_module(kernel.module, pipeline).sources[0].shared_bytes >= minimum


def test_forms_that_do_not_fit_end_early() -> None:
    """Without a change to what is compiled in the end."""
    kernel = latent_attention(32, 512, 512, rope=64, rows=64, threads=256)
    requested, *others = forms(AmdPipeline(target="hip:gfx942"))
    assert not requested.check_tile_sizes
    ended: list[int] = []
    for form in others:
        module, engine = kernel.module.clone(), DiagnosticEngine()
        for index, each in enumerate(form.passes()):
            each.run(module, engine)
            if engine.has_errors:
                assert {each.code for each in engine.diagnostics} >= {SHARED_MEMORY_EXCEEDED}
                ended.append(index if isinstance(each, CheckTileSizes) else -1)
                break
            if isinstance(each, CheckTileSizes):
                break
        if not engine.has_errors:
            break
    assert len(ended) == 5  # once, in one version, and in 2, 4 and 8 parts
    assert -1 not in ended


def test_the_error_that_the_user_sees_has_the_buffers() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((256, 4096), "float32"), D: T.Tensor((256, 256), "float32")):
        with T.Kernel(1, threads=256):
            tile = T.alloc_shared((256, 128), "float32")
            total = T.alloc_fragment((256,), "float32")
            T.clear(total)
            for k in T.Pipelined(32, num_stages=2):
                T.copy(A[0, k * 128], tile)
                for j in T.serial(128):
                    for i in T.Parallel(256):
                        total[i] += tile[i, j]
            T.copy(total, D[0, 0:256])

    with pytest.raises(CompileError, match="'tile' needs 131072 B") as raised:
        lower_module(kernel.module, AmdPipeline(target="hip:gfx942"))
    assert "at least" not in str(raised.value)
