"""Let block ids walk over the grid in the order of the schedule.

    %by, %bx = tensix.raster row_major %t, 8, 8   ->   tensix.raster block_linear [4, 4] %t, 8, 8

Every order is a bijection of ids and blocks, so results do not change. Reader and writer use the
same map. Orders that are tables (``z_order``, ``hilbert``) need a grid that is constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SCHEDULE, functions, get

SYMBOLIC_TABLE = "TW7080"
BAD_BLOCK = "TW7081"


@dataclass(frozen=True)
class RasterizeTiles(Pass):
    """Apply the raster order of the schedule."""

    name = "rasterize-tiles"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            schedule: dict[str, Any] = get(function, SCHEDULE)
            rect = schedule.get("rect")
            if rect is not None and min(rect) < 1:
                engine.error(
                    function,
                    f"the block of the raster order is {rect[0]}x{rect[1]}: use extents >= 1",
                    BAD_BLOCK,
                )
                continue
            for op in [op for op in walk(function) if isinstance(op, RasterOp)]:
                _apply(op, schedule["order"], rect, engine)


def _apply(op: RasterOp, order: str, rect: list[int] | None, engine: DiagnosticEngine) -> None:
    block = (rect[0], rect[1]) if order == "block_linear" and rect is not None else None
    made = RasterOp(order, op.tile, op.rows, op.columns, block)
    is_constant = all(constant_value(each) is not None for each in (op.rows, op.columns))
    if made.raster.is_table and not is_constant:
        engine.error(
            op,
            f"raster order {order} is a table, and the grid is a run-time value: use row_major, "
            "column_major or block_linear",
            SYMBOLIC_TABLE,
        )
        return
    Rewriter().replace_op(op, made)
