"""`narrow-producers`: a role that only starts copies is run by one warp.

One thread of such a role starts the copies and is tied to the consumers by their barriers. The
other warps of its group would only wait as well, and nothing bounds their lag: one that is two
phases late waits for a parity that has recurred, and the block deadlocks. So they do nothing (their
purpose is to give up their registers).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region

from tilewright.dialects.arith import CmpiOp, ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import BarrierOp, ThreadIdOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import (
    BarOp,
    BulkLoadOp,
    MBarrierArriveOp,
    TmaLoadOp,
)
from tilewright.dialects.nv.matrix import MatrixMoveOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.moves import LaneOp
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AtomicOp, space_of
from tilewright.dialects.tile.mixed import INDEX
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

_ALL_THREADS = (BarOp, BarrierOp, MBarrierArriveOp, LaneOp, MatrixMoveOp, AtomicOp)
"""Ops that count on every thread of the role."""


@dataclass(frozen=True)
class NarrowProducers(Pass):
    """Let one warp run roles that only start copies."""

    name = "narrow-producers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.body.ops:
            if not isinstance(function, FuncOp) or simt_names.KERNEL not in function.attributes:
                continue
            for op in list(walk(function)):
                if isinstance(op, WsOp):
                    for role, region in zip(op.roles, op.bodies, strict=True):
                        if role.num_threads > NVIDIA_WARP and _only_starts_copies(region):
                            _narrow(op, role, region.block)


def _only_starts_copies(region: Region) -> bool:
    ops = list(region.walk())
    starts = any(isinstance(op, TmaLoadOp | BulkLoadOp) for op in ops)
    return starts and not any(isinstance(op, _ALL_THREADS) or _accesses_memory(op) for op in ops)


def _accesses_memory(op: Operation) -> bool:
    if not isinstance(op, LoadOp | StoreOp):
        return False
    space = space_of(op.memref.type)
    return space is not None and space.is_shared


def _narrow(op: WsOp, role: Role, block: Block) -> None:
    """Put the body of a role into a branch for its first warp."""
    first, end = block.first_op, block.last_op
    assert first is not None and end is not None
    inside = Block([YieldOp()])
    stop = inside.last_op
    assert stop is not None
    for each in list(block.ops):
        if each is not end:
            each.detach()
            inside.insert_op_before(each, stop)
    tid = ThreadIdOp("x")
    limit = ConstantOp.of(role.ranges[0][0] + NVIDIA_WARP, INDEX)
    is_first = CmpiOp("ult", tid.results[0], limit.results[0])
    for each in (tid, limit, is_first, IfOp(is_first.results[0], [], Region(inside))):
        each.location = op.location
        block.insert_op_before(each, end)
