"""Insert transpositions where a buffer is accessed across the tiles of a loop.

    for i, j in T.Parallel(64, 32):                  T.transpose(a, a_t)
        t[i, j] = a[j, i] + s[i] + s[j]       ->     s_t = s as a row
                                                     for i, j in T.Parallel(64, 32):
                                                         t[i, j] = a_t[i, j] + s[i] + s_t[0, j]

An element-wise op reads all tiles at the same position, with rows down the rows of its outputs. A
buffer whose rows run along the columns of the loop is transposed before the loop, one that is
written so after it. A vector is a column or a row: where a use needs the other one, a transposed
copy of it is made. What is left of the conflicts of `block_shapes` is an error there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    ParallelOp,
    ReduceOp,
    TransposeOp,
    buffer_type,
)
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import enclosing, walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.block_shapes import COLUMNS, ROWS, Axes, Conflict, axes_of


@dataclass(frozen=True)
class InsertTransposes(Pass):
    """Transpose buffers that a loop, a copy or a reduction uses along the other axis."""

    name = "insert-transposes"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            # Each resolution adds ops, so one that does not succeed would never end.
            for _ in range(sum(1 for _ in walk(function))):
                if not _resolve_one(function):
                    break


def _resolve_one(function: FuncOp) -> bool:
    """Resolve the first conflict that a transposition resolves."""
    axes = axes_of(function)
    return any(_Resolution(axes, each).run() for each in axes.conflicts)


class _Resolution:
    """One conflict: an op that uses a buffer along the other axis."""

    def __init__(self, axes: Axes, conflict: Conflict) -> None:
        self.axes, self.op = axes, conflict.op
        self.rewriter = Rewriter()

    def run(self) -> bool:
        op = self.op
        if isinstance(op, (LoadOp, StoreOp)):
            loop = enclosing(op, ParallelOp)
            is_local = space_of(op.memref.type) is not Space.GLOBAL
            return loop is not None and is_local and self._in_loop(op, loop)
        if isinstance(op, CopyOp):
            return self._in_copy(op)
        return isinstance(op, ReduceOp) and self._in_reduction(op)

    # -- loops -----------------------------------------------------------------------------------

    def _in_loop(self, op: LoadOp | StoreOp, loop: ParallelOp) -> bool:
        buffer = op.memref
        same = [each for each in walk(loop) if _accesses(each, buffer, op.indices)]
        is_stored = any(isinstance(each, StoreOp) for each in same)
        is_loaded = any(isinstance(each, LoadOp) for each in same)
        if is_stored and len(same) != sum(_accesses(each, buffer) for each in walk(loop)):
            return False  # the other accesses would not see what is stored
        rank = len(shape_of(buffer.type))
        if rank == 2 and _is_crossed(self.axes, loop, op.indices):
            other, indices = self._like(buffer, shape_of(buffer.type)[::-1]), op.indices[::-1]
        elif rank == 1:
            other = self._like(buffer, self._shapes(buffer)[1])
            zero = ConstantOp.of(0, IndexType())
            self.rewriter.insert_before(loop, zero)
            is_row = shape_of(other.type)[0] == 1
            indices = [zero.results[0], *op.indices] if is_row else [*op.indices, zero.results[0]]
        else:
            return False
        if is_loaded:
            self.rewriter.insert_before(loop, self._transposed(buffer, other), op)
        if is_stored:
            for each in reversed(self._transposed(other, buffer)):
                self.rewriter.insert_after(loop, each, op)
        for each in same:
            if isinstance(each, LoadOp):
                self.rewriter.replace_op(each, LoadOp(other, indices))
            elif isinstance(each, StoreOp):
                self.rewriter.replace_op(each, StoreOp(each.value, other, indices), ())
        return True

    # -- copies and reductions of vectors ------------------------------------------------------

    def _in_copy(self, op: CopyOp) -> bool:
        """Copy to or from a vector of the other axis, and convert that."""
        for position, value in enumerate((op.src, op.dst)):
            if isinstance(value.owner, AllocOp) and len(shape_of(value.type)) == 1:
                beside = self._like(value, shape_of(value.type))
                if position == 0:
                    self._convert(value, beside, before=op)
                else:
                    self._convert(beside, value, after=op)
                op.operands[position] = beside
                return True
        return False

    def _in_reduction(self, op: ReduceOp) -> bool:
        """Reduce to a vector of the other axis, and convert that."""
        if not isinstance(op.dst.owner, AllocOp) or len(shape_of(op.dst.type)) != 1:
            return False
        target = op.dst
        beside = self._like(target, shape_of(target.type))
        if not op.clear:
            self._convert(target, beside, before=op)
        self._convert(beside, target, after=op)
        position = next(n for n, operand in enumerate(op.operands) if operand is target)
        op.operands[position] = beside
        return True

    def _convert(
        self,
        source: SSAValue,
        target: SSAValue,
        *,
        before: Operation | None = None,
        after: Operation | None = None,
    ) -> None:
        """Copy a vector to one of the other axis; the axis of the user's one is known."""
        known = target if before is None else source
        is_column = self.axes.axis((known, 0)) == ROWS
        if before is None:
            is_column = not is_column
        matrices = [self._like(source, each) for each in self._shapes(source, is_column)]
        made: list[Operation] = [
            CopyOp(source, matrices[0]),
            TransposeOp(matrices[0], matrices[1]),
            CopyOp(matrices[1], target),
        ]
        if before is not None:
            self.rewriter.insert_before(before, made, self.op)
            return
        assert after is not None
        for each in reversed(made):
            self.rewriter.insert_after(after, each, self.op)

    def _transposed(self, source: SSAValue, target: SSAValue) -> list[Operation]:
        """Transpose a matrix; a vector through a matrix of one column or row."""
        if len(shape_of(source.type)) == 1:
            matrix = self._like(source, self._shapes(source)[0])
            return [CopyOp(source, matrix), TransposeOp(matrix, target)]
        if len(shape_of(target.type)) == 1:
            matrix = self._like(target, self._shapes(target)[0])
            return [TransposeOp(source, matrix), CopyOp(matrix, target)]
        return [TransposeOp(source, target)]

    def _shapes(self, vector: SSAValue, is_column: bool | None = None) -> list[tuple[int, int]]:
        """The shape of a vector as a matrix, and of its transpose."""
        (extent,) = shape_of(vector.type)
        if is_column is None:
            is_column = self.axes.axis((vector, 0)) == ROWS
        shapes = [(extent, 1), (1, extent)]
        return shapes if is_column else shapes[::-1]

    def _like(self, buffer: SSAValue, shape: Sequence[int]) -> SSAValue:
        """A buffer with the elements of another one."""
        owner = buffer.owner
        assert isinstance(owner, AllocOp)
        type = buffer_type(element_type_of(buffer.type), tuple(shape), Space.FRAGMENT)
        made = AllocOp(type, name=f"{owner.buffer_name}_t")
        self.rewriter.insert_after(owner, made, self.op)
        return made.result


def _is_crossed(axes: Axes, loop: ParallelOp, indices: Sequence[SSAValue]) -> bool:
    """Whether the rows of a matrix are indexed by the columns of a loop and vice versa."""
    found = [axes.find(each) for each in indices if each in loop.arguments]
    return found == [COLUMNS, ROWS]


def _accesses(op: Operation, buffer: SSAValue, indices: Sequence[SSAValue] | None = None) -> bool:
    if not isinstance(op, (LoadOp, StoreOp)) or op.memref is not buffer:
        return False
    return indices is None or list(op.indices) == list(indices)
