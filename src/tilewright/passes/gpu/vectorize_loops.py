"""`vectorize-loops`: a loop over lanes becomes wide accesses and arithmetic on registers.

    scf.for %l = 0 to 8 {vectorize}            simt.move %A[%b] -> %stage[0] lanes(8)
      %x = memref.load %A[%b + %l]       ->    scf.for %l = 0 to 8 {unroll}
      memref.store f(%x), %C[%b + %l]            %y = f(stage[%l]); store %y, %out[%l]
                                               simt.move %out[0] -> %C[%b] lanes(8)

`lanes.widths` decides which accesses are made wide, `lanes.widen` rewrites them. Branches that all
lanes take alike are no obstacle; additions of contiguous floats become vector reductions (sm_90).
Where run-time values decide whether a chunk is whole, both forms are generated; loads of rows that
begin anywhere are two aligned accesses and a shift. What a pipelined loop only moves to shared
memory becomes asynchronous moves (`lanes.gather`). What is not wide stays in the loop; a remark
gives the reason (TW3010).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import Space, names, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lanes.accesses import LaneAccess, accesses_in, disordered
from tilewright.passes.gpu.lanes.gather import move_asynchronously
from tilewright.passes.gpu.lanes.widen import Widening
from tilewright.passes.gpu.lanes.widths import LaneWidths, Width
from tilewright.passes.gpu.narrow_accesses import remark_narrow, remark_shifted, remark_tested

_ORDER = "the loop reads it again after writing it, or writes it in different ways"


@dataclass(frozen=True)
class VectorizeLoops(Pass):
    """Replace loops over lanes with wide accesses."""

    name = "vectorize-loops"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in walk(module):
            if not isinstance(function, FuncOp):
                continue
            loops = [op for op in walk(function) if isinstance(op, ForOp) and is_vector(op)]
            if loops:
                ranges = IndexRanges(function)
                for loop in loops:
                    _vectorize(loop, ranges, engine)


def is_vector(loop: ForOp) -> bool:
    return names.VECTORIZE in loop.attributes


def _vectorize(loop: ForOp, ranges: IndexRanges, engine: DiagnosticEngine) -> None:
    widths = LaneWidths(loop, ranges)
    chosen: list[tuple[LaneAccess, Width]] = []
    fixed = disordered(loop)
    for access in accesses_in(loop):
        if widths.widest(access) == 1 or not widths.steps(access):
            width, problem = Width(1), None
        elif base_of(access.buffer) in fixed:
            width, problem = Width(1), _ORDER
        else:
            width, problem = widths.of(access)
        if problem is not None and space_of(access.buffer.type) is Space.GLOBAL:
            done = "read" if isinstance(access.op, LoadOp) else "written"
            if width.is_unaligned:
                remark_shifted(access.op, access.buffer, width.lanes, problem, engine)
            elif width.is_cut:
                remark_tested(access.op, done, access.buffer, width.lanes, problem, engine)
            else:
                widest = widths.widest(access)
                remark_narrow(access.op, done, access.buffer, width.lanes, widest, problem, engine)
        chosen.append((access, width))
    widening = Widening(widths)
    if names.ASYNCHRONOUS in loop.attributes:
        if move_asynchronously(widths, chosen, widening.outside):
            return
        del loop.attributes[names.ASYNCHRONOUS]
    staying = _written_narrow(chosen)
    for access, width in chosen:
        is_write = not isinstance(access.op, LoadOp)
        if width.lanes > 1 and not (is_write and base_of(access.buffer) in staying):
            widening.widen(access, width)
    del loop.attributes[names.VECTORIZE]
    loop.attributes[names.UNROLL] = UnitAttr()


def _written_narrow(chosen: list[tuple[LaneAccess, Width]]) -> set[SSAValue]:
    """Buffers of which one write stays in the loop: others would come after it."""
    return {
        base_of(access.buffer)
        for access, width in chosen
        if not isinstance(access.op, LoadOp) and width.lanes == 1
    }
