"""An index of a buffer becomes a slot of the array it was put into.

The arithmetic of an ``IndexMap`` is inserted right before the op that indexes, unfolded:
upstream's tests look for the constants, and folding them is another pass's work. One level::

    %s = arith.muli %i, T          where T is not 1
    %s = arith.addi %s, o          where o is not 0

Several levels, innermost first, with the running quotient ``q`` (indices are never negative, so the
unsigned ops, which are cheaper, do)::

    %d = arith.remui %q, G         the digit of this level, times its distance where that is not 1
    %q = arith.divui %q, G

`judge` reads the same arithmetic back. It is right wherever its ops are by now (hoisted, merged
with equal ones), and so is a constant that is the slot of some buffer. It is wrong only where it
is still as it was inserted, right before the op, with other constants. Folding can put the
kernel's own arithmetic into it, ``2 * (4 * j)`` into ``8 * j``; that is not judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from itertools import takewhile

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove

from tilewright.dialects.arith import AddiOp, ConstantOp, DivuiOp, MuliOp, RemuiOp
from tilewright.dialects.ttg.views import MemDescIndexOp
from tilewright.memory import IndexMap
from tilewright.passes.tlx.storage_alias.bounds import constant_of

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
    """The ops that compute the slot of `index`, and the slot."""
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
    """The ops to put before `op`, which is changed to use what they compute."""
    ops, slot = slot_ops(op.index, map)
    op.operands[1] = slot
    return ops


class IndexResult(Enum):
    """The result of checking the arithmetic before an index."""

    RIGHT = "right"
    WRONG = "wrong"
    UNKNOWN = "unknown"


def judge(op: MemDescIndexOp, map: IndexMap, count: int) -> IndexResult:
    """Whether the index of `op` is what `map` makes of one of `count` indices."""
    # Written for an index of its own, so that no value of the module is used by it.
    index = Block(arg_types=(i32,)).args[0]
    template, expected = slot_ops(index, map)
    if not template or _computes(op.index, expected, {}):
        return IndexResult.RIGHT
    slot = constant_of(op.index)
    return _judge_written(op, template, expected) if slot is None else _judge_slot(slot, map, count)


def _computes(value: SSAValue, expected: SSAValue, pairs: dict[SSAValue, SSAValue]) -> bool:
    """Whether `value` is computed as `expected` is, from any index, with ops anywhere."""
    if expected in pairs:
        return pairs[expected] is value
    pairs[expected] = value
    own, other = expected.owner, value.owner
    if isinstance(own, Block):
        return True
    if isinstance(other, Block) or own.name != other.name:
        return False
    is_equal = own.properties.get("value") == other.properties.get("value")
    operands = zip(other.operands, own.operands, strict=True)
    return is_equal and all(_computes(one, two, pairs) for one, two in operands)


def _judge_slot(slot: int, map: IndexMap, count: int) -> IndexResult:
    """A slot that was computed already: slots ascend with their indices."""
    for index in range(count):
        if map(index) >= slot:
            return IndexResult.RIGHT if map(index) == slot else IndexResult.WRONG
    # Past the last buffer: the kernel's index is out of bounds, the arithmetic may be right.
    return IndexResult.UNKNOWN


def _judge_written(
    op: MemDescIndexOp, template: Sequence[Operation], expected: SSAValue
) -> IndexResult:
    """The form it was written in, but with other numbers, is wrong; every other form unknown."""
    written = _in_front(op, len(template))
    pairs: dict[SSAValue, SSAValue] = {}
    if len(written) != len(template):
        return IndexResult.UNKNOWN
    for own, other in zip(template, written, strict=True):
        if own.name != other.name or not _same_wiring(own, other, pairs):
            return IndexResult.UNKNOWN
        pairs[own.results[0]] = other.results[0]
    if pairs[expected] is not op.index or _may_be_folded(written):
        return IndexResult.UNKNOWN
    return IndexResult.WRONG


def _may_be_folded(written: Sequence[Operation]) -> bool:
    """Whether the kernel's own constant can be part of these ops.

    ``(i + 1) + 3`` is folded to ``i + 4``, which looks as if 3 had been changed. Folding leaves its
    constants at the top of a function or partition, so only there it has to be reckoned with.
    """
    first, *others = written
    block = first.parent
    function = None if block is None else block.parent_op()
    if block is None or function is None or function.get_trait(IsolatedFromAbove) is None:
        return False
    if any(isinstance(other, ConstantOp) for other in others):
        return False
    before = takewhile(lambda op: op is not first, block.ops)
    return all(isinstance(op, ConstantOp) for op in before)


def _in_front(op: Operation, count: int) -> list[Operation]:
    found: list[Operation] = []
    current = op.prev_op
    while current is not None and len(found) < count:
        found.append(current)
        current = current.prev_op
    return found[::-1]


def _same_wiring(own: Operation, other: Operation, pairs: Mapping[SSAValue, SSAValue]) -> bool:
    """Whether two ops are fed by the same earlier ones; what is no earlier op is the index."""
    return all(
        isinstance(first.owner, Block) or pairs.get(first) is second
        for first, second in zip(own.operands, other.operands, strict=True)
    )
