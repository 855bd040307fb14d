"""``if`` and ``x if c else y`` of `T`: scalars are merged, anything else must be the same.

What two branches leave different has no value after them; the reason is reported where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from xdsl.ir import Block, Region, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.frontend.builder import current
from tilewright.frontend.choice import Choice
from tilewright.frontend.control_flow.branches import KnownIf, RegionIf
from tilewright.frontend.errors import MISMATCH, FrontendError
from tilewright.frontend.merging import State, end_block, is_defined
from tilewright.frontend.values import Undefined, handles, kind
from tilewright.language.T.arithmetic import common_dtype
from tilewright.language.T.buffers import Buffer, Element
from tilewright.language.T.expressions import Expr, as_type, describe, emit, is_python_scalar
from tilewright.language.T.lazy import is_pure
from tilewright.language.T.session import trace
from tilewright.language.T.symbols import Symbolic

if TYPE_CHECKING:
    from tilewright.language.T.control import TileControl


def is_scalar(value: object) -> bool:
    return isinstance(value, (Expr, Symbolic)) or is_python_scalar(value)


class TileKnownIf(KnownIf):
    """An ``if`` whose condition is known now; its side may hold a ``break`` or ``continue``."""

    __slots__ = ("_control",)

    def __init__(self, control: TileControl, state: State, side: bool) -> None:
        super().__init__(state, side)
        self._control = control

    def __iter__(self) -> Iterator[bool]:
        with self._control.guarding_exits():
            yield self._side


class TileIf(RegionIf):
    """An ``if`` of a kernel. Variables that differ after it have no value, with the reason."""

    _control: TileControl

    def __iter__(self) -> Iterator[bool]:
        with self._control.guarding_exits():
            yield from super().__iter__()
            _drop_empty_else(current().block)

    def _execute(self, then: Block, otherwise: Block) -> Iterator[bool]:
        control = self._control
        sides = super()._execute(then, otherwise)
        writes = trace().writes
        while True:
            with control.scope():
                side = next(sides, None)
                if side is None:
                    break
                yield side
            trace().writes += 1
        trace().writes += int(trace().writes != writes)

    def _join(self) -> tuple[dict[str, Any], list[str]]:
        then, otherwise = (end.state for end in self._ends)
        before = dict(zip(self._names, self._before, strict=True))
        joined: dict[str, Any] = {}
        results: list[str] = []
        for name in self._names:
            first, second = then[name], otherwise[name]
            if first is second:
                joined[name] = first
            elif not (is_defined(first) and is_defined(second)):
                joined[name] = self._one_sided(name, first, second)
            else:
                joined[name] = self._merged(name, before[name], results)
        return joined, results

    def _merged(self, name: str, before: object, results: list[str]) -> object:
        """What a variable holds after the ``if`` that has a value on both sides."""
        first, second = (end.state[name] for end in self._ends)
        if is_scalar(first) and is_scalar(second):
            if all(map(is_python_scalar, (first, second))) and _is_same_constant(first, second):
                return first
            self._unify(name, first, second)
            results.append(name)
            return self._ends[0].state[name]
        if not handles(first) and not handles(second) and _equal(first, second):
            return first
        line = self._control.current_line()
        return Undefined(
            name,
            f"the branches of the if in line {line} assign different kinds of values to it, "
            f"{_kind_of(first)} and {_kind_of(second)}. Use two names, or T.alloc_var for a scalar",
        )

    def _unify(self, name: str, first: Any, second: Any) -> None:
        """Give both sides a value of one type."""
        if isinstance(first, Expr) and isinstance(second, Expr) and kind(first) == kind(second):
            return
        dtype = common_dtype(first, second)
        for end, value in zip(self._ends, (first, second), strict=True):
            with current().at(end.block):
                end.state[name] = Expr(as_type(value, dtype), dtype)


def _is_same_constant(first: object, second: object) -> bool:
    """Whether two numbers are one: 1 and 1.0 are of different types, 0.0 and -0.0 differ."""
    return type(first) is type(second) and repr(first) == repr(second)


def _drop_empty_else(block: Block) -> None:
    """An ``else`` in which nothing happens is not written."""
    op = block.last_op
    if isinstance(op, IfOp) and not op.results and op.has_else:
        otherwise = op.else_region.block
        if otherwise.first_op is otherwise.last_op:
            op.else_region.erase_block(otherwise)


def _equal(first: object, second: object) -> bool:
    try:
        return type(first) is type(second) and bool(first == second)
    except Exception:  # an __eq__ that fails
        return False


def _kind_of(value: object) -> str:
    if isinstance(value, Expr):
        return f"a {value.dtype}"
    if isinstance(value, Buffer):
        return f"the buffer {value.name}"
    return describe(value)


class TileChoice(Choice):
    """``x if c else y``: a select where nothing in the arms reads memory."""

    __slots__ = ()

    def result(self) -> Any:
        if isinstance(self._condition, bool):
            return self._values[0]
        then, otherwise = self._values
        if not (is_scalar(then) and is_scalar(otherwise)):
            raise FrontendError(
                f"the sides of a conditional expression are {_kind_of(then)} and "
                f"{_kind_of(otherwise)}: both must be scalars. Use an if statement instead",
                code=MISMATCH,
            )
        dtype = common_dtype(then, otherwise)
        arms: list[SSAValue] = []
        for block, value in zip(self._blocks, (then, otherwise), strict=True):
            with current().at(block):
                arms.append(as_type(value, dtype))
        return Expr(self._merged(arms), dtype)

    def _merged(self, arms: list[SSAValue]) -> SSAValue:
        builder = current()
        assert not isinstance(self._condition, bool)
        if all(is_pure(op) for block in self._blocks for op in block.ops):
            for block in self._blocks:
                for op in list(block.ops):
                    op.detach()
                    builder.block.add_op(op)
            return emit(arith.SelectOp(self._condition, *arms))
        location = builder.location()
        for block, arm in zip(self._blocks, arms, strict=True):
            end_block(block, YieldOp([arm]), location)
        return emit(IfOp(self._condition, [arms[0].type], *map(Region, self._blocks)))

    def put(self, value: object) -> None:
        if isinstance(self._condition, bool):
            self._values.append(value)
            return
        self._values.append(value.value() if isinstance(value, Element) else value)
        current().block = self._outer
