"""Clones of ops that preserve locations and names.

xDSL's ``clone`` drops locations and the names of values.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.ir.traversal import walk


def copy_op(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of `op` that uses what `values` maps its operands to; its results join `values`."""
    copy = op.clone(values)
    for old, new in zip(walk(op), walk(copy), strict=True):
        new.location = old.location
        for before, after in zip(old.results, new.results, strict=True):
            after.name_hint = before.name_hint
        for region, other in zip(old.regions, new.regions, strict=True):
            for block, twin in zip(region.blocks, other.blocks, strict=True):
                for before, after in zip(block.args, twin.args, strict=True):
                    after.location = before.location
                    after.name_hint = before.name_hint
    return copy
