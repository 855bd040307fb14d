"""The execution counts of the ops of a program, for the arguments of a core.

Loops whose bodies have constant control flow multiply; other loops are run index by index.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.integers.unbounded import BINARY, COMPARISONS
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.arguments import ArgAtOp, RasterOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.plan import BLOCK_IDS, Assignment
from tilewright.dialects.tensix.tables import TableOp
from tilewright.ir.interfaces import constant_value
from tilewright.ir.traversal import is_inside

_CASTS = ("arith.index_cast", "arith.extsi", "arith.extui", "arith.trunci")


def integer_of(op: Operation, operands: Sequence[int]) -> int | None:
    """The integer that an op computes from integers; None if it computes something else."""
    if isinstance(op, TableOp):
        return op.entries[operands[0]]
    if isinstance(op, CmpiOp):
        return int(COMPARISONS[op.predicate_name](operands[0], operands[1]))
    if op.name == "arith.select":
        return operands[1] if operands[0] else operands[2]
    if op.name in _CASTS:
        return operands[0]
    compute = BINARY.get(op.name)
    return None if compute is None else compute(operands[0], operands[1])


@dataclass(frozen=True)
class _Body:
    """What every iteration of a loop requires of its body, found once."""

    is_uniform: bool
    results: tuple[SSAValue, ...]

    @classmethod
    def of(cls, block: Block) -> _Body:
        results = tuple(result for op in block.walk() for result in op.results)
        return cls(_is_uniform(block), results)


@dataclass
class ControlFlow:
    """Follows the control flow of a program and visits its ops with their multiplicity."""

    visit: Callable[[Operation, int], None]
    values: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    lists: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    """Run-time arguments that are lists, by name."""
    _constants: dict[SSAValue, int | None] = field(
        default_factory=dict[SSAValue, int | None], init=False
    )
    """The constants among the values, and None for the others."""
    _bodies: dict[Block, _Body] = field(default_factory=lambda: dict[Block, _Body](), init=False)

    def block(self, block: Block, times: int) -> None:
        for op in block.ops:
            if isinstance(op, (ForOp, MatmulKLoopOp)):
                self._loop(op, times)
            elif isinstance(op, IfOp):
                taken = op.regions[0 if self.value(op.operands[0]) else 1]
                if taken.blocks:
                    self.block(taken.block, times)
            else:
                self.visit(op, times)

    def _loop(self, op: ForOp | MatmulKLoopOp, times: int) -> None:
        lower, upper, step = (
            self.value(each) for each in (op.lower_bound, op.upper_bound, op.step)
        )
        body = op.regions[0].block
        if body not in self._bodies:
            self._bodies[body] = _Body.of(body)
        known = self._bodies[body]
        if known.is_uniform:
            self.block(body, times * max(0, -(-(upper - lower) // step)))
            return
        for index in range(lower, upper, step):
            for result in known.results:
                self.values.pop(result, None)
            self.values[body.args[0]] = index
            self.block(body, times)

    def _constant(self, value: SSAValue) -> int | None:
        if value not in self._constants:
            found = constant_value(value)
            is_integer = isinstance(found, IntegerAttr)
            self._constants[value] = found.value.data if is_integer else None
        return self._constants[value]

    def value(self, value: SSAValue) -> int:
        """The integer that a value has."""
        if value in self.values:
            return self.values[value]
        constant = self._constant(value)
        if constant is not None:
            return constant
        op = value.owner
        assert isinstance(op, Operation), value
        if isinstance(op, RasterOp):
            row, column = op.raster.at(*(self.value(each) for each in op.position))
            self.values[op.row], self.values[op.column] = row, column
            return self.values[value]
        if isinstance(op, ArgAtOp):
            return self.lists[op.label.data][self.value(op.index)]
        operands = [self.value(each) for each in op.operands]
        found = integer_of(op, operands)
        assert found is not None, op
        self.values[value] = found
        return found


def can_evaluate(op: Operation) -> bool:
    """Whether the integers that `op` gives follow from its operands."""
    if isinstance(op, (RasterOp, CmpiOp, TableOp)) or op.name == "arith.select":
        return True
    return op.name in BINARY or op.name in _CASTS


def _is_uniform(block: Block) -> bool:
    """Whether every execution of the block has the same traffic: no control flow depends on it."""
    for op in block.walk():
        if isinstance(op, IfOp) and is_inside(op.operands[0], block):
            return False
        if isinstance(op, (ForOp, MatmulKLoopOp)):
            bounds = (op.lower_bound, op.upper_bound, op.step)
            if any(constant_value(each) is None for each in bounds):
                return False
    return True


def words_of(core: Assignment) -> Mapping[str, int]:
    """The run-time words of a core by name, addresses left out."""
    return core.words


def lists_of(core: Assignment) -> Mapping[str, Sequence[int]]:
    """The run-time arguments of a core that are lists, by name."""
    return {} if core.blocks is None else {BLOCK_IDS: core.blocks}
