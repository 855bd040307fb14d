"""``scf.for`` and ``scf.while`` that run never or once, or carry what does not change.

A loop whose bounds are constants runs ``ceil((upper - lower) / step)`` times; none leaves the
initial values, one leaves the body. A carried value is dropped when it need not be carried::

    yields its own argument            it is the initial value throughout
    yields the initial value           likewise
    argument and result are unused     it is dead
    starts and yields like another     it is the other
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects.folding.constants import as_unsigned, integer_width
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.ir.rewrite import AnyPattern, RewritePattern, Rewriter, pattern
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool


class TrivialLoop(RewritePattern[ForOp]):
    """A loop of no trips is its initial values, a loop of one trip is its body."""

    roots = (ForOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: ForOp, rewriter: Rewriter) -> None:
        trips = self._trips(op)
        if trips == 0:
            rewriter.replace_op(op, (), op.init_args)
        elif trips == 1:
            rewriter.replace_with_block(op, op.body_block, (op.lower_bound, *op.init_args))

    def _trips(self, op: ForOp) -> int | None:
        """The number of trips, where it is known."""
        if op.lower_bound is op.upper_bound:
            return 0
        first, end = self._pool.integer(op.lower_bound), self._pool.integer(op.upper_bound)
        width = integer_width(op.lower_bound.type)
        if first is None or end is None or width is None:
            return None
        step = self._pool.integer(op.step)
        if op.unsigned is not None:
            first, end = as_unsigned(first, width), as_unsigned(end, width)
            step = None if step is None else as_unsigned(step, width)
        if first >= end:
            return 0
        # A step that is no positive number leaves the number of trips undefined.
        return -((first - end) // step) if step is not None and step > 0 else None


@pattern(ForOp)
def carry_less(op: ForOp, rewriter: Rewriter) -> None:
    """Drop the carried values that need not be carried."""
    yields = op.yield_op.operands
    if not op.results or len(yields) != len(op.results):
        return
    carried = [
        _Carried(*each) for each in zip(op.init_args, op.iter_args, yields, op.results, strict=True)
    ]
    retained: list[int] = []
    for index, each in enumerate(carried):
        same = next((k for k in retained if each.runs_like(carried[k])), None)
        if each.is_invariant or each.is_unused:
            each.replace_by(each.init, each.init, rewriter)
        elif same is not None:
            each.replace_by(carried[same].arg, carried[same].result, rewriter)
        else:
            retained.append(index)
    if len(retained) < len(carried):
        _rebuild(op, retained, rewriter)


@dataclass(frozen=True, slots=True)
class _Carried:
    """A value that a loop hands from one iteration to the next."""

    init: SSAValue
    arg: SSAValue
    next: SSAValue
    result: SSAValue

    @property
    def is_invariant(self) -> bool:
        return self.next is self.arg or self.next is self.init

    @property
    def is_unused(self) -> bool:
        return self.arg.first_use is None and self.result.first_use is None

    def runs_like(self, other: _Carried) -> bool:
        return self.init is other.init and self.next is other.next

    def replace_by(self, inside: SSAValue, after: SSAValue, rewriter: Rewriter) -> None:
        rewriter.replace_all_uses(self.arg, inside)
        rewriter.replace_all_uses(self.result, after)


def _rebuild(op: ForOp, retained: Sequence[int], rewriter: Rewriter) -> None:
    """The same loop with some of its carried values; the others are unused."""
    last = op.yield_op
    last.operands = [last.operands[index] for index in retained]
    body = op.body_block
    for index in reversed(range(len(op.results))):
        if index not in retained:
            body.erase_arg(body.args[index + 1])
    inits = [op.init_args[index] for index in retained]
    new = ForOp.create(
        operands=[op.lower_bound, op.upper_bound, op.step, *inits],
        result_types=[init.type for init in inits],
        properties=op.properties.copy(),
        attributes=op.attributes.copy(),
        regions=[Region()],
    )
    move_into(op, new, retained, rewriter)


def move_into(op: Operation, new: Operation, retained: Sequence[int], rewriter: Rewriter) -> None:
    """Replace ``op`` by ``new``, which takes over the regions and the remaining results.

    The regions come after the insertion, so that what is inside keeps its locations.
    """
    rewriter.insert_before(op, new)
    for old_region, new_region in zip(op.regions, new.regions, strict=True):
        old_region.move_blocks(new_region)
    for index, result in zip(retained, new.results, strict=True):
        rewriter.replace_all_uses(op.results[index], result)
    rewriter.erase(op)


class WhileNever(RewritePattern[WhileOp]):
    """An ``scf.while`` whose condition is false runs its first region, once."""

    roots = (WhileOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: WhileOp, rewriter: Rewriter) -> None:
        condition = op.condition_op
        if self._pool.integer(condition.condition) != 0:
            return
        rewriter.inline_block(op.before_region.block, InsertPoint.before(op), op.operands)
        rewriter.replace_op(op, (), condition.arguments)
        rewriter.erase(condition)


def loop_patterns(pool: ConstantPool) -> list[AnyPattern]:
    """All rewrites of this file."""
    return [TrivialLoop(pool), carry_less, WhileNever(pool)]
