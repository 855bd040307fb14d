"""Loops of `T`: what ``for ... in T.xyz(...)`` makes.

    T.serial, range        scf.for                  T.Parallel     tile.parallel
    T.unroll, T.vectorized scf.for, marked          T.Pipelined    tile.pipeline
    T.thread_binding       scf.for, bound           T.Persistent   tile.persistent

A loop is described when its function is called; `control` opens its body and closes it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IntegerAttr, StringAttr, UnitAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.scf import ForOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tile import ParallelOp, PersistentOp, PipelineOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.ir.hints import name_hint_of
from tilewright.ir.text.locations import name_location
from tilewright.language.T.dtypes import int32
from tilewright.language.T.expressions import (
    INDEX,
    Expr,
    as_index,
    emit,
    index_expr,
    is_python_scalar,
)
from tilewright.language.T.session import trace
from tilewright.language.T.symbols import Symbol

BAD_ARGUMENT = "TW1026"
"""An argument that a function of the language cannot take."""


class LoopForm(ABC):
    """A loop, before its body is traced."""

    op_name: ClassVar[str] = "serial"
    """How the language calls it."""
    can_exit: ClassVar[bool] = True
    """Whether ``break`` and ``continue`` may end an iteration."""

    @abstractmethod
    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        """The body's block, and what the loop's variables hold."""

    @abstractmethod
    def close(self, block: Block) -> Operation:
        """The loop around its traced body."""

    @property
    def has_iterations(self) -> bool:
        """Whether it is known to have at least one."""
        return False

    def __iter__(self) -> Any:
        name = self.op_name
        raise TypeError(f"T.{name} is a loop of the kernel: use it as `for ... in T.{name}(...)`")


def _block(count: int, targets: Sequence[str]) -> Block:
    """A block with an index per variable, named after it."""
    block = Block(arg_types=[INDEX] * count)
    location = current().location()
    for argument, target in zip(block.args, targets, strict=False):
        argument.location = name_location(target, location)
        argument.name_hint = name_hint_of(target)
    return block


def _variable(counter: SSAValue, *, is_natural: bool = True) -> Expr:
    """The variable of a loop."""
    if is_natural:
        trace().naturals.add(counter)
    return Expr(counter, int32, is_natural=is_natural)


def _checked(op_name: str, targets: Sequence[str], count: int) -> None:
    if len(targets) != count and not (count > 1 and len(targets) == 1):
        raise FrontendError(
            f"T.{op_name} has {count} extent{'s' if count > 1 else ''}, but the loop has "
            f"{len(targets)} variables: {', '.join(targets)}. Write one for each extent",
            code=BAD_ARGUMENT,
        )


def _is_natural(bound: Any) -> bool:
    if is_python_scalar(bound):
        return int(bound) >= 0
    return isinstance(bound, Symbol) or (isinstance(bound, Expr) and bound.is_natural)


def _end(block: Block, terminator: Operation) -> Region:
    terminator.location = current().location()
    block.add_op(terminator)
    return Region(block)


def check_integer(op_name: str, name: str, value: Any) -> Any:
    """`value` as an integer that a loop can run to."""
    if isinstance(value, bool) or (is_python_scalar(value) and not isinstance(value, Integral)):
        raise FrontendError(
            f"T.{op_name}: {name} must be an integer, got {value!r}", code=BAD_ARGUMENT
        )
    return int(value) if is_python_scalar(value) else value


class Serial(LoopForm):
    """A sequential loop from `start` to `stop`."""

    def __init__(
        self,
        start: Any,
        stop: Any = None,
        step: Any = None,
        *,
        op_name: str = "serial",
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        self.op_name = op_name  # pyright: ignore[reportAttributeAccessIssue] # its default is the class's
        start, stop = (0, start) if stop is None else (start, stop)
        self.start = check_integer(op_name, "start", start)
        self.stop = check_integer(op_name, "stop", stop)
        self.step = 1 if step is None else step
        if not is_python_scalar(self.step) or int(self.step) == 0:
            raise FrontendError(
                f"T.{op_name}: the step must be a non-zero integer, got {step!r}", code=BAD_ARGUMENT
            )
        self.step = int(self.step)
        self._attributes = dict(attributes or {})

    @property
    def has_iterations(self) -> bool:
        bounds = (self.start, self.stop)
        return all(map(is_python_scalar, bounds)) and len(range(*bounds, self.step)) > 0

    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        _checked(self.op_name, targets, 1)
        block = _block(1, targets)
        counter = block.args[0]
        if self.step > 0:
            return block, _variable(counter, is_natural=_is_natural(self.start))
        # scf.for counts upwards: iteration t of a loop that counts down is start + t * step.
        with current().at(block):
            iteration = _variable(counter)
            return block, iteration * self.step + index_expr(self.start)

    def close(self, block: Block) -> Operation:
        lower, upper, step = self._bounds()
        op = ForOp(lower, upper, step, [], _end(block, ScfYieldOp()))
        op.attributes.update(self._attributes)
        return op

    def _bounds(self) -> tuple[SSAValue, SSAValue, SSAValue]:
        if self.step > 0:
            bounds = (self.start, self.stop, self.step)
        else:
            distance = self.start - self.stop
            trip_count = (distance + (-self.step - 1)) // -self.step
            bounds = (0, trip_count, 1)
        first, last, step = (index_expr(bound).handle for bound in bounds)
        return first, last, step


class Grid(LoopForm):
    """All points of a box in order: nested serial loops, the last the innermost."""

    op_name = "grid"
    can_exit = False

    def __init__(self, extents: Sequence[Any]) -> None:
        if not extents:
            raise FrontendError("T.grid needs at least one extent", code=BAD_ARGUMENT)
        self._loops = [Serial(extent, op_name="grid") for extent in extents]
        self._outer: list[Block] = []

    @property
    def has_iterations(self) -> bool:
        return all(loop.has_iterations for loop in self._loops)

    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        _checked(self.op_name, targets, len(self._loops))
        names = targets if len(targets) == len(self._loops) else [""] * len(self._loops)
        opened = [loop.enter([name]) for loop, name in zip(self._loops, names, strict=True)]
        *self._outer, inner = [block for block, _ in opened]
        variables = [variable for _, variable in opened]
        return inner, tuple(variables) if len(variables) > 1 else variables[0]

    def close(self, block: Block) -> Operation:
        # Extents do not depend on the loops around: all bounds are before the outermost one.
        for loop, outer in reversed(list(zip(self._loops[1:], self._outer, strict=True))):
            outer.add_op(loop.close(block))
            block = outer
        return self._loops[0].close(block)


class Parallel(LoopForm):
    """All points of a box, in any order."""

    op_name = "Parallel"
    can_exit = False

    def __init__(self, extents: Sequence[Any], options: Mapping[str, Any]) -> None:
        if not extents:
            raise FrontendError("T.Parallel needs at least one extent", code=BAD_ARGUMENT)
        self._extents = [check_integer(self.op_name, "an extent", extent) for extent in extents]
        self._options = dict(options)

    @property
    def has_iterations(self) -> bool:
        return all(is_python_scalar(extent) and extent > 0 for extent in self._extents)

    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        _checked(self.op_name, targets, len(self._extents))
        block = _block(len(self._extents), targets)
        indices = tuple(map(_variable, block.args))
        return block, indices[0] if len(indices) == 1 else indices

    def close(self, block: Block) -> Operation:
        extents = [as_index(extent) for extent in self._extents]
        return ParallelOp(extents, _end(block, YieldOp()), **self._options)


class Pipelined(LoopForm):
    """A serial loop whose iterations may overlap (software pipelining)."""

    op_name = "Pipelined"
    can_exit = False

    def __init__(self, start: Any, stop: Any, options: Mapping[str, Any]) -> None:
        start, stop = (0, start) if stop is None else (start, stop)
        self._start = check_integer(self.op_name, "start", start)
        self._stop = check_integer(self.op_name, "stop", stop)
        self._options = dict(options)

    @property
    def has_iterations(self) -> bool:
        bounds = (self._start, self._stop)
        return all(map(is_python_scalar, bounds)) and len(range(*bounds)) > 0

    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        _checked(self.op_name, targets, 1)
        block = _block(1, targets)
        return block, _variable(block.args[0], is_natural=_is_natural(self._start))

    def close(self, block: Block) -> Operation:
        bounds = as_index(self._start), as_index(self._stop)
        return PipelineOp(*bounds, _end(block, YieldOp()), **self._options)


class Persistent(LoopForm):
    """The tiles that fall to one worker."""

    op_name = "Persistent"
    can_exit = False

    def __init__(self, domain: Sequence[Any], wave_size: Any, index: Any, group_size: int) -> None:
        self._domain = [check_integer(self.op_name, "an extent", extent) for extent in domain]
        self._wave_size, self._index, self._group_size = wave_size, index, group_size

    def enter(self, targets: Sequence[str]) -> tuple[Block, object]:
        _checked(self.op_name, targets, len(self._domain))
        block = _block(len(self._domain), targets)
        indices = tuple(map(_variable, block.args))
        return block, indices[0] if len(indices) == 1 else indices

    def close(self, block: Block) -> Operation:
        return PersistentOp(
            [as_index(extent) for extent in self._domain],
            as_index(self._wave_size),
            index_expr(self._index).handle,
            _end(block, YieldOp()),
            group_size=self._group_size,
        )


def range_loop(values: range) -> Serial:
    return Serial(values.start, values.stop, values.step)


UNIT = UnitAttr()


def mark(name: str) -> dict[str, Attribute]:
    return {name: UNIT}


def integer_attribute(name: str, value: int) -> dict[str, Attribute]:
    return {name: IntegerAttr(value, i64)}


def text_attribute(name: str, value: str) -> dict[str, Attribute]:
    return {name: StringAttr(value)}


def constant_index(value: int) -> SSAValue:
    return emit(arith.ConstantOp(IntegerAttr(value, INDEX)))


def as_sequence(value: Any) -> Sequence[Any]:
    """One value or several, as several."""
    if isinstance(value, (tuple, list)):
        return cast("Sequence[Any]", value)
    return (value,)
