"""``scf.if`` whose outcome is known, does not matter, or is a plain choice.

    constant condition                      the branch that is taken
    an unused result                        dropped
    both branches yield the same value      that value
    branches yield values made outside      ``arith.select``
    the condition used inside a branch      true in one, false in the other
    an ``else`` that does nothing           dropped

An ``scf.if`` with neither results nor effects is dead and goes with the dead ops.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerAttr, IntegerType, i1
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tilewright.dialects.arith import SelectOp
from tilewright.dialects.elementwise import is_container
from tilewright.dialects.scf import IfOp
from tilewright.dialects.type_utils import PointerLike, element_type_of
from tilewright.ir.rewrite import AnyPattern, RewritePattern, Rewriter, pattern
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool
from tilewright.passes.cleanup.canonicalization.loops import move_into


class DecidedIf(RewritePattern[IfOp]):
    """The branch that a constant condition takes."""

    roots = (IfOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: IfOp, rewriter: Rewriter) -> None:
        condition = self._pool.integer(op.condition)
        if condition is None:
            return
        taken = (op.then_region if condition else op.else_region).first_block
        if taken is not None:
            rewriter.replace_with_block(op, taken)
        else:
            rewriter.erase(op)


class KnownInside(RewritePattern[IfOp]):
    """Inside a branch the condition is known."""

    roots = (IfOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: IfOp, rewriter: Rewriter) -> None:
        for use in list(op.condition.uses):
            user = use.operation
            truth = self._truth_at(user, op)
            if truth is None:
                continue
            constant = self._pool.get(IntegerAttr(truth, i1), i1, op, rewriter)
            if constant is not None:
                user.operands[use.index] = constant
                rewriter.modified(user)

    def _truth_at(self, user: Operation, op: IfOp) -> int | None:
        if user is op:
            return None
        if op.then_region.is_ancestor(user):
            return -1
        return 0 if op.else_region.is_ancestor(user) else None


@pattern(IfOp)
def drop_results(op: IfOp, rewriter: Rewriter) -> None:
    """Drop results that are unused, or one value whichever branch is taken."""
    if not op.results:
        return
    ends = op.then_yield, op.else_yield
    retained: list[int] = []
    for index, result in enumerate(op.results):
        if_true, if_false = (end.operands[index] for end in ends)
        if if_true is if_false:
            rewriter.replace_all_uses(result, if_true)
        if result.first_use is not None:
            retained.append(index)
    if len(retained) == len(op.results):
        return
    for end in ends:
        end.operands = [end.operands[index] for index in retained]
        rewriter.modified(end)
    new = IfOp.create(
        operands=op.operands,
        result_types=[op.results[index].type for index in retained],
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        regions=[Region(), Region()],
    )
    move_into(op, new, retained, rewriter)


@pattern(IfOp)
def select_instead(op: IfOp, rewriter: Rewriter) -> None:
    """A result that only chooses between values made outside is a select."""
    if not op.results:
        return
    choices = zip(op.results, op.then_yield.operands, op.else_yield.operands, strict=True)
    for result, if_true, if_false in choices:
        if result.first_use is None or not _is_selectable(result.type):
            continue
        if _is_outside(if_true, op) and _is_outside(if_false, op):
            select = SelectOp(op.condition, if_true, if_false)
            rewriter.insert_before(op, select)
            rewriter.replace_all_uses(result, select.result)


def _is_outside(value: SSAValue, op: IfOp) -> bool:
    return not op.is_ancestor(value.owner)


def _is_selectable(type: Attribute) -> bool:
    """Numbers and pointers, and tensors of them; buffers and tokens are not chosen by value."""
    scalar = element_type_of(type) if is_container(type) else type
    return isinstance(scalar, (IntegerType, IndexType, AnyFloat, PointerLike))


@pattern(IfOp)
def drop_empty_else(op: IfOp, rewriter: Rewriter) -> None:
    """An ``else`` that only ends."""
    block = op.else_region.first_block
    if op.results or block is None or block.first_op is not block.last_op:
        return
    for end in list(block.ops):
        rewriter.erase(end)
    op.else_region.erase_block(block)
    rewriter.modified(op)


def branch_patterns(pool: ConstantPool) -> list[AnyPattern]:
    """All rewrites of this file."""
    return [DecidedIf(pool), drop_results, select_instead, KnownInside(pool), drop_empty_else]
