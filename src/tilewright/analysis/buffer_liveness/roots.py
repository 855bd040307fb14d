"""The allocations that a buffer value may be a view of, and how much of them.

A value may come from several allocations (an ``scf.if`` that picks one, a loop that rotates them),
so the result is a set. `None` in it represents external memory: an argument, a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.buffer_liveness.op_effects import AllocationOp
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttg.views import (
    MemDescIndexOp,
    MemDescReinterpretOp,
    MemDescReshapeOp,
    MemDescTransOp,
)
from tilewright.dialects.ttg.warps import WarpSpecializePartitionsOp
from tilewright.dialects.ttng import WarpGroupDotWaitOp
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.dataflow import Analysis, Lattice, Solution, solve
from tilewright.ir.interfaces import constant_value

Roots = frozenset[AllocationOp | None]
_ELSEWHERE: Roots = frozenset([None])
_NOTHING: Roots = frozenset()


class _RootSets(Lattice[Roots]):
    bottom = _NOTHING
    top = _ELSEWHERE

    def join(self, a: Roots, b: Roots) -> Roots:
        return a | b


class _RootAnalysis(Analysis[Roots]):
    lattice = _RootSets()

    def visit(self, op: Operation, states: Sequence[Roots]) -> Sequence[Roots] | None:
        if isinstance(op, AllocationOp):
            return [frozenset([op]), *(_NOTHING for _ in op.results[1:])]
        if isinstance(op, WarpGroupDotWaitOp):
            return states
        if not any(isinstance(result.type, MemDescType) for result in op.results):
            return [_NOTHING] * len(op.results)
        sources = [
            state
            for operand, state in zip(op.operands, states, strict=True)
            if isinstance(operand.type, MemDescType)
        ]
        together = _NOTHING.union(*sources) if sources else _ELSEWHERE
        return [together] * len(op.results)


class BufferRoots:
    """The allocations of every buffer value of a module."""

    def __init__(self, module: ModuleOp) -> None:
        self._solution: Solution[Roots] = solve(module, _RootAnalysis())

    def of(self, value: SSAValue) -> Roots:
        """Everything that `value` may be a view of."""
        return self._solution[value]

    def single(self, value: SSAValue) -> AllocationOp | None:
        """The allocation that `value` is certainly a view of."""
        roots = self.of(value)
        return next(iter(roots)) if len(roots) == 1 else None


@dataclass(frozen=True)
class Slot:
    """One element of an array of barriers: `index` is an integer, a value, or None if unknown."""

    root: AllocationOp
    index: int | SSAValue | None

    @property
    def count(self) -> int:
        """How many barriers the array has."""
        return cast("MemDescType", self.root.result.type).shape[0]

    @property
    def possible(self) -> frozenset[int]:
        """The elements that it may be."""
        if isinstance(self.index, int):
            return frozenset([self.index])
        return frozenset(range(self.count))


def captured(value: SSAValue) -> SSAValue:
    """`value`, or what a partition captured it from."""
    while isinstance(value, BlockArgument):
        parent = value.block.parent_op()
        if not isinstance(parent, WarpSpecializePartitionsOp):
            break
        value = parent.operands[value.index]
    return value


def slot_of(value: SSAValue, roots: BufferRoots) -> Slot | None:
    """Which barrier `value` is; None where not even the array is known."""
    root = roots.single(value)
    if root is None:
        return None
    value = captured(value)
    if value is root.result:
        return Slot(root, 0 if Slot(root, None).count == 1 else None)
    owner = value.owner
    if isinstance(owner, MemDescIndexOp) and captured(owner.src) is root.result:
        constant = constant_value(owner.index)
        if isinstance(constant, IntegerAttr):
            return Slot(root, constant.value.data)
        return Slot(root, 0 if Slot(root, None).count == 1 else captured(owner.index))
    return Slot(root, None)


def shows_all(value: SSAValue) -> bool:
    """Whether `value` is certainly the whole of an allocation, in whatever shape."""
    while True:
        value = captured(value)
        owner = value.owner
        if isinstance(owner, AllocationOp):
            return True
        if isinstance(owner, MemDescIndexOp):
            if cast("MemDescType", owner.src.type).shape[0] != 1:
                return False
        elif isinstance(owner, MemDescReinterpretOp):
            if _bits(owner.src.type) != _bits(owner.result.type):
                return False
        elif not isinstance(owner, MemDescTransOp | MemDescReshapeOp):
            return False
        value = owner.operands[0]


def _bits(type: object) -> int:
    assert isinstance(type, MemDescType)
    return prod(type.shape) * bit_width(type.element_type)
