"""Blackwell: GEMMs into tensor memory, the barriers that complete them, and scales.

    T.tcgen05_gemm(A_shared, B_shared, C_tmem, mbar=done, clear_accum=k == 0)
    T.mbarrier_wait_parity(done, k % 2)
    T.copy(C_tmem, C_local)

A GEMM is issued by one thread of those that reach it, and runs on: its accumulator must not be
accessed, and its operands must not change, until a wait for its barrier has returned. GEMMs of one
issuer complete in order, so the barrier of a later one, or `tcgen05_mma_arrive`, stands for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xdsl.dialects.builtin import IndexType, i32

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.nv import MBarrierWaitOp
from tilewright.dialects.tile import (
    Space,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
)
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.T.allocate import alloc_barrier, alloc_var
from tilewright.language.T.buffers import Buffer, BufferRegion, shape_text
from tilewright.language.T.dtypes import boolean, int32
from tilewright.language.T.expressions import as_type, describe, index_expr, is_python_scalar
from tilewright.language.T.hints import attributes_of
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import OpenKernel, effect
from tilewright.language.T.session import kernel as open_kernel
from tilewright.language.T.tile_ops import (
    GemmWarpPolicy,
    barrier_operands,
    check_gemm,
    gemm,
    region,
)

__all__ = [
    "deallocate_tmem",
    "tcgen05_after_thread_sync",
    "tcgen05_before_thread_sync",
    "tcgen05_cp_warpx4",
    "tcgen05_gemm",
    "tcgen05_gemm_blockscaled",
    "tcgen05_mma_arrive",
    "tcgen05_sf_warp_transpose",
]


def tcgen05_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: GemmWarpPolicy = GemmWarpPolicy.Square,
    clear_accum: Any = False,
    *,
    mbar: Any = None,
    use_2cta: bool = False,
    annotations: Mapping[str, Any] | None = None,
) -> None:
    """Start a GEMM into tensor memory; `mbar` gets an arrival when it is complete.

    Without `mbar`, the barrier of a later GEMM or of `tcgen05_mma_arrive` completes it, too. With
    `use_2cta` the block issues for the pair of its cluster. An accumulator in a fragment has no
    tensor memory to be in: then this is `T.gemm`.
    """
    if mbar is None and region("tcgen05_gemm", "C", C).buffer.space is Space.FRAGMENT:
        gemm(A, B, C, transpose_A, transpose_B, policy, clear_accum, annotations=annotations)
        return
    open_kernel("T.tcgen05_gemm")
    a, b, c = (region("tcgen05_gemm", name, x) for name, x in (("A", A), ("B", B), ("C", C)))
    _check_spaces("tcgen05_gemm", a, b, c)
    check_gemm("tcgen05_gemm", a, b, c, transpose_A, transpose_B, pairs=use_2cta)
    known = is_python_scalar(clear_accum)
    effect(
        Tcgen05GemmOp(
            a.operand(),
            b.operand(),
            c.operand(),
            transpose_a=bool(transpose_A),
            transpose_b=bool(transpose_B),
            clear=bool(clear_accum) if known else False,
            clear_if=None if known else as_type(clear_accum, boolean),
            barrier=None if mbar is None else barrier_operands("tcgen05_gemm", mbar),
            two_cta=bool(use_2cta),
            attributes=attributes_of(annotations),
        )
    )


def synchronous_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool,
    transpose_B: bool,
    clear_accum: Any,
    mbar: Any,
) -> None:
    """``T.gemm`` into tensor memory: issued, and waited for at a barrier of the kernel's own."""
    found = open_kernel("T.gemm")
    own, phase = _own_barrier(found)
    tcgen05_gemm(A, B, C, transpose_A, transpose_B, clear_accum=clear_accum, mbar=mbar)
    tcgen05_mma_arrive(own)
    parity = phase.value()
    effect(MBarrierWaitOp(*barrier_operands("gemm", own), as_type(parity, int32)))
    phase.write(parity ^ 1)


def _own_barrier(found: OpenKernel) -> tuple[Buffer, Any]:
    """A barrier for a GEMM that is waited for at once, and the parity of its phase."""
    barrier = alloc_barrier(1)
    barrier.take("gemm_done")
    phase = alloc_var("int32", name="gemm_phase")
    start, zero = ConstantOp.of(0, IndexType()), ConstantOp.of(0, i32)
    store = StoreOp(zero.results[0], phase.buffer.handle, [start.results[0]])
    assert found.last_allocation is not None
    for op in (start, zero, store):
        op.location = current().location()
    found.body.insert_ops_after([start, zero, store], found.last_allocation)
    return barrier, phase


