"""The names that a kernel gives to the offsets of an access, and their values in one program.

    offs_m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.load(x_ptr + offs_m[:, None] * stride + offs_n[None, :])

A note about an access out of bounds can suggest `mask=offs_m[:, None] < 64` if the values of
`offs_m` are the indices along an axis of x. Which named values an address is computed from shows in
the IR (`named_indices`, when code is generated); whether one of them is the index that a mask has
to compare is decided by its values in the program that failed (`NamedIndex.equals`), not by its
appearance: the same expression is a column in one kernel and an offset into the whole array in
another one.

In a loop, the values of some iteration have to be the indices: the index of a `range` changes them
by the same amount each time. Values that only the execution has (elements loaded from memory,
loop-carried values) are unknown, and what depends on them is not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_values import ARITHMETIC
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.tt.program import GetNumProgramsOp, GetProgramIdOp, MakeRangeOp
from tilewright.dialects.tt.shape import BroadcastOp, ExpandDimsOp, SplatOp
from tilewright.dialects.type_utils import rank_of, shape_of
from tilewright.ir.interfaces import constant_value
from tilewright.targets.numpy.names import source_name_of

_Integers: TypeAlias = NDArray[Any]
_CASTS = ("arith.extsi", "arith.extui", "arith.trunci")
_ADDRESSES = ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims")
_MAX_OPS = 400
"""Ops of an expression that are looked at."""
_ZERO_DIVISION = frozenset(name for name in ARITHMETIC if "div" in name or "rem" in name)


@dataclass(frozen=True)
class ProgramValues:
    """What the values of one program are computed from."""

    program: tuple[int, int, int]
    grid: tuple[int, int, int]
    arguments: Sequence[object]
    """Of the launch, in the order of the kernel's; integers where they are scalars."""


@dataclass(frozen=True)
class NamedIndex:
    """A value with a name that an address is computed from."""

    text: str
    """The value along the axes of the access, as it is written in a mask: `rows[:, None]`."""
    value: SSAValue
    axes: tuple[int, ...]
    """Which axis of the access each axis of the value is."""

    def equals(self, indices: _Integers, program: ProgramValues) -> bool:
        """Whether these are its values in one program, in some iteration of the loop around it;
        false where they are unknown."""
        first = self._values(indices.ndim, program, 0)
        if first is None:
            return False
        values, loops = first
        missing = indices - values
        if not missing.any():
            return True
        if len(loops) != 1 or (missing != missing.flat[0]).any():
            return False
        (trip_count,) = loops.values()
        second = self._values(indices.ndim, program, 1)
        assert second is not None, "the same ops are known"
        change = second[0] - values
        if not change.any() or (change != change.flat[0]).any():
            return False
        iteration, rest = divmod(int(missing.flat[0]), int(change.flat[0]))
        return not rest and 0 <= iteration < trip_count

    def _values(
        self, rank: int, program: ProgramValues, iteration: int
    ) -> tuple[_Integers, Mapping[SSAValue, int]] | None:
        """The values in an iteration, an array of `rank` axes, and the trip counts of the loops
        that they depend on; None where they are unknown."""
        evaluator = _Evaluator(program, iteration)
        found = evaluator.value(self.value)
        if found is None:
            return None
        shape = [1] * rank
        for axis, extent in zip(self.axes, shape_of(self.value.type), strict=True):
            shape[axis] = extent
        return found.reshape(shape), evaluator.loops


def named_indices(pointer: SSAValue) -> tuple[NamedIndex, ...]:
    """The named tensors of integers that a tensor of pointers is computed from, outermost first."""
    rank = rank_of(pointer.type)
    found: dict[SSAValue, NamedIndex] = {}
    for value, axes in _parts(pointer, tuple(range(rank))):
        name = None if value in found or not axes else _variable(value)
        if name is not None:
            found[value] = NamedIndex(_subscripted(name, axes, rank), value, axes)
    return tuple(found.values())


def _variable(value: SSAValue) -> str | None:
    """The variable that is assigned a value.

    All ops of an assignment have the name of its target; the last one yields what is assigned.
    """
    name = source_name_of(value)
    if name is None:
        return None
    users = (use.operation for use in value.uses)
    inside = any(source_name_of(result) == name for op in users for result in op.results)
    return None if inside else name


def _subscripted(name: str, axes: tuple[int, ...], rank: int) -> str:
    if len(axes) == rank:
        return name
    subscript = (":" if axis in axes else "None" for axis in range(rank))
    return f"{name}[{', '.join(subscript)}]"


