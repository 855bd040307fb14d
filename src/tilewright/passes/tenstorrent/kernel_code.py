"""Building the code of a kernel: index arithmetic, loops, circular buffers by demand."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IndexType, LocationAttr, UnknownLoc
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import (
    AddiOp,
    ConstantOp,
    DivuiOp,
    MaxsiOp,
    MinsiOp,
    MuliOp,
    RemuiOp,
    SubiOp,
)
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tensix.arguments import ArgOp
from tilewright.dialects.tensix.buffers import CBOp
from tilewright.dialects.tensix.noc import AccessorOp, SemOp
from tilewright.dialects.tensix.program import KernelOp
from tilewright.dialects.tensix.types import CBType
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import inherit_location
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.circular_buffers import (
    BufferPlan,
    format_of_buffer,
    needed_plan,
)

_INDEX = IndexType()


@dataclass
class KernelCode:
    """Appends ops to a kernel, at the end of the current block."""

    kernel: KernelOp
    location: LocationAttr = field(default_factory=UnknownLoc)
    constants: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    cbs: dict[int, SSAValue] = field(default_factory=dict[int, SSAValue])
    loops: list[Operation] = field(default_factory=list[Operation])

    def __post_init__(self) -> None:
        self.block: Block = self.kernel.body_block

    def add(self, op: Operation) -> Operation:
        inherit_location(op, self.location)
        end = self.block.last_op
        assert end is not None
        self.block.insert_op_before(op, end)
        return op

    def head(self, op: Operation) -> SSAValue:
        """Put an op at the start of the kernel, after those put there before."""
        first = self.kernel.body_block.first_op
        while first is not None and isinstance(first, (CBOp, ConstantOp)):
            first = first.next_op
        assert first is not None
        self.kernel.body_block.insert_op_before(op, first)
        return op.results[0]

    def before_body(self, op: Operation) -> None:
        """Put an op after what `head` has put at the start of the kernel."""
        first = self.kernel.body_block.first_op
        while first is not None and isinstance(first, (CBOp, ConstantOp, ArgOp, AccessorOp, SemOp)):
            first = first.next_op
        assert first is not None
        self.kernel.body_block.insert_op_before(op, first)

    def constant(self, value: int) -> SSAValue:
        if value not in self.constants:
            self.constants[value] = self.head(ConstantOp.of(value, _INDEX))
        return self.constants[value]

    def cb(self, buffer: SSAValue) -> SSAValue:
        """The circular buffer of an on-chip buffer."""
        plan = needed_plan(buffer)
        return self.cb_of_plan(plan, buffer)

    def cb_of_plan(self, plan: BufferPlan, buffer: SSAValue) -> SSAValue:
        if plan.index not in self.cbs:
            type = CBType(plan.pages, format_of_buffer(buffer))
            self.cbs[plan.index] = self.head(CBOp(plan.index, type, name_of(buffer)))
        return self.cbs[plan.index]

    # -- arithmetic ------------------------------------------------------------------------------

    def plus(self, left: SSAValue, right: SSAValue) -> SSAValue:
        one, other = constant_integer(left), constant_integer(right)
        if one is not None and other is not None:
            return self.constant(one + other)
        if one == 0:
            return right
        return left if other == 0 else self.add(AddiOp(left, right)).results[0]

    def times(self, left: SSAValue, factor: int) -> SSAValue:
        one = constant_integer(left)
        if one is not None:
            return self.constant(one * factor)
        if factor == 1:
            return left
        return self.add(MuliOp(left, self.constant(factor))).results[0]

    def minus(self, left: SSAValue, right: SSAValue) -> SSAValue:
        one, other = constant_integer(left), constant_integer(right)
        if one is not None and other is not None:
            return self.constant(one - other)
        return left if other == 0 else self.add(SubiOp(left, right)).results[0]

    def at_least(self, value: SSAValue, bound: int) -> SSAValue:
        constant = constant_integer(value)
        if constant is not None:
            return self.constant(max(constant, bound))
        return self.add(MaxsiOp(value, self.constant(bound))).results[0]

    def at_most(self, value: SSAValue, bound: int) -> SSAValue:
        constant = constant_integer(value)
        if constant is not None:
            return self.constant(min(constant, bound))
        return self.add(MinsiOp(value, self.constant(bound))).results[0]

    def quotient(self, value: SSAValue, divisor: int) -> SSAValue:
        """`value` / `divisor`, where the division is known to be exact."""
        if divisor == 1:
            return value
        divided = constant_integer(value)
        if divided is not None:
            return self.constant(divided // divisor)
        op = value.owner
        if isinstance(op, MuliOp):
            for factor, other in ((op.rhs, op.lhs), (op.lhs, op.rhs)):
                constant = constant_integer(factor)
                if constant is not None and constant % divisor == 0:
                    return self.times(other, constant // divisor)
        if isinstance(op, AddiOp):
            return self.plus(self.quotient(op.lhs, divisor), self.quotient(op.rhs, divisor))
        return self.add(DivuiOp(value, self.constant(divisor))).results[0]

    def remainder(self, value: SSAValue, divisor: int) -> SSAValue:
        """`value` modulo `divisor`, for a value that is not negative."""
        divided = constant_integer(value)
        if divided is not None or divisor == 1:
            return self.constant(0 if divided is None else divided % divisor)
        return self.add(RemuiOp(value, self.constant(divisor))).results[0]

    # -- loops -----------------------------------------------------------------------------------

    @contextmanager
    def loop(self, count: int, name: str = "i") -> Generator[SSAValue]:
        """A loop over 0 .. count-1; no loop for one iteration."""
        if count == 1:
            yield self.constant(0)
            return
        with self.loop_over(self.constant(0), self.constant(count), self.constant(1), name) as i:
            yield i

    @contextmanager
    def loop_over(
        self, lower: SSAValue, upper: SSAValue, step: SSAValue, name: str = "i"
    ) -> Generator[SSAValue]:
        made = ForOp(lower, upper, step)
        made.body.block.args[0].name_hint = name
        self.add(made)
        outer, self.block = self.block, made.body.block
        try:
            yield made.body.block.args[0]
        finally:
            self.block = outer
