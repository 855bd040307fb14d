"""Building ops: index arithmetic with constant folding.

Positions are `Mixed`: integers where they are known, values elsewhere. Operations on integers give
integers, and no op is created.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import AddiOp, CmpiOp, ConstantOp, DivuiOp, RemuiOp, SubiOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.rewrite import Rewriter, inherit_location

_INDEX = IndexType()


@dataclass
class IndexBuilder:
    """Ops that are inserted before `origin`, or at the end of a block, on behalf of `origin`."""

    origin: Operation
    block: Block | None = None
    rewriter: Rewriter = field(default_factory=Rewriter)

    def add(self, op: Operation) -> Operation:
        if self.block is None:
            self.rewriter.insert_before(self.origin, op, self.origin)
        else:
            inherit_location(op, self.origin.location)
            end = self.block.last_op
            assert end is not None  # a new body is ended already
            self.block.insert_op_before(op, end)
        return op

    def inside(self, block: Block) -> IndexBuilder:
        return IndexBuilder(self.origin, block)

    def index(self, value: Mixed) -> SSAValue:
        if isinstance(value, SSAValue):
            return value
        return self.add(ConstantOp.of(value, _INDEX)).results[0]

    def plus(self, value: Mixed, offset: int) -> Mixed:
        if isinstance(value, int) or offset == 0:
            return value + offset if isinstance(value, int) else value
        amount = self.index(abs(offset))
        return self.add((AddiOp if offset > 0 else SubiOp)(value, amount)).results[0]

    def minus(self, value: Mixed, other: Mixed) -> Mixed:
        if isinstance(other, int):
            return self.plus(value, -other)
        return self.add(SubiOp(self.index(value), other)).results[0]

    def modulo(self, value: Mixed, divisor: int) -> Mixed:
        if isinstance(value, int):
            return value % divisor
        return self.add(RemuiOp(value, self.index(divisor))).results[0]

    def at_least(self, value: SSAValue, minimum: int) -> SSAValue:
        return self.add(CmpiOp("sge", value, self.index(minimum))).results[0]

    def divided(self, value: Mixed, divisor: int) -> Mixed:
        if isinstance(value, int):
            return value // divisor
        return self.add(DivuiOp(value, self.index(divisor))).results[0]
