"""Where new ops go, and the source locations they get."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.traits import IsTerminator

from tilewright.dialects.arith import (
    AddiOp,
    ConstantOp,
    ExtsiOp,
    IndexCastOp,
    MuliOp,
)
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.rewrite import inherit_location

INDEX = IndexType()


@dataclass
class Builder:
    """Adds ops at the end of a block, before its terminator, on behalf of `origin`."""

    block: Block
    origin: Operation

    def add(self, op: Operation) -> Operation:
        inherit_location(op, self.origin.location)
        last = self.block.last_op
        if last is not None and last.has_trait(IsTerminator):
            self.block.insert_op_before(op, last)
        else:
            self.block.add_op(op)
        return op

    def value(self, op: Operation, hint: str | None = None) -> SSAValue:
        """Add an op; its result."""
        result = self.add(op).results[0]
        if hint is not None:
            result.name_hint = hint
        return result

    def inside(self, block: Block) -> Builder:
        return Builder(block, self.origin)

    # Integers.

    def constant(self, value: int | float | bool, type: Attribute) -> SSAValue:
        return self.value(ConstantOp.of(value, type))

    def index(self, value: Mixed) -> SSAValue:
        return value if isinstance(value, SSAValue) else self.constant(value, INDEX)

    def to_index(self, value: SSAValue) -> SSAValue:
        """A signed integer as an index."""
        if isinstance(value.type, IndexType):
            return value
        return self.value(IndexCastOp(value, INDEX))

    def from_index(self, value: Mixed, type: Attribute) -> SSAValue:
        """An index as an integer of `type`."""
        if isinstance(value, int):
            return self.constant(value, type)
        if isinstance(type, IndexType):
            return value
        assert isinstance(type, IntegerType)
        return self.value(IndexCastOp(value, type))

    def extended(self, value: SSAValue, type: IntegerType) -> SSAValue:
        """A signed integer as a wider one, if it is not one already."""
        return value if value.type == type else self.value(ExtsiOp(value, type))

    def plus(self, left: Mixed, right: Mixed) -> Mixed:
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0:
            return right
        if right == 0:
            return left
        return self.value(AddiOp(self.index(left), self.index(right)))

    def times(self, left: Mixed, right: Mixed) -> Mixed:
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 0 or right == 0:
            return 0
        if left == 1:
            return right
        if right == 1:
            return left
        return self.value(MuliOp(self.index(left), self.index(right)))
