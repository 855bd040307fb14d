"""Kernels whose tiles exceed the LDS of a block: operands in parts, and what remains an error."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from tests.passes.amd.latent_attention import latent_attention, reference
from tilewright import T
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.tile import AllocOp, GemmOp, KernelOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd import operand_parts
from tilewright.passes.amd.duplicate_operands import DuplicateOperands
from tilewright.passes.amd.operand_parts import plan_small_parts
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.amd.split_operands import SPLIT, SplitOperands
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.shared_sizes import bytes_of
from tilewright.passes.tile.bind_target import BindTarget
from tilewright.targets.hip.compile import Lowered, lower_module
from tilewright.targets.numpy.simt import Buffer, SimtFault, SimtOptions, compile_simt
from tilewright.targets.numpy.tile import TileOptions, compile_tile_module

PARTS = "in {} parts"
LDS = 65536


def scaled_gemm(rows: int, depth: int, *, is_conditional: bool = False) -> PrimFunc:
    """C = A (2 B): B goes through registers, A is copied."""

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 2 * depth), "float16"),
        B: T.Tensor((2 * depth, 64), "float16"),
        C: T.Tensor((rows, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((rows, depth), "float16")
            B_shared = T.alloc_shared((depth, 64), "float16")
            B_local = T.alloc_fragment((depth, 64), "float16")
            C_local = T.alloc_fragment((rows, 64), "float32")
            if not is_conditional:
                T.clear(C_local)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * depth], A_shared)
                T.copy(B[k * depth, 0], B_local)
                for i, j in T.Parallel(depth, 64):
                    B_shared[i, j] = B_local[i, j] * 2
                if is_conditional:
                    T.gemm(A_shared, B_shared, C_local, clear_accum=k == 0)
                else:
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C)

    return kernel


def lowered(kernel: PrimFunc, arch: str) -> Lowered:
    return lower_module(kernel.module, AmdPipeline(target=f"hip:{arch}"))


def in_parts(kernel: PrimFunc, arch: str, parts: int = 16, **options: Any) -> Lowered:
    """A kernel that would fit, as one that does not."""
    pipeline = AmdPipeline(
        target=f"hip:{arch}",
        max_versions=1,
        operand_parts=parts,
        pipelined_parts=False,
        leave_out=(DuplicateOperands.name,),
        **options,
    )
    return lower_module(kernel.module, pipeline)


def remarks(found: Lowered) -> list[str]:
    return [each.message for each in found.diagnostics if each.code == SPLIT]


def attend(found: Lowered, heads: int, keys: int, dim: int, rope: int, dtype: Any) -> float:
    """The relative error of the result, in a run of the threads."""
    rng = np.random.default_rng(heads)
    shapes = ((heads, dim), (heads, rope), (keys, dim), (keys, rope))
    arrays = [rng.standard_normal(shape).astype(dtype) for shape in shapes]
    out = np.full((heads, dim), np.nan).astype(dtype)
    names = ("Q", "QR", "KV", "KR", "Out")
    buffers: list[Any] = [Buffer(*each) for each in zip(names, (*arrays, out), strict=True)]
    compile_simt(found.module).launch(buffers, SimtOptions(schedules=2))
    exact = reference(*arrays)
    return float(np.linalg.norm(out.astype(np.float64) - exact) / np.linalg.norm(exact))


# -- values ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "is_conditional"), [("gfx942", False), ("gfx1100", True)])
def test_an_operand_that_does_not_fit_is_filled_in_parts(arch: str, is_conditional: bool) -> None:
    kernel = scaled_gemm(128, 256, is_conditional=is_conditional)  # A alone takes 64 KiB
    found = lowered(kernel, arch)
    assert found.sources[0].shared_bytes <= LDS
    assert [PARTS.format(2) in each or PARTS.format(4) in each for each in remarks(found)] == [True]
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 512), (512, 64)))
    c = np.zeros((128, 64), np.float32)
    buffers: list[Any] = [Buffer(*each) for each in zip("ABC", (a, b, c), strict=True)]
    compile_simt(found.module).launch(buffers, SimtOptions(schedules=2))
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)))


@pytest.mark.parametrize(
    ("arch", "weights_in", "dtype"),
    [
        ("gfx90a", "both", np.float16),
        ("gfx942", "registers", np.float16),
        ("gfx942", "shared", ml_dtypes.bfloat16),
        ("gfx1100", "registers", np.float16),
        ("gfx1201", "shared", np.float16),
    ],
)
def test_a_tile_that_two_gemms_read_is_filled_for_each(
    arch: str, weights_in: str, dtype: Any
) -> None:
    heads, keys, dim, rope = 37, 101, 192, 32  # the last block and the last tile are cut
    kernel = latent_attention(
        heads, keys, dim, rope=rope, dtype=np.dtype(dtype).name, weights_in=weights_in
    )
    found = in_parts(kernel, arch)
    assert [each.partition(",")[0] for each in remarks(found)] == [
        "'Qs' and 'KVs' filled in 6 parts along K",
        "'KVs' filled in 2 parts along K",
    ]
    error = attend(found, heads, keys, dim, rope, dtype)
    assert error < (5e-4 if dtype is np.float16 else 4e-3)


def test_an_operand_in_registers_is_read_in_shared_memory() -> None:
    kernel = latent_attention(33, 70, 128, weights_in="both")
    found = in_parts(kernel, "gfx1100", read_shared_operands=True)
    assert "weights" not in found.sources[0].text
    assert "weights" in in_parts(kernel, "gfx1100").sources[0].text
    assert attend(found, 33, 70, 128, 32, np.float16) < 5e-4


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
@pytest.mark.slow
def test_latent_attention_of_512_elements_fits(arch: str) -> None:
    """Q and KV alone take twice the LDS of a block."""
    kernel = latent_attention(64, 130, 512, rope=64, rows=64, threads=256)
    found = lowered(kernel, arch)
    assert found.sources[0].shared_bytes <= LDS
    assert attend(found, 64, 130, 512, 64, np.float16) < 5e-4


def chained(depth: int, dim: int, *, writes_source: bool = False) -> PrimFunc:
    """D = (A Bᵀ) B of integers, and B after the copy that fills the tile."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, dim), "float16"),
        B: T.Tensor((3 * depth, dim), "float16"),
        D: T.Tensor((32, dim), "float32"),
    ):
        with T.Kernel(1, threads=128):
            As = T.alloc_shared((32, dim), "float16")
            Bs = T.alloc_shared((depth, dim), "float16")
            Ps = T.alloc_shared((32, depth), "float16")
            P = T.alloc_fragment((32, depth), "float32")
            S = T.alloc_fragment((32, dim), "float32")
            T.copy(A, As)
            T.clear(S)
            for n in T.serial(3):
                T.copy(B[n * depth, 0], Bs)
                if writes_source:
                    for i, j in T.Parallel(depth, dim):
                        B[n * depth + i, j] = T.cast(0, "float16")
                    T.sync_threads()
                T.gemm(As, Bs, P, transpose_B=True, clear_accum=True)
                T.copy(P, Ps)
                T.gemm(Ps, Bs, S)
            T.copy(S, D)

    return kernel


