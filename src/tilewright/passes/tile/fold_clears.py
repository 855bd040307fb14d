"""`fold-clears`: a GEMM into a buffer that was just cleared overwrites it.

    tile.fill %c, 0                     tile.gemm %a, %b -> %c {clear}
    ...no access to %c...           ->
    tile.gemm %a, %b -> %c

    scf.if %p { mask %c }               scf.if %p { mask %c }
    else { tile.fill %c, 0 }        ->  tile.gemm %a, %b -> %c clear_if not %p
    tile.gemm %a, %b -> %c

The first MMA then ignores the accumulator, and no register is set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnitAttr, i1
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp, XoriOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.tile import FillOp, GemmOp
from tilewright.dialects.tile.access import base_of, region_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder


@dataclass(frozen=True)
class FoldClears(Pass):
    """Let GEMMs overwrite what was cleared right before them."""

    name = "fold-clears"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, FillOp) and _is_zero(op) and region_of(op.dst).is_whole:
                _fold(op)


def _fold(fill: FillOp) -> None:
    buffer = base_of(fill.dst)
    gemm, is_last = _next_gemm(fill, buffer)
    if gemm is not None:
        gemm.properties["clear"] = UnitAttr()
    elif is_last and isinstance(choice := fill.parent_op(), IfOp):
        gemm, _ = _next_gemm(choice, buffer)
        if gemm is None:
            return
        gemm.operands = [*gemm.operands, _taken(fill, choice)]
    else:
        return
    fill.detach()
    fill.erase()


def _taken(op: Operation, choice: IfOp) -> SSAValue:
    """Whether `op` is in a branch that its condition decides."""
    if op.parent is choice.then_region.block:
        return choice.condition
    code = IndexBuilder(choice)
    true = code.add(ConstantOp.of(1, i1)).results[0]
    return code.add(XoriOp(choice.condition, true)).results[0]


def _is_zero(op: FillOp) -> bool:
    value = constant_value(op.value)
    return isinstance(value, FloatAttr | IntegerAttr) and value.value.data == 0


def _next_gemm(op: Operation, buffer: SSAValue) -> tuple[GemmOp | None, bool]:
    """The GEMM that is the next to access the buffer, in the same block; whether no op does."""
    following = op.next_op
    while following is not None:
        if isinstance(following, GemmOp) and base_of(following.c) is buffer:
            accumulates = following.clear is None and following.clear_if is None
            reads_it = buffer in (base_of(following.a), base_of(following.b))
            return following if accumulates and not reads_it else None, False
        if any(_accesses(inner, buffer) for inner in walk(following)):
            return None, False
        following = following.next_op
    return None, True


def _accesses(op: Operation, buffer: SSAValue) -> bool:
    return any(base_of(operand) is buffer for operand in op.operands)
