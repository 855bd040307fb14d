"""Clones of ops, with the locations and names of the originals."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue


def copy_op(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of `op` that uses what `values` maps its operands to; its results join `values`.

    Values are defined before their uses, except across blocks of one region: there `clone` gives
    the ops their operands in a second walk.
    """
    if any(region.first_block is not region.last_block for region in op.regions):
        return op.clone(values)
    copy = op.clone_without_regions(values)
    for region, twin in zip(op.regions, copy.regions, strict=True):
        block = region.first_block
        if block is not None:
            twin.add_block(_copied(block, values))
    return copy


def _copied(block: Block, values: dict[SSAValue, SSAValue]) -> Block:
    copy = Block(arg_types=[each.type for each in block.args])
    for old, new in zip(block.args, copy.args, strict=True):
        new.location, new.name_hint = old.location, old.name_hint
        values[old] = new
    for op in block.ops:
        copy.add_op(copy_op(op, values))
    return copy
