"""The low half of a multiplication whose high half is computed, too.

    %w = muli (extui %x), (extui %y) : i64        %w = muli (extui %x), (extui %y) : i64
    %h = trunci (shrui %w, 32)               ->   %h = trunci (shrui %w, 32)
    %l = muli %x, %y : i32                        %l = trunci %w

Random numbers (Philox) use both halves of each: one multiplication instead of two.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32, i64
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import ExtuiOp, MuliOp, TrunciOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_BITS = 32


def share_wide_multiplications(module: ModuleOp) -> None:
    """Take low halves from the wide multiplications of their block."""
    wide: dict[tuple[Block | None, frozenset[Hashable]], MuliOp] = {}
    narrow: list[MuliOp] = []
    for op in walk(module):
        if not isinstance(op, MuliOp):
            continue
        if op.result.type == i32:
            narrow.append(op)
        elif op.result.type == i64 and (factors := _halves(op)) is not None:
            wide.setdefault((op.parent, factors), op)
    for op in narrow:
        found = wide.get((op.parent, frozenset(map(_factor, op.operands))))
        if found is not None:
            rewriter = Rewriter()
            if not found.is_before_in_block(op):
                _move_before(found, op)
            low = TrunciOp(found.result, i32)
            rewriter.replace_op(op, low, [low.result])


def _halves(op: MuliOp) -> frozenset[Hashable] | None:
    """The factors of 32 bits of a multiplication of 64; None if it has others."""
    found: set[Hashable] = set()
    for value in op.operands:
        owner = value.owner
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr) and 0 <= constant.value.data < 1 << _BITS:
            found.add(constant.value.data)
        elif isinstance(owner, ExtuiOp) and owner.input.type == i32:
            found.add(_factor(owner.input))
        else:
            return None
    return frozenset(found)


def _factor(value: SSAValue) -> Hashable:
    """A value of 32 bits; of a constant its bits."""
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return constant.value.data % (1 << _BITS)
    return value


def _move_before(op: Operation, other: Operation) -> None:
    """Move a multiplication, and what extends its factors, before another op of its block."""
    block = other.parent
    assert block is not None
    for each in (*(value.owner for value in op.operands), op):
        if not isinstance(each, Operation) or each.parent is not block:
            continue
        if not each.is_before_in_block(other):
            each.detach()
            block.insert_op_before(each, other)
