"""An index of a buffer becomes a slot of the array it was put into.

The arithmetic of an ``IndexMap`` is written right in front of the op that indexes, unfolded:
upstream's tests look for the constants, and folding them is another pass's work. One level::

    %s = arith.muli %i, T          where T is not 1
    %s = arith.addi %s, o          where o is not 0

Several levels, innermost first, with the running quotient ``q`` (indices are never negative, so the
unsigned ops, which are cheaper, do)::

    %d = arith.remui %q, G         the digit of this level, times its distance where that is not 1
    %q = arith.divui %q, G

`judge` reads the same arithmetic back, and only in this form: all of it right in front of the op,
constants included. Whatever other passes have made of it is not recognised, and not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import AddiOp, ConstantOp, DivuiOp, MuliOp, RemuiOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.memory import IndexMap

_Binary = type[AddiOp] | type[MuliOp] | type[RemuiOp] | type[DivuiOp]


class _Writer:
    """Ops in order, and the value they come to."""

    def __init__(self) -> None:
        self.ops: list[Operation] = []

    def constant(self, value: int) -> SSAValue:
        op = ConstantOp(IntegerAttr(value, i32))
        self.ops.append(op)
        return op.results[0]

    def apply(self, kind: _Binary, left: SSAValue, right: SSAValue) -> SSAValue:
        op = kind(left, right)
        self.ops.append(op)
        return op.results[0]

    def scaled(self, value: SSAValue, factor: int) -> SSAValue:
        return value if factor == 1 else self.apply(MuliOp, value, self.constant(factor))


def slot_ops(index: SSAValue, map: IndexMap) -> tuple[Sequence[Operation], SSAValue]:
    """The ops that turn `index` into a slot, and the slot."""
    writer = _Writer()
    total: SSAValue | None = None
    quotient = index
    for digit in map.digits:
        if digit.radix is None:
            term = writer.scaled(quotient, digit.block)
        else:
            radix = writer.constant(digit.radix)
            rest = writer.apply(RemuiOp, quotient, radix)
            quotient = writer.apply(DivuiOp, quotient, radix)
            term = writer.scaled(rest, digit.block)
        total = term if total is None else writer.apply(AddiOp, total, term)
    slot = index if total is None else total
    if map.offset:
        slot = writer.apply(AddiOp, slot, writer.constant(map.offset))
    return writer.ops, slot


def rewrite_index(op: MemDescIndexOp, map: IndexMap) -> Sequence[Operation]:
    """The ops to put in front of `op`, which is changed to use what they compute."""
    ops, slot = slot_ops(op.index, map)
    op.operands[1] = slot
    return ops


class Verdict(Enum):
    """What can be said about the arithmetic in front of an index."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


def judge(op: MemDescIndexOp, map: IndexMap) -> Verdict:
    """Whether the index of `op` is what `map` makes of some index."""
    # Written for an index of its own, so that no value of the module is used by it.
    index = Block(arg_types=(i32,)).args[0]
    template, wanted = slot_ops(index, map)
    if not template:
        return Verdict.RIGHT
    written = _in_front(op, len(template))
    pairs: dict[SSAValue, SSAValue] = {}
    is_equal = len(written) == len(template)
    for own, other in zip(template, written, strict=False):
        if own.name != other.name or not _same_wiring(own, other, index, pairs):
            return Verdict.UNKNOWN
        pairs[own.results[0]] = other.results[0]
        is_equal &= own.properties.get("value") == other.properties.get("value")
    if pairs.get(wanted) is not op.index:
        return Verdict.UNKNOWN
    return Verdict.RIGHT if is_equal else Verdict.WRONG


def _in_front(op: Operation, count: int) -> list[Operation]:
    found: list[Operation] = []
    current = op.prev_op
    while current is not None and len(found) < count:
        found.append(current)
        current = current.prev_op
    return found[::-1]


def _same_wiring(
    own: Operation, other: Operation, index: SSAValue, pairs: Mapping[SSAValue, SSAValue]
) -> bool:
    """Whether two ops are fed by the same earlier ones; what is no earlier op is the index."""
    return all(
        mine is index or pairs.get(mine) is theirs
        for mine, theirs in zip(own.operands, other.operands, strict=True)
    )
