"""`lower-warp-ops`: exchanges of 32 threads in waves of 64, and the thread that is elected.

    %e = nv.elect                     ->    %tid mod 32 == 0
    %v = tile.vote ballot %p width 32 ->    %b = tile.vote ballot %p : i64
                                            the low or the high half of %b

A warp of the language is 32 threads on every GPU (`dialects/tile/lanes.py`). Shuffles have a width,
which the hardware's exchanges take; votes are those of a whole wave. The two halves may take
different branches: lanes that are not there vote no.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, i1, i32, i64
from xdsl.ir import SSAValue

from tilewright.dialects.arith import (
    AndiOp,
    CmpiOp,
    ConstantOp,
    IndexCastOp,
    RemuiOp,
    ShruiOp,
    TrunciOp,
    XoriOp,
)
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.nv import ElectOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.lanes import WARP, VoteOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class LowerWarpOps(Pass):
    """Write votes of 32 threads as halves of a wave's, and elect the first of 32 threads."""

    name = "lower-warp-ops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, ElectOp):
                code = IndexBuilder(op)
                tid = code.add(ThreadIdOp("x")).results[0]
                lane = code.add(RemuiOp(tid, code.index(WARP))).results[0]
                first = code.add(CmpiOp("eq", lane, code.index(0))).results[0]
                code.rewriter.replace_op(op, [], [first])
            elif isinstance(op, VoteOp) and op.lanes(warp_size_of(op)) < warp_size_of(op):
                code = IndexBuilder(op)
                code.rewriter.replace_op(op, [], [_half(code, op)])


def _half(code: IndexBuilder, op: VoteOp) -> SSAValue:
    """What 32 threads of a wave of 64 voted."""
    predicate, mode = op.predicate, op.mode.data
    if mode == "all":
        predicate = _not(code, predicate)
    ballot = code.add(VoteOp("ballot", predicate, i64)).results[0]
    tid = code.add(ThreadIdOp("x")).results[0]
    thread = code.add(IndexCastOp(tid, i64)).results[0]
    by = code.add(AndiOp(thread, code.add(ConstantOp.of(WARP, i64)).results[0])).results[0]
    shifted = code.add(ShruiOp(ballot, by)).results[0]
    votes = code.add(TrunciOp(shifted, i32)).results[0]
    if mode == "ballot":
        if op.result.type == i32:
            return votes
        # The other half is not part of the result.
        low = code.add(ConstantOp.of((1 << WARP) - 1, i64)).results[0]
        return code.add(AndiOp(shifted, low)).results[0]
    some = code.add(CmpiOp("ne", votes, code.add(ConstantOp.of(0, i32)).results[0])).results[0]
    return some if mode == "any" else _not(code, some)


def _not(code: IndexBuilder, value: SSAValue) -> SSAValue:
    true = code.add(ConstantOp.of(True, i1)).results[0]
    return code.add(XoriOp(value, true)).results[0]
