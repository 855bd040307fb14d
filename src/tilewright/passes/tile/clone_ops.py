"""Clones of ops, with the locations and names of the originals."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue


def copy_op(op: Operation, values: dict[SSAValue, SSAValue]) -> Operation:
    """A copy of `op` that uses what `values` maps its operands to; its results join `values`."""
    # For the sake of cycles `clone` gives all ops their operands in a second walk.
    return op.clone(values) if op.regions else op.clone_without_regions(values)