def tcgen05_gemm_blockscaled(
    A: Any,
    B: Any,
    C: Any,
    SFA_tmem: Any,
    SFB_tmem: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    clear_accum: Any = False,
    wg_wait: int = 0,
    mbar: Any = None,
    *,
    k_start: Any,
    sf_a_granularity_k: int,
    sf_b_granularity_k: int,
    use_2cta: bool = False,
) -> None:
    """Start a GEMM of 8-bit floats, whose groups along K have a scale each, into tensor memory.

    The operands begin at `k_start` along K; `sf_*_granularity_k` elements share a scale, and four
    scales are in 32 bits.
    """
    name = "tcgen05_gemm_blockscaled"
    open_kernel(f"T.{name}")
    if wg_wait:
        raise FrontendError(
            f"T.{name}: wg_wait has no meaning for tcgen05, wait for mbar instead",
            code=BAD_ARGUMENT,
        )
    a, b, c = (region(name, letter, x) for letter, x in (("A", A), ("B", B), ("C", C)))
    _check_spaces(name, a, b, c)
    check_gemm(name, a, b, c, transpose_A, transpose_B, pairs=use_2cta)
    scales = region(name, "SFA_tmem", SFA_tmem), region(name, "SFB_tmem", SFB_tmem)
    for each in scales:
        if each.buffer.space is not Space.TMEM:
            raise FrontendError(
                f"T.{name}: {each.buffer.name} must come from T.alloc_tmem: scales are copied "
                "there by T.tcgen05_cp_warpx4",
                code=BAD_ARGUMENT,
            )
    known = is_python_scalar(clear_accum)
    effect(
        Tcgen05GemmOp(
            a.operand(),
            b.operand(),
            c.operand(),
            transpose_a=bool(transpose_A),
            transpose_b=bool(transpose_B),
            clear=bool(clear_accum) if known else False,
            clear_if=None if known else as_type(clear_accum, boolean),
            barrier=None if mbar is None else barrier_operands(name, mbar),
            scales=(scales[0].operand(), scales[1].operand()),
            k_start=index_expr(k_start).handle,
            granularity=(int(sf_a_granularity_k), int(sf_b_granularity_k)),
            two_cta=bool(use_2cta),
        )
    )


def _check_spaces(op_name: str, a: BufferRegion, b: BufferRegion, c: BufferRegion) -> None:
    shared_or_tmem = "T.alloc_shared or T.alloc_tmem"
    for letter, part, allowed, makers in (
        ("A", a, a.buffer.space.is_shared or a.buffer.space is Space.TMEM, shared_or_tmem),
        ("B", b, b.buffer.space.is_shared, "T.alloc_shared"),
        ("C", c, c.buffer.space is Space.TMEM, "T.alloc_tmem"),
    ):
        if not allowed:
            raise FrontendError(
                f"T.{op_name}: {letter} must come from {makers}, got {part.buffer.name}, which is "
                f"in {part.buffer.scope()}",
                code=BAD_ARGUMENT,
            )


def tcgen05_mma_arrive(mbar: Any, arrive_2cta: bool = False) -> None:
    """One arrival at `mbar` when all GEMMs that this thread has started are complete.

    With `arrive_2cta` the barriers of both blocks of the pair get one.
    """
    open_kernel("T.tcgen05_mma_arrive")
    slot = barrier_operands("tcgen05_mma_arrive", mbar)
    effect(Tcgen05CommitOp(*slot, two_cta=bool(arrive_2cta)))


def tcgen05_cp_warpx4(
    smem_src: Any, tmem_dst: Any, tmem_col_offset: Any = 0, *, use_2cta: bool = False
) -> None:
    """Start the copy of scales to tensor memory: each 128 integers take four columns."""
    open_kernel("T.tcgen05_cp_warpx4")
    source = region("tcgen05_cp_warpx4", "smem_src", smem_src)
    target = region("tcgen05_cp_warpx4", "tmem_dst", tmem_dst)
    _check_packed("tcgen05_cp_warpx4", source)
    columns = source.extents[-1] // 128 * 4
    if not is_python_scalar(tmem_col_offset) or int(tmem_col_offset):
        start = tmem_col_offset
        target = target.buffer[0 : target.buffer.shape[0], start : start + columns]
    effect(Tcgen05CopyScalesOp(source.operand(), target.operand(), two_cta=bool(use_2cta)))


def tcgen05_sf_warp_transpose(smem_src: Any) -> None:
    """Reorder scales in shared memory as `tcgen05_cp_warpx4` takes them; done by a warp."""
    open_kernel("T.tcgen05_sf_warp_transpose")
    packed = region("tcgen05_sf_warp_transpose", "smem_src", smem_src)
    _check_packed("tcgen05_sf_warp_transpose", packed)
    effect(TransposeScalesOp(packed.operand()))


def _check_packed(op_name: str, part: BufferRegion) -> None:
    last = part.extents[-1]
    if not isinstance(last, int) or last % 128 or part.dtype.bits != 32:
        raise FrontendError(
            f"T.{op_name}: scales are rows of a multiple of 128 integers of 32 bits, got "
            f"{part.buffer.name}: {part.dtype}{shape_text(part.extents)}",
            code=BAD_ARGUMENT,
        )


def tcgen05_before_thread_sync() -> None:
    """Order accesses of tensor memory before a barrier; the compiler inserts this fence."""
    open_kernel("T.tcgen05_before_thread_sync")


def tcgen05_after_thread_sync() -> None:
    """Order accesses of tensor memory after a barrier; the compiler inserts this fence."""
    open_kernel("T.tcgen05_after_thread_sync")


def deallocate_tmem(tmem: Any) -> None:
    """The buffer is not used any more; columns are freed when the block ends."""
    open_kernel("T.deallocate_tmem")
    if not isinstance(tmem, Buffer) or tmem.space is not Space.TMEM:
        raise FrontendError(
            f"T.deallocate_tmem takes a buffer of T.alloc_tmem, got {describe(tmem)}",
            code=BAD_ARGUMENT,
        )
