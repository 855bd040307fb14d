"""One loop per core over its blocks instead of one launch per block.

    tile.kernel (%bx, %by) in (8, 8) { body }
      -> tensix.core_program (%start_id, %count) {
           scf.for %i = 0 to %count {
             %t = %start_id + %i
             %by, %bx = tensix.raster row_major %t, 8, 8
             body } }

x is the fast axis: ``bx = t mod gx``. The schedule decides what an iteration is: the next id
(contiguous), the id `cores` further on (strided), or the next block of the core's rectangle. The
raster is over the grid, or over the rectangle of the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import AddiOp, ConstantOp, DivuiOp, MuliOp, RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.blocks import ConstantTileOp
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tile import AllocOp, KernelOp, SyncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter, inherit_location
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import SCHEDULE, functions, get
from tilewright.passes.tenstorrent.buffer_uses import buffers_written

_Binary = AddiOp | DivuiOp | MuliOp | RemuiOp
GRID_SYNC = "TW7030"
RECTANGLE = ("row0", "col0", "rows", "cols")


@dataclass(frozen=True)
class MakePersistent(Pass):
    """Turn the launch grid into a loop over the blocks of a core."""

    name = "make-persistent"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            for kernel in [op for op in walk(function) if isinstance(op, KernelOp)]:
                if kernel.cooperative is not None:
                    sync = next((op for op in walk(kernel) if isinstance(op, SyncOp)), kernel)
                    engine.error(
                        sync,
                        "blocks cannot synchronise across the grid: a core processes its blocks "
                        "sequentially; split the kernel at this point",
                        GRID_SYNC,
                    )
                    continue
                _Conversion(function, kernel).run()


class _Conversion:
    def __init__(self, function: FuncOp, kernel: KernelOp) -> None:
        self.schedule: dict[str, Any] = get(function, SCHEDULE)
        self.kernel = kernel
        self.rewriter = Rewriter()

    def run(self) -> None:
        is_rect = self.schedule["policy"] == "rect"
        names = ("start_id", "count", *(RECTANGLE if is_rect else ()))
        program = CoreProgramOp(names)
        for argument, name in zip(program.body_block.args, names, strict=True):
            argument.name_hint = name
        self.rewriter.insert_before(self.kernel, program)
        end = program.body_block.last_op
        assert end is not None
        self.end: Operation = end
        for alloc in [op for op in walk(self.kernel) if isinstance(op, AllocOp)]:
            alloc.detach()
            program.body_block.insert_op_before(alloc, end)
        loop = ForOp(self._constant(0), program.body_block.args[1], self._constant(1))
        loop.body.block.args[0].name_hint = "i"
        self._add(loop)
        last = loop.body.block.last_op
        assert last is not None
        self.end = last
        indices = self._coordinates(program.body_block.args, loop.body.block.args[0])
        self._move_body(indices, loop)
        self.rewriter.erase(self.kernel)

    def _add(self, op: Operation) -> None:
        inherit_location(op, self.kernel.location)
        block = self.end.parent
        assert block is not None
        block.insert_op_before(op, self.end)

    def _constant(self, value: int) -> SSAValue:
        op = ConstantOp.of(value, IndexType())
        self._add(op)
        return op.results[0]

    def _binary(self, kind: type[_Binary], left: SSAValue, right: SSAValue) -> SSAValue:
        op = kind(left, right)
        self._add(op)
        return op.results[0]

    def _coordinates(self, arguments: Any, iteration: SSAValue) -> list[SSAValue]:
        """The block indices x, y, z of an iteration."""
        x, y, z = self.schedule["grid"]
        policy = self.schedule["policy"]
        if policy == "rect":
            return self._in_rectangle(arguments, iteration, z)
        step = iteration
        if policy == "strided":
            width, height = self.schedule["cores"]
            step = self._binary(MuliOp, iteration, self._constant(width * height))
        tile = self._binary(AddiOp, arguments[0], step)
        tile.name_hint = "block"
        batch = self._constant(0)
        if z > 1:
            plane = self._constant(x * y)
            batch = self._binary(DivuiOp, tile, plane)
            tile = self._binary(RemuiOp, tile, plane)
        raster = RasterOp("row_major", tile, self._constant(y), self._constant(x))
        self._add(raster)
        return [raster.column, raster.row, batch]

    def _in_rectangle(self, arguments: Any, iteration: SSAValue, batches: int) -> list[SSAValue]:
        _, _, row0, col0, rows, cols = arguments
        batch = self._constant(0)
        if batches > 1:
            plane = self._binary(MuliOp, rows, cols)
            batch = self._binary(DivuiOp, iteration, plane)
            iteration = self._binary(RemuiOp, iteration, plane)
        raster = RasterOp("row_major", iteration, rows, cols)
        self._add(raster)
        row = self._binary(AddiOp, row0, raster.row)
        column = self._binary(AddiOp, col0, raster.column)
        return [column, row, batch]

    def _move_body(self, indices: list[SSAValue], loop: ForOp) -> None:
        block = self.kernel.body_block
        for argument, index in zip(block.args, indices, strict=False):
            if argument.name_hint is not None:
                index.name_hint = argument.name_hint
            self.rewriter.replace_all_uses(argument, index)
        for op in list(block.ops):
            if op is block.last_op:
                continue
            op.detach()
            if isinstance(op, ConstantTileOp) and self._is_constant(op):
                self._move_before(op, loop)
            else:
                loop.body.block.insert_op_before(op, self.end)

    def _is_constant(self, op: ConstantTileOp) -> bool:
        """Whether a tile is the same in all blocks, and never overwritten."""
        others = [use.operation for use in op.dst.uses if use.operation is not op]
        is_known = op.limit is None or constant_value(op.limit) is not None
        return is_known and not any(op.dst in buffers_written(each) for each in others)

    def _move_before(self, op: ConstantTileOp, loop: ForOp) -> None:
        """Write a tile once, before the first block."""
        limit = None if op.limit is None else constant_value(op.limit)
        if isinstance(limit, IntegerAttr):
            made = ConstantOp.of(limit.value.data, IndexType())
            self.rewriter.insert_before(loop, made, op)
            op.operands[1] = made.results[0]
        self.rewriter.insert_before(loop, op)
