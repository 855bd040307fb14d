"""`lower-tile-ops`: from whole tiles to what each thread does.

docs/design/passes.md#lowering-tile-ops. Fragments become registers, shared buffers runs of elements
in the order of their layout; loops, GEMMs, reductions and copies are written for the running
thread, with the instructions that earlier passes have chosen. Guards, barriers and wide accesses
come after.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.agreement import UNREPRESENTABLE
from tilewright.analysis.layout_inference.exchange import is_exchange
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.analysis.layout_inference.tensor_memory import is_move
from tilewright.dialects.amd.names import DIRECT
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    LdMatrixOp,
    MBarrierArriveExpectTxOp,
    MBarrierExpectTxOp,
    WgmmaWaitOp,
)
from tilewright.dialects.nv.launch_control import ClcQueryOp, ClcTryCancelOp
from tilewright.dialects.nv.machine import CpAsyncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    AtomicOp,
    CopyOp,
    GemmOp,
    KernelOp,
    ParallelOp,
    ReduceOp,
    RegionOp,
    Space,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    TransposeScalesOp,
)
from tilewright.dialects.tile.mixed import integers
from tilewright.dialects.tile.reducers import ReducerAllocOp, ReducerFinalizeOp
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk, walk_for
from tilewright.passes.gpu.expand_copies import BY_ENGINE
from tilewright.passes.gpu.lower.amd.direct_copies import lower_direct_copy
from tilewright.passes.gpu.lower.amd.exchange import lower_exchange
from tilewright.passes.gpu.lower.amd.mfma import lower_matrix_core
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage, is_registers
from tilewright.passes.gpu.lower.copies import leader, lower_async_copy
from tilewright.passes.gpu.lower.launch_control import lower_launch_control
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.gpu.lower.loose import lower_loose, lower_matrix_load
from tilewright.passes.gpu.lower.mma import lower_mma
from tilewright.passes.gpu.lower.parallel import lower_parallel
from tilewright.passes.gpu.lower.raw_copies import lower_raw_copy
from tilewright.passes.gpu.lower.reductions import lower_finalize, lower_reduce
from tilewright.passes.gpu.lower.stores import lower_tma_store
from tilewright.passes.gpu.lower.tcgen05 import (
    lower_copy_scales,
    lower_tcgen05_commit,
    lower_tcgen05_gemm,
    lower_transpose_scales,
)
from tilewright.passes.gpu.lower.tensor_memory import (
    TensorMemory,
    lower_move,
    open_tensor_memory,
)
from tilewright.passes.gpu.lower.wgmma import fence_operands_after, lower_wgmma
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.wrap_scalar_fragment_access import ELEMENT_OUTSIDE_LOOP


@dataclass(frozen=True)
class LowerTileOps(Pass):
    """Write tile ops as code of one thread."""

    name = "lower-tile-ops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            storage = BufferStorage(kernel)
            storage.prepare()
            memory = open_tensor_memory(kernel)
            waits = list(walk_for(kernel, WgmmaWaitOp))
            for op in list(walk(kernel)):
                try:
                    if memory is None or not _lower_tensor_memory(op, storage, memory):
                        _lower(op, storage, engine)
                except NotALayout as error:
                    threads = threads_of(op).count
                    diagnostic = engine.error(
                        op,
                        f"operation cannot be distributed over {threads} threads: {error}",
                        UNREPRESENTABLE,
                    )
                    diagnostic.note(
                        None,
                        "help: use thread counts and extents that are powers of two or "
                        "multiples of each other",
                    )
                    return
            for op in list(walk_for(kernel, LoadOp, StoreOp, AtomicOp, PtrOfOp, LdMatrixOp)):
                if isinstance(op, LdMatrixOp):
                    lower_matrix_load(op, storage)
                else:
                    lower_loose(op, storage)
            for op in list(walk_for(kernel, ClcTryCancelOp, ClcQueryOp)):
                lower_launch_control(op, storage)
            for op in list(walk_for(kernel, CpAsyncOp)):
                lower_raw_copy(op)
            for wait in waits:
                fence_operands_after(wait)
            _refuse_left_over(kernel, engine)
            _clean_up(kernel)


def _refuse_left_over(kernel: KernelOp, engine: DiagnosticEngine) -> None:
    """Single elements of fragments, which only the threads that hold them could use."""
    for op in walk_for(kernel, LoadOp, StoreOp):
        if is_registers(op.memref):
            verb = "read" if isinstance(op, LoadOp) else "written"
            diagnostic = engine.error(
                op,
                f"fragment element {verb} outside T.Parallel: every thread would need the "
                "value, and only its owner has it",
                ELEMENT_OUTSIDE_LOOP,
            )
            diagnostic.note(
                None,
                "help: use the element inside T.Parallel, or store it in shared memory "
                "(T.alloc_shared)",
            )


_GEMMS: Mapping[str, Callable[[GemmOp, GemmPlan, BufferStorage], None]] = {
    "wgmma": lower_wgmma,
    "mma": lower_mma,
    "mfma": lower_matrix_core,
    "wmma": lower_matrix_core,
}
"""How a GEMM is written, by its instruction."""


def _lower(op: Operation, storage: BufferStorage, engine: DiagnosticEngine) -> None:
    if isinstance(op, ParallelOp):
        lower_parallel(op, storage)
    elif isinstance(op, GemmOp):
        plan = gemm_plan_of(op)
        _GEMMS[plan.instruction](op, plan, storage)
    elif isinstance(op, ReduceOp):
        lower_reduce(op, storage)
    elif isinstance(op, AsyncCopyOp):
        lower_async_copy(op, storage, engine)
    elif isinstance(op, CopyOp) and is_exchange(op):
        lower_exchange(op, storage)
    elif isinstance(op, CopyOp) and DIRECT in op.attributes:
        lower_direct_copy(op, storage)
    elif isinstance(op, CopyOp) or (isinstance(op, AtomicOp) and BY_ENGINE in op.attributes):
        lower_tma_store(op, storage)
    elif isinstance(op, ReducerFinalizeOp):
        lower_finalize(op, storage)
    elif isinstance(op, (MBarrierArriveExpectTxOp, MBarrierExpectTxOp)):
        _by_leader(op, storage)


def _lower_tensor_memory(op: Operation, storage: BufferStorage, memory: TensorMemory) -> bool:
    """Lower an op of Blackwell's tensor cores; False if it is none."""
    if isinstance(op, CopyOp) and is_move(op):
        lower_move(op, storage, memory)
    elif isinstance(op, Tcgen05GemmOp):
        lower_tcgen05_gemm(op, storage, memory)
    elif isinstance(op, Tcgen05CommitOp):
        lower_tcgen05_commit(op, storage)
    elif isinstance(op, Tcgen05CopyScalesOp):
        lower_copy_scales(op, storage, memory)
    elif isinstance(op, TransposeScalesOp):
        lower_transpose_scales(op, storage)
    else:
        return False
    return True


