"""The body of a ``tile.parallel`` as the function of one element.

    for i, j in T.Parallel(64, 32):                 ins(%x tile, %s col) outs(%y)
        y[i, j] = T.exp(x[i, j] - s[i])      ->     ^bb0(%i, %j, %a, %b): exp(%a - %b)

Loads become inputs, stores become outputs; arithmetic is taken over as it is. Every index of a load
or store is the loop index of its dimension, or 0 in a dimension of one element: an element of an
output depends on the elements of the inputs at the same position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tensix.formats import TILE_HEIGHT, TILE_WIDTH
from tilewright.dialects.tile import AssumeOp, ParallelOp, YieldOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tenstorrent.block_shapes import COLUMNS, ROWS, Axes, name_of
from tilewright.passes.tenstorrent.reports import NO_INTRINSIC, PARTIAL_BLOCK, NotSupported
from tilewright.passes.tile.clone_ops import copy_op


def tiles_of(extents: tuple[int, int]) -> tuple[int, int]:
    """Tiles that hold so many rows and columns."""
    return -(-extents[0] // TILE_HEIGHT), -(-extents[1] // TILE_WIDTH)


@dataclass
class _Body:
    """An element-wise op under construction."""

    loop: ParallelOp
    axes: Axes
    rows: SSAValue | None = None
    """The loop index along tile rows."""
    columns: SSAValue | None = None
    inputs: list[SSAValue] = field(default_factory=list[SSAValue])
    kinds: list[str] = field(default_factory=list[str])
    outputs: list[SSAValue] = field(default_factory=list[SSAValue])
    results: list[SSAValue] = field(default_factory=list[SSAValue])
    loads: dict[tuple[SSAValue, str], int] = field(default_factory=dict[tuple[SSAValue, str], int])
    load_ops: list[tuple[LoadOp, int]] = field(default_factory=list[tuple[LoadOp, int]])

    def extent(self, index: SSAValue | None) -> int:
        if index is None:
            return 1
        position = next(n for n, each in enumerate(self.loop.arguments) if each is index)
        extent = self.loop.extents[position]
        if not isinstance(extent, int):
            raise NotSupported(
                self.loop,
                "the extent of T.Parallel is a run-time value: use the extent of the buffers",
                PARTIAL_BLOCK,
            )
        return extent

    @property
    def extents(self) -> tuple[int, int]:
        return self.extent(self.rows), self.extent(self.columns)


def elementwise_op(loop: ParallelOp, axes: Axes) -> ElementwiseOp:
    """The element-wise op that does what the loop does; `NotSupported` if there is none."""
    body = _Body(loop, axes)
    _place_indices(body)
    for op in loop.body_block.ops:
        _look_at(op, body)
    if not body.outputs:
        raise NotSupported(loop, "T.Parallel stores nothing: remove the loop")
    made = ElementwiseOp(tiles_of(body.extents), body.inputs, body.kinds, body.outputs)
    _fill(made, body)
    return made


def _place_indices(body: _Body) -> None:
    large = [
        each
        for each, extent in zip(body.loop.arguments, body.loop.extents, strict=True)
        if extent != 1
    ]
    if len(large) > 2:
        raise NotSupported(
            body.loop,
            f"T.Parallel runs over {len(large)} dimensions, and a block of tiles has 2: use a "
            "serial loop for the others",
        )
    for index in body.loop.arguments:
        axis = body.axes.axis(index)
        if axis == ROWS and (body.rows is None or index in large):
            body.rows = index
        elif axis == COLUMNS and (body.columns is None or index in large):
            body.columns = index


def _look_at(op: Operation, body: _Body) -> None:
    if isinstance(op, LoadOp):
        _add_input(op, body)
    elif isinstance(op, StoreOp):
        _add_output(op, body)
    elif op.regions or not (is_removable(op) or isinstance(op, (YieldOp, AssumeOp))):
        raise NotSupported(
            op,
            f"'{op.name}' inside T.Parallel has no tile intrinsic: use element-wise expressions, "
            "T.if_then_else for conditions, T.gemm for GEMMs",
        )


def _add_input(op: LoadOp, body: _Body) -> None:
    kind = _kind(op, op.memref, op.indices, body)
    if op.memref in body.outputs:
        # The element that the loop has just computed; the store before it is in this iteration.
        body.load_ops.append((op, -1 - body.outputs.index(op.memref)))
        return
    key = (op.memref, kind)
    if key not in body.loads:
        body.loads[key] = len(body.inputs)
        body.inputs.append(op.memref)
        body.kinds.append(kind)
    body.load_ops.append((op, body.loads[key]))


def _add_output(op: StoreOp, body: _Body) -> None:
    kind = _kind(op, op.memref, op.indices, body)
    shape = body.axes.extents(op.memref)
    if kind == "scalar" and shape == (1, 1) and body.extents == (1, 1):
        kind = "tile"
    if kind != "tile":
        raise NotSupported(
            op,
            f"several iterations of T.Parallel write the same element of '{name_of(op.memref)}': "
            "use T.reduce_sum or T.reduce_max",
        )
    if shape != body.extents:
        raise NotSupported(
            op,
            f"T.Parallel writes {body.extents[0]}x{body.extents[1]} elements of "
            f"'{name_of(op.memref)}', which has {shape[0]}x{shape[1]}: use the whole buffer",
            PARTIAL_BLOCK,
        )
    if op.memref in body.outputs:
        body.results[body.outputs.index(op.memref)] = op.value
        return
    body.outputs.append(op.memref)
    body.results.append(op.value)


def _kind(op: Operation, buffer: SSAValue, indices: Sequence[SSAValue], body: _Body) -> str:
    """How the accessed element follows the position in the block."""
    used = {ROWS: False, COLUMNS: False}
    axes = body.axes.of_buffer(buffer)
    shape = shape_of(buffer.type)
    for dim, index in enumerate(indices):
        own = body.rows if axes.get(dim) == ROWS else body.columns
        if index is own and dim in axes:
            used[axes[dim]] = True
        elif not (shape[dim] == 1 and (_is_zero(index) or index in body.loop.arguments)):
            raise NotSupported(
                op,
                f"index {dim} of '{name_of(buffer)}' is not the loop index of that dimension: an "
                "element-wise op accesses every buffer at the position of the element",
                NO_INTRINSIC,
            )
    rows = used[ROWS] or body.extent(body.rows) == 1
    columns = used[COLUMNS] or body.extent(body.columns) == 1
    if rows and columns:
        return "tile"
    return "col" if rows else "row" if columns else "scalar"


def _is_zero(index: SSAValue) -> bool:
    constant = constant_value(index)
    return isinstance(constant, IntegerAttr) and constant.value.data == 0


def _fill(made: ElementwiseOp, body: _Body) -> None:
    """Copy the arithmetic of the loop into the op."""
    block = made.body.block
    values: dict[SSAValue, SSAValue] = {}
    for index, argument in ((body.rows, made.indices[0]), (body.columns, made.indices[1])):
        if index is not None:
            values[index] = argument
    for index in body.loop.arguments:
        values.setdefault(index, made.indices[0])
    inputs = dict(body.load_ops)
    for op in body.loop.body_block.ops:
        if isinstance(op, LoadOp):
            position = inputs[op]
            if position >= 0:
                values[op.result] = made.elements[position]
            else:
                stored = _stored_before(op, body.outputs[-1 - position])
                values[op.result] = values.get(stored, stored)
        elif not isinstance(op, (StoreOp, YieldOp, AssumeOp)):
            block.add_op(copy_op(op, values))
    block.add_op(TileYieldOp([values.get(each, each) for each in body.results]))


def _stored_before(op: LoadOp, buffer: SSAValue) -> SSAValue:
    """The value that the last store before `op` gave the element."""
    found: SSAValue | None = None
    block: Block | None = op.parent
    assert block is not None
    for each in block.ops:
        if each is op:
            break
        if isinstance(each, StoreOp) and each.memref is buffer:
            found = each.value
    assert found is not None
    return found
