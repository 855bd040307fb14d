"""Let block ids walk over the grid in the order of the schedule.

    %by, %bx = tensix.raster row_major %t, 8, 8   ->   tensix.raster block_linear [4, 4] %t, 8, 8

Every order is a bijection of ids and blocks, so results do not change. Reader and writer use the
same map. The orders without a closed form (``z_order``, ``hilbert``) are looked up: where no core
has more than 256 blocks, in a list among its run-time arguments (``listed``), otherwise in a table
that is part of the kernels, for which the grid has to be constant. A table per shape serves the
rectangles of the policy ``rect``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AndiOp, CmpiOp, ConstantOp, MinuiOp, SelectOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SCHEDULE, functions, get
from tilewright.passes.tenstorrent.block_lists import LONGEST_LIST, block_loop

SYMBOLIC_TABLE = "TW7080"
BAD_BLOCK = "TW7081"
LARGE_TABLE = "TW7082"
LARGEST_TABLE = 12288
"""Blocks of all tables of a kernel, 2 bytes each: reader and writer have them, and all kernels of a
core share 69 KiB."""


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
                _Order(schedule, op, engine).apply()


@dataclass
class _Order:
    schedule: dict[str, Any]
    op: RasterOp
    engine: DiagnosticEngine

    def apply(self) -> None:
        order, rect, op = self.schedule["order"], self.schedule.get("rect"), self.op
        block = (rect[0], rect[1]) if order == "block_linear" and rect is not None else None
        made = RasterOp(order, op.tile, op.rows, op.columns, block)
        if not made.raster.is_table:
            Rewriter().replace_op(op, made)
        elif self._max_blocks() <= LONGEST_LIST:
            iteration = block_loop(op).induction_variable
            listed = RasterOp(order, op.tile, op.rows, op.columns, listed=iteration)
            Rewriter().replace_op(op, listed)
        else:
            self._tables(order)

    def _max_blocks(self) -> int:
        """The largest number of blocks of a core."""
        return max(count for _, _, count, *_ in self.schedule["assignments"])

    def _tables(self, order: str) -> None:
        shapes = self._shapes()
        blocks = sum(math.prod(shape) for shape in shapes)
        if not shapes:
            self.engine.error(
                self.op,
                f"raster order {order} is a table, and the grid is a run-time value: use "
                "row_major, column_major or block_linear",
                SYMBOLIC_TABLE,
            )
        elif blocks > LARGEST_TABLE:
            self.engine.error(
                self.op,
                f"raster order {order}: a table of {blocks} blocks does not fit into the memory of "
                f"the kernels, {LARGEST_TABLE} do, and {self._max_blocks()} blocks of one core "
                f"are more than the {LONGEST_LIST} that its arguments can list: use block_linear, "
                "or more cores",
                LARGE_TABLE,
            )
        else:
            self._look_up(order, shapes)

    def _shapes(self) -> list[tuple[int, int]]:
        """The grids that cores walk over; none if they are not known."""
        extents = [constant_integer(each) for each in (self.op.rows, self.op.columns)]
        if extents[0] is not None and extents[1] is not None:
            return [(extents[0], extents[1])]
        if self.schedule["policy"] != "rect":
            return []
        rectangles = [
            tuple(rest) for _, _, count, *rest in self.schedule["assignments"] if count > 0
        ]
        return list(dict.fromkeys((rows, columns) for _, _, rows, columns in rectangles))

    def _look_up(self, order: str, shapes: Sequence[tuple[int, int]]) -> None:
        """One table per shape, and the choice of the one of this core."""
        row, column = self._at(order, shapes[0], is_only=len(shapes) == 1)
        for shape in shapes[1:]:
            own = self._at(order, shape, is_only=False)
            test = self._is_shape(shape)
            row = self._add(SelectOp(test, own[0], row))
            column = self._add(SelectOp(test, own[1], column))
        Rewriter().replace_op(self.op, [], [row, column])

    def _at(
        self, order: str, shape: tuple[int, int], *, is_only: bool
    ) -> tuple[SSAValue, SSAValue]:
        tile: SSAValue = self.op.tile
        if not is_only:
            # The index of a larger rectangle would be outside of the table.
            tile = self._add(MinuiOp(tile, self._index(math.prod(shape) - 1)))
        made = RasterOp(order, tile, self._index(shape[0]), self._index(shape[1]))
        self._add(made)
        return made.row, made.column

    def _is_shape(self, shape: tuple[int, int]) -> SSAValue:
        rows = self._add(CmpiOp("eq", self.op.rows, self._index(shape[0])))
        columns = self._add(CmpiOp("eq", self.op.columns, self._index(shape[1])))
        return self._add(AndiOp(rows, columns))

    def _index(self, value: int) -> SSAValue:
        return self._add(ConstantOp.of(value, IndexType()))

    def _add(self, made: Operation) -> SSAValue:
        inherit_location(made, self.op.location)
        Rewriter().insert_before(self.op, made)
        return made.results[0]
