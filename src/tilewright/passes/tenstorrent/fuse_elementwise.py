"""Compute chains of element-wise ops tile by tile, without a buffer in between.

    elementwise ins(acc) outs(t) { relu }           elementwise ins(acc) outs(y) { relu }
    elementwise ins(t) outs(y) { identity }   ->

An op is merged into the only reader of its output if that one follows in the same block, works on
the same tiles, reads the output tile by tile, and nothing in between writes an input of the op.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import AnyFloat, ModuleOp, f32
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tilewright.dialects.arith import ExtfOp, TruncfOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tile import AllocOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import functions
from tilewright.passes.tenstorrent.buffer_uses import is_block_op, write_positions
from tilewright.passes.tenstorrent.split_expressions import split_expressions
from tilewright.passes.tile.clone_ops import copy_op

MAX_INPUTS = 6
"""Inputs of a merged op: each of them takes a slot of DST while it is used."""


@dataclass(frozen=True)
class FuseElementwise(Pass):
    """Merge element-wise ops into the readers of their results."""

    name = "fuse-elementwise"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in functions(module):
            while any(_fuse(op) for op in _candidates(function)):
                pass
            split_expressions(function)


def _candidates(function: FuncOp) -> list[ElementwiseOp]:
    return [op for op in walk(function) if isinstance(op, ElementwiseOp)]


def _fuse(op: ElementwiseOp) -> bool:
    """Merge `op` into its reader, if that is possible."""
    if op.parent is None or len(op.outputs) != 1:
        return False
    buffer = op.outputs[0]
    users = {use.operation for use in buffer.uses} - {op}
    if len(users) != 1 or buffer in op.inputs:
        return False
    (reader,) = users
    if not isinstance(reader, ElementwiseOp) or reader.parent is not op.parent:
        return False
    if reader.block_tiles != op.block_tiles or buffer in reader.outputs:
        return False
    kinds = {kind for each, kind in zip(reader.inputs, reader.kinds, strict=True) if each is buffer}
    if kinds != {"tile"} or _is_overwritten(op, reader):
        return False
    if len({*op.inputs, *reader.inputs}) - 1 > MAX_INPUTS:
        return False
    _merge(op, reader, buffer)
    return True


def _is_overwritten(op: ElementwiseOp, reader: Operation) -> bool:
    """Whether something between the two writes an input of `op`, or the reader comes first."""
    step = op.next_op
    while step is not None and step is not reader:
        for inner in walk(step):
            if is_block_op(inner) and any(
                inner.operands[n] in op.inputs for n in write_positions(inner)
            ):
                return True
        step = step.next_op
    return step is None


def _merge(op: ElementwiseOp, reader: ElementwiseOp, buffer: SSAValue) -> None:
    inputs: list[SSAValue] = []
    kinds: list[str] = []
    for each in (op, reader):
        for value, kind in zip(each.inputs, each.kinds, strict=True):
            known = any(
                value is old and kind == other for old, other in zip(inputs, kinds, strict=True)
            )
            if value is not buffer and not known:
                inputs.append(value)
                kinds.append(kind)
    made = ElementwiseOp(op.block_tiles, inputs, kinds, list(reader.outputs))
    computed = _copy_body(op, made, {})
    results = _copy_body(reader, made, {buffer: computed[0]})
    made.body.block.add_op(TileYieldOp(results))
    rewriter = Rewriter()
    rewriter.replace_op(reader, made, ())
    rewriter.erase(op)
    alloc = buffer.owner
    if isinstance(alloc, AllocOp) and not buffer.uses:
        rewriter.erase(alloc)


def _converted(value: SSAValue, type: Attribute, block: Block) -> SSAValue:
    """A float as an element of another type, as the buffer in between had it."""
    if value.type == type or not isinstance(type, AnyFloat) or not isinstance(value.type, AnyFloat):
        return value
    if value.type != f32:
        wide = ExtfOp(value, f32)
        block.add_op(wide)
        value = wide.results[0]
    if type != f32:
        narrow = TruncfOp(value, type)
        block.add_op(narrow)
        value = narrow.results[0]
    return value


def _copy_body(
    op: ElementwiseOp, made: ElementwiseOp, computed: dict[SSAValue, SSAValue]
) -> list[SSAValue]:
    """Append the arithmetic of `op` to the body of `made`; what it yields."""
    values: dict[SSAValue, SSAValue] = dict(zip(op.indices, made.indices, strict=True))
    for value, kind, element in zip(op.inputs, op.kinds, op.elements, strict=True):
        if value in computed:
            values[element] = _converted(computed[value], element.type, made.body.block)
            continue
        position = next(
            n
            for n, (old, other) in enumerate(zip(made.inputs, made.kinds, strict=True))
            if old is value and other == kind
        )
        values[element] = made.elements[position]
    for each in op.body.block.ops:
        if not isinstance(each, TileYieldOp):
            made.body.block.add_op(copy_op(each, values))
    return [values.get(each, each) for each in op.results_of_body]