def _parts(pointer: SSAValue, axes: tuple[int, ...]) -> Iterator[tuple[SSAValue, tuple[int, ...]]]:
    """The integer tensors below the pointer arithmetic, each with its axes of the access."""
    pending: list[tuple[SSAValue, tuple[int, ...], bool]] = [(pointer, axes, True)]
    for _ in range(_MAX_OPS):
        if not pending:
            return
        value, axes, is_pointer = pending.pop(0)
        op = value.owner
        if not isinstance(op, Operation):
            continue
        if not is_pointer:
            yield value, axes
        if isinstance(op, ExpandDimsOp):
            inner = tuple(axis for at, axis in enumerate(axes) if at != op.axis.value.data)
            pending.append((op.operands[0], inner, is_pointer))
        elif op.name == "tt.addptr":
            pending += [(op.operands[0], axes, True), (op.operands[1], axes, False)]
        elif is_pointer and op.name not in _ADDRESSES:
            continue
        elif isinstance(op, SplatOp):
            pending.append((op.operands[0], (), is_pointer))
        elif isinstance(op, BroadcastOp) or op.name in _CASTS or op.name in ARITHMETIC:
            pending += [(operand, axes, is_pointer) for operand in op.operands]


class _Evaluator:
    """Integer values of one program; None for what only the execution has."""

    def __init__(self, program: ProgramValues, iteration: int) -> None:
        self._program = program
        self._iteration = iteration
        """Of all loops."""
        self.loops: dict[SSAValue, int] = {}
        """The trip counts of those that were needed, by their indices."""
        self._known: dict[SSAValue, _Integers | None] = {}
        self._budget = _MAX_OPS

    def value(self, value: SSAValue) -> _Integers | None:
        if value not in self._known:
            self._known[value] = None
            self._known[value] = self._computed(value)
        return self._known[value]

    def _computed(self, value: SSAValue) -> _Integers | None:
        if isinstance(value, BlockArgument):
            return self._argument(value)
        constant = constant_value(value)
        if isinstance(constant, IntegerAttr):
            return np.full(shape_of(value.type), constant.value.data, np.int64)
        if isinstance(constant, DenseIntOrFPElementsAttr):
            return np.asarray(constant.get_values()).reshape(shape_of(value.type))
        op = value.owner
        self._budget -= 1
        if not isinstance(op, Operation) or self._budget < 0:
            return None
        if isinstance(op, GetProgramIdOp):
            return np.asarray(self._program.program[op.axis.value.data])
        if isinstance(op, GetNumProgramsOp):
            return np.asarray(self._program.grid[op.axis.value.data])
        if isinstance(op, MakeRangeOp):
            return np.arange(op.start.value.data, op.end.value.data)
        operands = [self.value(each) for each in op.operands]
        known = [each for each in operands if each is not None]
        return None if len(known) < len(operands) else _applied(op, known)

    def _argument(self, value: BlockArgument) -> _Integers | None:
        """An argument of the kernel, or the index of a loop; other arguments are unknown."""
        function = value.owner.parent_op()
        if isinstance(function, ForOp) and value is function.induction_variable:
            return self._index(function)
        if not isinstance(function, FuncOp) or value.owner is not function.body.first_block:
            return None
        given = self._program.arguments[value.index]
        return np.asarray(given) if isinstance(given, int) else _scalar(given)

    def _index(self, loop: ForOp) -> _Integers | None:
        bounds = (loop.lower_bound, loop.upper_bound, loop.step)
        known = [each for each in map(self.value, bounds) if each is not None]
        if len(known) < len(bounds):
            return None
        low, high, step = (int(each) for each in known)
        self.loops[loop.induction_variable] = len(range(low, high, step)) if step > 0 else 0
        return np.asarray(low + self._iteration * step)


def _scalar(given: object) -> _Integers | None:
    if not isinstance(given, np.generic) or given.dtype.kind not in "iu":
        return None
    return np.asarray(given, np.int64)


def _applied(op: Operation, operands: list[_Integers]) -> _Integers | None:
    if isinstance(op, ExpandDimsOp):
        return np.expand_dims(operands[0], op.axis.value.data)
    if isinstance(op, (SplatOp, BroadcastOp)):
        shape = shape_of(op.results[0].type)
        return np.broadcast_to(operands[0], shape)
    if op.name in _CASTS:
        return operands[0]
    function = ARITHMETIC.get(op.name)
    if function is None or (op.name in _ZERO_DIVISION and not operands[1].all()):
        return None
    return np.asarray(function(*operands))
