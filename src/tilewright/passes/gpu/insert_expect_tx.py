"""`insert-expect-tx`: barriers expect the bytes that copies will complete on them.

    tile.async_copy %A -> %s barrier %b[0]    ->    nv.mbarrier.expect_tx %b[0], 8192
                                                    tile.async_copy %A -> %s barrier %b[0]

A phase completes when all arrivals and all expected bytes are there. At the tile level a copy
implies its expect-tx, unless the kernel has an explicit one at that barrier; the hardware needs it,
or a phase could complete before the data has arrived. Schedules that this compiler makes contain
their expect-tx already.

A pair of blocks whose tensor cores work together counts the bytes of both at the barrier of the
first, where the copy is on a barrier of the cluster: the first block expects twice the bytes.

A multicast copy completes bytes on the same barrier of each destination CTA. What a CTA receives
depends on the masks of the others, so the user writes expect-tx (`T.mbarrier_arrive_expect_tx`).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp, UnitAttr, i32
from xdsl.ir import SSAValue

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp
from tilewright.dialects.nv import ClusterRankOp, MBarrierArriveExpectTxOp, MBarrierExpectTxOp
from tilewright.dialects.nv.names import PAIR
from tilewright.dialects.tile import AsyncCopyOp, KernelOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.tensor_memory import reports_to_pair
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.tile.index_builder import IndexBuilder

NO_EXPECT_TX, BAD_MASK = "TW4004", "TW4005"


@dataclass(frozen=True)
class InsertExpectTx(Pass):
    """Insert expect-tx at barriers where the kernel has none."""

    name = "insert-expect-tx"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            explicit = _with_expect_tx(kernel)
            for op in list(walk(kernel)):
                if not isinstance(op, AsyncCopyOp) or op.barrier is None or not op.is_bulk:
                    continue
                mask = integer_of(op.cluster_mask)
                has_expect_tx = base_of(op.barrier) in explicit
                if mask is not None:
                    _check(op, mask, kernel, engine, has_expect_tx=has_expect_tx)
                elif reports_to_pair(op):
                    op.attributes[PAIR] = UnitAttr()
                    if not has_expect_tx:
                        _expect_for_pair(op)
                elif not has_expect_tx:
                    _insert_expect_tx(op)


def _with_expect_tx(kernel: KernelOp) -> set[SSAValue]:
    """The barriers with an explicit expect-tx in the kernel."""
    return {
        base_of(op.barrier)
        for op in walk(kernel)
        if isinstance(op, MBarrierExpectTxOp | MBarrierArriveExpectTxOp)
    }


def _insert_expect_tx(op: AsyncCopyOp) -> None:
    assert op.barrier is not None and op.barrier_index is not None
    IndexBuilder(op).add(MBarrierExpectTxOp(op.barrier, op.barrier_index, _bytes(op)))


def _expect_for_pair(op: AsyncCopyOp) -> None:
    """The first block of a pair expects the bytes of both; the other issues the same copy."""
    assert op.barrier is not None and op.barrier_index is not None
    code = IndexBuilder(op)
    rank = code.add(ClusterRankOp()).results[0]
    one, zero = (code.add(ConstantOp.of(each, i32)).results[0] for each in (1, 0))
    parity = code.add(AndiOp(rank, one)).results[0]
    inside = opened(code, code.add(CmpiOp("eq", parity, zero)).results[0])
    inside.add(MBarrierExpectTxOp(op.barrier, op.barrier_index, 2 * _bytes(op)))


def _bytes(op: AsyncCopyOp) -> int:
    size = op.size_bytes
    assert size is not None, "tiles in shared memory have known extents"
    return size


def _check(
    op: AsyncCopyOp, mask: int, kernel: KernelOp, engine: DiagnosticEngine, *, has_expect_tx: bool
) -> None:
    """A multicast copy names existing CTAs, and its bytes are expected."""
    blocks = prod(kernel.cluster_extents or (1,))
    if not 0 < mask < 1 << blocks:
        engine.error(
            op,
            f"cluster_mask={mask:#x} selects CTAs outside the cluster: the cluster has "
            f"{blocks}, so the mask must be in 1 to {(1 << blocks) - 1:#x}",
            BAD_MASK,
        ).note(None, "help: set the cluster size with T.ClusterKernel(..., cluster_dims=(x, y, z))")
    elif not has_expect_tx:
        engine.error(
            op,
            f"multicast copy completes {_bytes(op)} B on the mbarrier of every "
            "destination CTA, but no CTA issues expect-tx for them",
            NO_EXPECT_TX,
        ).note(
            None,
            "help: in one thread of every destination CTA call "
            "T.mbarrier_arrive_expect_tx(barrier, bytes) with the bytes it receives in "
            "this phase",
        )
