"""How many pages the cores read and write, predicted from the program of a core.

Loops with constant bounds multiply; where a bound or a condition depends on the block, the control
flow is evaluated for every block. The executors count exactly the predicted pages.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.arguments import RasterOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.plan import Assignment, Traffic
from tilewright.dialects.tensix.program import CoreProgramOp
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import CopyOp
from tilewright.ir.interfaces import constant_value
from tilewright.passes.tenstorrent.buffer_uses import role_of
from tilewright.passes.tenstorrent.tensorize_tt import buffer_tiles


def _quotient(left: int, right: int) -> int:
    return left // right


def _both(left: int, right: int) -> int:
    return left & right


def _either(left: int, right: int) -> int:
    return left | right


def _ceiling(left: int, right: int) -> int:
    return -(-left // right)


_ARITHMETIC: Mapping[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divui": _quotient,
    "arith.divsi": _quotient,
    "arith.floordivsi": _quotient,
    "arith.ceildivui": _ceiling,
    "arith.ceildivsi": _ceiling,
    "arith.remui": operator.mod,
    "arith.remsi": operator.mod,
    "arith.minui": min,
    "arith.minsi": min,
    "arith.maxui": max,
    "arith.maxsi": max,
    "arith.andi": _both,
    "arith.ori": _either,
}
_PREDICATES: Mapping[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "slt": operator.lt,
    "ult": operator.lt,
    "sle": operator.le,
    "ule": operator.le,
    "sgt": operator.gt,
    "ugt": operator.gt,
    "sge": operator.ge,
    "uge": operator.ge,
}


@dataclass
class _Counter:
    """Counts pages while it follows the control flow."""

    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    reads: int = 0
    writes: int = 0

    def block(self, block: Block, times: int) -> None:
        for op in block.ops:
            if isinstance(op, CopyOp):
                self.copy(op, times)
            elif isinstance(op, (ForOp, MatmulKLoopOp)):
                self.loop(op, times)
            elif isinstance(op, IfOp):
                taken = op.regions[0 if self.value(op.operands[0]) else 1]
                if taken.blocks:
                    self.block(taken.block, times)

    def copy(self, op: CopyOp, times: int) -> None:
        role = role_of(op)
        if role is Role.READER:
            rows, columns = buffer_tiles(op.dst)
            self.reads += times * rows * columns
        elif role is Role.WRITER:
            rows, columns = buffer_tiles(op.src)
            self.writes += times * rows * columns

    def loop(self, op: ForOp | MatmulKLoopOp, times: int) -> None:
        lower, upper, step = (
            self.value(each) for each in (op.lower_bound, op.upper_bound, op.step)
        )
        body = op.regions[0].block
        if _is_uniform(body):
            self.block(body, times * max(0, -(-(upper - lower) // step)))
            return
        for index in range(lower, upper, step):
            self.forget(body)
            self.values[body.args[0]] = index
            self.block(body, times)

    def forget(self, block: Block) -> None:
        for op in block.walk():
            for result in op.results:
                self.values.pop(result, None)

    def value(self, value: SSAValue) -> int:
        """The number that a value has."""
        if value in self.values:
            return self.values[value]
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return constant.value.data
        op = value.owner
        assert isinstance(op, Operation), value
        if isinstance(op, RasterOp):
            row, column = op.raster.at(*(self.value(each) for each in op.operands))
            self.values[op.row], self.values[op.column] = row, column
            return self.values[value]
        operands = [self.value(each) for each in op.operands]
        if op.name == "arith.cmpi":
            assert isinstance(op, CmpiOp)
            found = int(_PREDICATES[op.predicate_name](operands[0], operands[1]))
        elif op.name == "arith.select":
            found = operands[1] if operands[0] else operands[2]
        elif op.name in ("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci"):
            found = operands[0]
        else:
            found = _ARITHMETIC[op.name](operands[0], operands[1])
        self.values[value] = found
        return found


def _is_uniform(block: Block) -> bool:
    """Whether every execution of the block has the same traffic: all control flow is constant."""
    for op in block.walk():
        if isinstance(op, IfOp):
            return False
        if isinstance(op, (ForOp, MatmulKLoopOp)):
            bounds = (op.lower_bound, op.upper_bound, op.step)
            if any(constant_value(each) is None for each in bounds):
                return False
    return True


def predicted_traffic(
    program: CoreProgramOp, assignments: tuple[Assignment, ...], names: tuple[str, ...]
) -> Traffic:
    """The pages that all cores read and write."""
    reads = writes = 0
    for core in assignments:
        if not core.count:
            continue
        counter = _Counter(dict(zip(program.body_block.args, _words(core, names), strict=True)))
        counter.block(program.body_block, 1)
        reads, writes = reads + counter.reads, writes + counter.writes
    return Traffic(reads, writes)


def _words(core: Assignment, names: tuple[str, ...]) -> list[int]:
    words: Mapping[str, int] = {"start_id": core.start_tile, "count": core.count}
    if core.rect is not None:
        words = {
            **words,
            **dict(zip(("row0", "col0", "rows", "cols"), core.rect, strict=True)),
        }
    return [words[name] for name in names]
