"""State what follows from the signature and the launch, for the analyses of later passes.

    func.func @k(%A: memref<?x64xf16, #global>) {     %m = memref.dim %A, 0
      tile.kernel (%bx) in (%g) ...            ->     tile.assume %m > 0
                                                      tile.kernel (%bx) in (%g) {
                                                        tile.assume %bx < %g   (unsigned)

A buffer has at least one element in every dimension, and a block index is within the grid: as an
unsigned comparison, this implies that it is not negative either. ``tile.assume`` has no effect
at run time; code generation drops it. Running the pass twice adds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.arith import CmpiOp, ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import DimOp
from tilewright.dialects.tile import AssumeOp, KernelOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.names import INJECTED
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class InjectAssumes(Pass):
    """Assume that extents are positive and that block indices are within the grid."""

    name = "inject-assumes"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for op in list(walk(module)):
            if isinstance(op, AssumeOp) and INJECTED in op.attributes:
                Rewriter().erase(op)
        for op in list(walk(module)):
            if isinstance(op, FuncOp) and op.body.blocks:
                _begin(op.body.blocks[0], _about_arguments(op), op)
            if isinstance(op, KernelOp):
                _begin(op.body_block, _about_launch(op), op)


def _begin(block: Block, ops: Sequence[Operation], origin: Operation) -> None:
    first = block.first_op
    point = InsertPoint.at_end(block) if first is None else InsertPoint.before(first)
    Rewriter().insert(ops, point, origin)


def _about_arguments(function: FuncOp) -> list[Operation]:
    """Every dynamic extent is positive."""
    result: list[Operation] = []
    for argument in function.body.blocks[0].args:
        if not isinstance(argument.type, MemRefType):
            continue
        for dimension, extent in enumerate(argument.type.get_shape()):
            if extent != DYNAMIC_INDEX:
                continue
            where = _index(dimension)
            size = DimOp(argument, where)
            name = argument.name_hint or f"#{argument.index}"
            message = f"dimension {dimension} of buffer {name} is greater than 0"
            result += [where, size, *_assume("sgt", size.results[0], 0, message)]
    return result


def _about_launch(kernel: KernelOp) -> list[Operation]:
    result: list[Operation] = []
    for axis, (block, extent) in enumerate(zip(kernel.arguments, kernel.grid, strict=True)):
        message = f"block index along axis {'xyz'[axis]} is within the grid"
        result += _assume("ult", block, extent, message)
    return result


def _assume(predicate: str, value: SSAValue, bound: Mixed, message: str) -> list[Operation]:
    constant = [_index(bound)] if isinstance(bound, int) else []
    right = constant[0].results[0] if isinstance(bound, int) else bound
    compared = CmpiOp(predicate, value, right)
    assumed = AssumeOp(compared, message)
    assumed.attributes[INJECTED] = UnitAttr()
    return [*constant, compared, assumed]


def _index(value: int) -> ConstantOp:
    return ConstantOp.of(value, IndexType())
