"""Small instructions that stock Triton does not have, as assembly; hints that may go.

``nvg.cluster_id`` is among them: stock Triton has it, but takes it for 0 in a kernel whose CTAs
are programs of their own.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, i32, i64
from xdsl.ir import Attribute, Operation

from tilewright.dialects.arith import IndexCastOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.ttng import FenceOp, VoteBallotSyncOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.stock_triton.assembly import as_integer, braced, scalar_assembly

DROPPED = "TW6043"

_FENCES = {"gpu": "fence.acq_rel.gpu;", "sys": "fence.acq_rel.sys;"}
_DONE = "mov.u32 $0, 0;"


def _read(register: str, type: Attribute, constraint: str, *, pure: bool) -> Operation:
    width = "u64" if type == i64 else "u32"
    return scalar_assembly(f"mov.{width} $0, {register};", (), type, constraint, pure=pure)


def cluster_rank(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The rank of this CTA in its cluster."""
    rewriter.replace_op(op, _read("%cluster_ctarank", i32, "=r", pure=True))


def cluster_size(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The number of CTAs in this cluster."""
    rewriter.replace_op(op, _read("%cluster_nctarank", i32, "=r", pure=True))


def clock(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The clock, read where it stands."""
    rewriter.replace_op(op, _read("%clock64", i64, "=l", pure=False))


def thread_id(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The number of this thread in its CTA."""
    assert isinstance(op, ThreadIdOp)
    index = _read(f"%tid.{op.dimension.data.value}", i32, "=r", pure=True)
    rewriter.replace_op(op, [index, IndexCastOp(index.results[0], IndexType())])


def fence(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """A fence of all memory."""
    assert isinstance(op, FenceOp)
    text = _FENCES.get(op.scope.data)
    if text is not None:
        rewriter.replace_op(op, scalar_assembly(f"{text} {_DONE}"), [])


def ballot(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The votes of a warp on one truth value."""
    assert isinstance(op, VoteBallotSyncOp)
    if is_tensor(op.pred.type):
        return
    flag = as_integer(op.pred)
    text = braced(".reg .pred p;", "setp.ne.u32 p, $2, 0;", "vote.sync.ballot.b32 $0, p, $1;")
    rewriter.replace_op(op, [flag, scalar_assembly(text, (op.mask, flag.result))])


def cluster_arrive(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """An arrival at the barrier of the cluster."""
    order = "relaxed" if op.properties["relaxed"].value.data else "release"  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    rewriter.replace_op(op, scalar_assembly(f"barrier.cluster.arrive.{order}; {_DONE}"), [])


def cluster_wait(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """The wait of a cluster barrier."""
    rewriter.replace_op(op, scalar_assembly(f"barrier.cluster.wait.acquire; {_DONE}"), [])


def publish_barriers(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """Initialised barriers become visible in the cluster."""
    text = f"fence.mbarrier_init.release.cluster; {_DONE}"
    rewriter.replace_op(op, scalar_assembly(text), [])


def drop_hint(op: Operation, rewriter: Rewriter, engine: DiagnosticEngine) -> None:
    """A prefetch is a hint: it is dropped where stock Triton has no equivalent."""
    engine.remark(op, f"prefetch not applied: stock Triton has no '{op.name}'", DROPPED)
    rewriter.erase(op)
