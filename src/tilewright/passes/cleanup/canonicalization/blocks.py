"""Control flow between blocks: branches that are decided, unreachable blocks.

cf.cond_br on a constant                 cf.br
cf.cond_br to one block with one state   cf.br
block that the entry does not reach      erased
block that only one cf.br leads to       appended to the block that branches
"""

from __future__ import annotations

from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint

from tilewright.dialects.cf import BranchOp, CondBranchOp
from tilewright.ir.dominance import DominatorTree
from tilewright.ir.rewrite import AnyPattern, RewritePattern, Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool


class DecidedBranch(RewritePattern[CondBranchOp]):
    """A conditional branch that always goes the same way."""

    roots = (CondBranchOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: CondBranchOp, rewriter: Rewriter) -> None:
        condition = self._pool.integer(op.condition)
        on_true = op.true_target, tuple(op.true_arguments)
        on_false = op.false_target, tuple(op.false_arguments)
        if condition is None and on_true != on_false:
            return
        target, arguments = on_false if condition == 0 else on_true
        rewriter.replace_op(op, BranchOp(target, arguments))


def simplify_blocks(root: Operation, rewriter: Rewriter) -> bool:
    """Erase unreachable blocks and join straight lines; whether anything was done."""
    changed = False
    for op in list(walk(root)):
        for region in op.regions:
            if region.first_block is not region.last_block:
                changed |= _erase_unreachable(region)
                changed |= _join_lines(region, rewriter)
    return changed


def _erase_unreachable(region: Region) -> bool:
    tree = DominatorTree(region)
    dead = [block for block in region.blocks if not tree.is_reachable(block)]
    for block in dead:
        region.detach_block(block)
        block.drop_all_references()
    for block in dead:  # dead blocks may use each other's values, none of which is left now
        block.erase()
    return bool(dead)


def _join_lines(region: Region, rewriter: Rewriter) -> bool:
    changed = False
    for block in list(region.blocks):
        while (branch := _only_way_on(block, region)) is not None:
            target, arguments = branch.target, tuple(branch.arguments)
            rewriter.erase(branch)
            rewriter.inline_block(target, InsertPoint.at_end(block), arguments)
            changed = True
    return changed


def _only_way_on(block: Block, region: Region) -> BranchOp | None:
    """The branch at the end of ``block`` if its target can be reached in no other way."""
    branch = block.last_op if block.parent is region else None
    if not isinstance(branch, BranchOp):
        return None
    target = branch.target
    is_line = target is not block and target is not region.first_block
    return branch if is_line and len(target.predecessors()) == 1 else None


def block_patterns(pool: ConstantPool) -> list[AnyPattern]:
    """The rewrites of this file that start from one op."""
    return [DecidedBranch(pool)]