def integers(depth: int, dim: int, seed: int = 0) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    a, b = (
        rng.integers(-1, 2, shape).astype(np.float16) for shape in ((32, dim), (3 * depth, dim))
    )
    exact = a.astype(np.float32) @ b.astype(np.float32).T @ b.astype(np.float32)
    return a, b, exact


@settings(max_examples=12)
@given(
    depth=st.sampled_from((32, 64, 96, 128)),
    dim=st.sampled_from((64, 96, 160, 192)),
    parts=st.sampled_from((2, 4, 8, 16)),
    pipelined=st.booleans(),
)
def test_the_pass_changes_no_value(depth: int, dim: int, parts: int, pipelined: bool) -> None:
    """At the tile level, where sums of integers are exact."""
    module, engine = chained(depth, dim).module.clone(), DiagnosticEngine()
    BindTarget("hip:gfx942").run(module, engine)
    SplitOperands(parts, pipelined).run(module, engine)
    module.verify()
    a, b, exact = integers(depth, dim)
    d = np.full((32, dim), np.nan, np.float32)
    buffers: list[Any] = [Buffer(*each) for each in zip("ABD", (a, b, d), strict=True)]
    compile_tile_module(module).launch(buffers, TileOptions())
    np.testing.assert_array_equal(d, exact)


# -- the plan ----------------------------------------------------------------------------------


def bound(kernel: PrimFunc) -> ModuleOp:
    module = kernel.module.clone()
    BindTarget("hip:gfx942").run(module, DiagnosticEngine())
    return module


