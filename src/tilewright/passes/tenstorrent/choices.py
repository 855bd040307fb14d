"""Conditions inside element-wise loops as selections.

    v = scf.if c { a } else { b }   ->   v = select c, a, b
    if c: y[i, j] = v               ->   y[i, j] = select c, v, y[i, j]

Both branches are computed: the SFPU has no control flow per element.
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import SelectOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import ParallelOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk


def select_instead_of_branches(loop: ParallelOp) -> None:
    """Replace every branch in a loop by selections, the innermost ones first."""
    for op in reversed([op for op in walk(loop) if isinstance(op, IfOp)]):
        _flatten(op, Rewriter())


def _flatten(op: IfOp, rewriter: Rewriter) -> None:
    condition = op.operands[0]
    results: list[list[SSAValue]] = []
    for region, is_taken in zip(op.regions, (True, False), strict=True):
        if region.blocks:
            results.append(_move_before(region.block, op, condition, is_taken, rewriter))
    selected: list[Operation] = [
        SelectOp(condition, yes, no) for yes, no in zip(*results, strict=True) if op.results
    ]
    rewriter.replace_op(op, selected, [each.results[0] for each in selected])


def _move_before(
    block: Block, op: IfOp, condition: SSAValue, is_taken: bool, rewriter: Rewriter
) -> list[SSAValue]:
    """Move a branch before the op; what it yields."""
    yielded: list[SSAValue] = []
    for inner in list(block.ops):
        if isinstance(inner, ScfYieldOp):
            yielded = list(inner.operands)
            continue
        inner.detach()
        if isinstance(inner, StoreOp):
            old = LoadOp(inner.memref, inner.indices)
            pair = (inner.value, old.result) if is_taken else (old.result, inner.value)
            chosen = SelectOp(condition, *pair)
            inner.operands[0] = chosen.results[0]
            rewriter.insert_before(op, [old, chosen, inner])
        else:
            rewriter.insert_before(op, inner)
    return yielded