def _by_leader(op: Operation, storage: BufferStorage) -> None:
    """One thread issues expect-tx for the bytes of a copy that one thread starts."""
    code = IndexBuilder(op)
    inside = opened(code, leader(code, storage, op))
    op.detach()
    inside.add(op)


def gemm_plan_of(op: GemmOp) -> GemmPlan:
    """What layout inference has decided about a GEMM."""
    instruction = op.attributes[simt_names.INSTRUCTION]
    assert isinstance(instruction, StringAttr)
    warps, shape = (integers(op.attributes[each]) for each in (simt_names.WARPS, simt_names.SHAPE))  # pyright: ignore[reportArgumentType]
    width = op.attributes.get(simt_names.K_WIDTH)
    return GemmPlan(
        instruction.data,
        (warps[0], warps[1]),
        (shape[0], shape[1], shape[2]),
        transposed=simt_names.TRANSPOSED in op.attributes,
        k_width=width.value.data if isinstance(width, IntegerAttr) else 0,
    )


def _clean_up(kernel: KernelOp) -> None:
    """Views and tile-level buffers that nothing uses any more."""
    for op in reversed(list(walk_for(kernel, RegionOp, SlotOp, ViewOp, ReducerAllocOp, AllocOp))):
        is_dead = not isinstance(op, AllocOp) or (
            op.space in (Space.FRAGMENT, Space.TMEM) or op.layout is not None or op.space.is_shared
        )
        if is_dead and not _is_used(op):
            op.detach()
            op.erase(safe_erase=False)


def _is_used(op: Operation) -> bool:
    """Whether an op that still stands somewhere uses a result."""
    return any(use.operation.parent is not None for result in op.results for use in result.uses)
