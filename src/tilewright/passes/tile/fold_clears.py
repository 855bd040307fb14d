"""`fold-clears`: a product into a buffer that was just cleared replaces what is there.

    tile.fill %c, 0                     tile.gemm %a, %b -> %c {clear}
    ...nothing that touches %c...   ->
    tile.gemm %a, %b -> %c

The first instruction of the product then starts from nothing, and no register is set to zero.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import FloatAttr, IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Operation

from tilewright.dialects.tile import FillOp, GemmOp
from tilewright.dialects.tile.access import base_of, region_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass


@dataclass(frozen=True)
class FoldClears(Pass):
    """Let products replace what was cleared right before them."""

    name = "fold-clears"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(module.walk()):
            if isinstance(op, FillOp) and _is_zero(op) and region_of(op.dst).is_whole:
                product = _next_product(op)
                if product is not None:
                    product.properties["clear"] = UnitAttr()
                    op.detach()
                    op.erase()


def _is_zero(op: FillOp) -> bool:
    value = constant_value(op.value)
    return isinstance(value, FloatAttr | IntegerAttr) and value.value.data == 0


def _next_product(fill: FillOp) -> GemmOp | None:
    """The product that is the next to touch the buffer, in the same block."""
    buffer = base_of(fill.dst)
    following = fill.next_op
    while following is not None:
        if isinstance(following, GemmOp) and base_of(following.c) is buffer:
            accumulates = following.clear is None and following.clear_if is None
            reads_it = buffer in (base_of(following.a), base_of(following.b))
            return following if accumulates and not reads_it else None
        if any(_touches(inner, buffer) for inner in following.walk()):
            return None
        following = following.next_op
    return None


def _touches(op: Operation, buffer: object) -> bool:
    return any(base_of(operand) is buffer for operand in op.operands)