@given(
    depth=st.integers(1, 16).map(lambda n: 16 * n),
    dim=st.integers(1, 16).map(lambda n: 16 * n),
    limit=st.integers(1, LDS),
)
def test_parts_are_the_fewest_that_are_small_enough(depth: int, dim: int, limit: int) -> None:
    module = bound(chained(depth, dim))
    (kernel,) = (op for op in walk(module) if isinstance(op, KernelOp))
    plan = plan_small_parts(kernel, limit)
    whole = {op.buffer_name: bytes_of(op) for op in walk(kernel) if isinstance(op, AllocOp)}
    split = {each.alloc.buffer_name for each in plan.operands}
    # 64 bytes of K at least; Bs is split only if both GEMMs can have several parts.
    several = {"As": dim % 32 == 0 and dim > 32}
    several["Bs"] = several["As"] and depth % 32 == 0 and depth > 32
    assert split == {name for name, holds in several.items() if holds and whole[name] > limit}
    for gemm in plan.gemms:
        *_, k = gemm.op.mnk
        size = max(whole[each.alloc.buffer_name] for each in gemm.operands)
        allowed = [n for n in range(1, k + 1) if k % n == 0 and k // n % 32 == 0]
        enough = [n for n in allowed if -(-size // n) <= limit]
        assert gemm.parts == (min(enough) if enough else max(allowed))


def test_what_fits_is_not_split() -> None:
    assert remarks(lowered(scaled_gemm(64, 64), "gfx942")) == []


def test_two_tiles_that_threads_read_do_not_fit_in_any_form() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 256), "float16"), B: T.Tensor((128, 256), "float16")):
        with T.Kernel(1, threads=128):
            one = T.alloc_shared((128, 256), "float16")
            other = T.alloc_shared((128, 256), "float16")
            T.copy(A, one)
            T.copy(B, other)
            for i, j in T.Parallel(128, 256):
                B[i, j] = one[127 - i, j] + other[127 - i, 255 - j]

    engine = DiagnosticEngine()
    with pytest.raises(CompileError, match="'one' with 32768 B instead of 65536 B, 'other' with"):
        lower_module(kernel.module, AmdPipeline(target="hip:gfx942"), engine)
    assert engine.error_count == 1  # of the form that was requested


def test_a_kernel_that_fits_in_another_form_reports_no_error() -> None:
    engine = DiagnosticEngine()
    lower_module(scaled_gemm(128, 256).module, AmdPipeline(target="hip:gfx942"), engine)
    assert engine.diagnostics == []


def test_the_remark_lists_what_is_read_again() -> None:
    found = in_parts(latent_attention(32, 64, 128), "gfx942")
    first, second = (each for each in found.diagnostics if each.code == SPLIT)
    again = "is read from global memory again each time that a GEMM uses it"
    assert [note.message for note in first.notes] == [
        f"'Qs' {again}",
        f"'KVs' {again}",
        "help: no change is required; use a smaller tile along K for faster code",
    ]
    assert second.message == (
        "'KVs' filled in 2 parts along K, sequentially: the whole does not fit into shared memory; "
        "these copies do not overlap with computation"
    )
    whole = in_parts(scaled_gemm(128, 256), "gfx942", parts=4)
    (remark,) = (each for each in whole.diagnostics if each.code == SPLIT)
    assert len(remark.notes) == 1  # A is read once, as in the kernel


# -- faults that are put in --------------------------------------------------------------------


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_tensor_that_is_written_after_the_copy_is_not_read_again(
    is_checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the check the GEMMs would find zeros."""
    if not is_checked:
        monkeypatch.setattr(operand_parts, "_written", lambda _: [])
    found = in_parts(chained(64, 128, writes_source=True), "gfx942")
    assert any("'Bs'" in each for each in remarks(found)) is not is_checked
    a, b, exact = integers(64, 128)
    d = np.full((32, 128), np.nan, np.float32)
    buffers: list[Any] = [Buffer(*each) for each in zip("ABD", (a, b, d), strict=True)]
    compile_simt(found.module).launch(buffers, SimtOptions())
    assert not b.any()
    assert np.array_equal(d, exact) is is_checked


def test_every_barrier_between_parts_is_needed() -> None:
    """Parts of a tile, and tiles that overlap within an iteration, are in the same bytes."""
    module = in_parts(chained(64, 128), "gfx942").module
    barriers = [op for op in walk(module) if isinstance(op, BarrierOp)]
    assert len(barriers) > 6  # one for each of 4 + 2 parts, at least
    for index in range(len(barriers)):
        broken = module.clone()
        op = [each for each in walk(broken) if isinstance(each, BarrierOp)][index]
        op.detach()
        op.erase()
        engine = DiagnosticEngine()
        CheckThreadSync().run(broken, engine)
        assert engine.has_errors, f"barrier {index}"
    a, b, _ = integers(64, 128)
    d = np.zeros((32, 128), np.float32)
    buffers: list[Any] = [Buffer(*each) for each in zip("ABD", (a, b, d), strict=True)]
    with pytest.raises(SimtFault, match="race"):
        compile_simt(broken).launch(buffers, SimtOptions(schedules=2))


def test_gemms_of_parts_are_the_gemms_that_there_were() -> None:
    """What the pass leaves has no other users of the buffers that it made."""
    module = bound(chained(64, 128))
    SplitOperands(16, pipelined=False).run(module, DiagnosticEngine())
    gemms = [op for op in walk(module) if isinstance(op, GemmOp)]
    assert len(gemms) == 4 + 2
    for op in walk(module):
        if isinstance(op, AllocOp):
            assert all(use.operation.parent is not None for use in op.result.uses)
