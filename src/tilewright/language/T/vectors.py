"""Vectors: scalars of one dtype that a thread holds together, as ``T.Ramp`` indexes them.

pair = T.Ramp(tid * 2, 1, 2)              elements 2 * tid and 2 * tid + 1
C[pair] = T.fma2(A[pair], B[pair], D[pair])

A vector is its scalars: what is computed with it is computed for each of them, and back ends join
neighbouring accesses where they can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from numbers import Integral
from typing import Any, Self, cast

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tilewright.frontend.errors import FrontendError
from tilewright.frontend.values import Value
from tilewright.ir.interfaces import constant_value
from tilewright.language.T import arithmetic, scalars
from tilewright.language.T.buffers import Buffer, BufferRegion, Element, Ramp
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.dtypes import dtype as Dtype
from tilewright.language.T.expressions import Expr, as_expr, as_type, convert, describe
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.operators import Operators
from tilewright.language.T.session import trace


class Vector(Operators, Value):
    """Several scalars as one value; elements of a buffer are read where they are used."""

    def __init__(self, lanes: Sequence[Expr]) -> None:
        self.lanes = tuple(lanes)

    @property
    def dtype(self) -> Dtype:
        return Dtype(f"{self.lanes[0].dtype}x{len(self.lanes)}")

    def handles(self) -> Sequence[SSAValue]:
        return [handle for lane in self.lanes for handle in lane.handles()]

    def rebuild(self, handles: Iterator[SSAValue]) -> Self:
        return cast("Self", Vector([lane.rebuild(handles) for lane in self.lanes]))

    def kind(self) -> object:
        return tuple(lane.kind() for lane in self.lanes)

    def binary(self, operator: str, left: Any, right: Any) -> Any:
        def combine(a: Any, b: Any) -> Any:
            return arithmetic.binary(operator, a, b)

        return by_lanes(operator, combine, left, right)

    def unary(self, operator: str) -> Any:
        return Vector([arithmetic.unary(operator, lane) for lane in self.lanes])

    def undecided(self) -> str:
        return f"a vector of type {self.dtype} is no condition: use T.extract_lane"

    def write(self, value: Any) -> None:
        """Write these elements of a buffer, after `value` was read."""
        given = lanes_of("the assignment", value, len(self.lanes))
        elements = [cast("Element", lane) for lane in self.lanes]
        found = [
            Expr(as_type(each, target.dtype), target.dtype)
            for each, target in zip(given, elements, strict=True)
        ]
        for target, each in zip(elements, found, strict=True):
            target.write(each)


def elements_at(buffer: Buffer, parts: Sequence[Any]) -> Vector:
    """``buffer[i, T.Ramp(...)]``."""
    ramp = next(part for part in parts if isinstance(part, Ramp))
    lanes: list[Expr] = []
    for lane in range(ramp.lanes):
        index = [
            _from_the_front(part.at(lane), buffer.shape[axis]) if isinstance(part, Ramp) else part
            for axis, part in enumerate(parts)
        ]
        lanes.append(cast("Element", buffer[tuple(index)]))
    return Vector(lanes)


def _from_the_front(index: Any, size: Any) -> Any:
    """The index of a lane: a negative one counts from the end, lane by lane, when the kernel runs.

    The index of an element alone does so only where its sign is known while tracing.
    """
    if not isinstance(index, Expr) or index.dtype.is_unsigned or index.is_natural:
        return index
    linear, naturals = index.linear, trace().naturals
    signs = {factor > 0 for atom, factor in linear.terms if atom in naturals}
    if len(signs) == 1 and all(atom in naturals for atom, _ in linear.terms):
        is_positive = True in signs
        if (linear.constant >= 0) if is_positive else (linear.constant < 0):
            return index
    return scalars.if_then_else(index < 0, index + size, index)


def vector_of(op_name: str, value: Any, count: int | None = None) -> Vector:
    """A vector, or the elements of a part of a buffer; `count` of them from an element on."""
    if isinstance(value, Vector):
        return value
    if isinstance(value, Element) and count is not None:
        value = BufferRegion(value.buffer, value.indices, [*[1] * (value.buffer.ndim - 1), count])
    if isinstance(value, BufferRegion):
        long = [axis for axis, size in enumerate(value.extents) if size != 1]
        axis = long[0] if long else len(value.extents) - 1
        size = value.extents[axis]
        if len(long) < 2 and isinstance(size, int):
            indices = list(value.offsets)
            indices[axis] = Ramp(indices[axis], 1, size)
            return elements_at(value.buffer, indices)
    raise FrontendError(
        f"T.{op_name} takes a vector, a T.Ramp of a buffer or a constant slice, got "
        f"{describe(value)}",
        code=BAD_ARGUMENT,
    )


def lanes_of(op_name: str, value: Any, count: int) -> list[Any]:
    """The scalars of a vector; a scalar is the same in all lanes."""
    if not isinstance(value, (Vector, BufferRegion)):
        return [value] * count
    found = vector_of(op_name, value)
    if len(found.lanes) != count:
        raise FrontendError(
            f"{op_name}: the vectors have {count} and {len(found.lanes)} lanes", code=BAD_ARGUMENT
        )
    return list(found.lanes)


def by_lanes(op_name: str, function: Callable[..., Any], *values: Any) -> Vector:
    """`function` of the scalars of each lane."""
    first = next(value for value in values if isinstance(value, (Vector, BufferRegion)))
    count = len(vector_of(op_name, first).lanes)
    columns = [lanes_of(op_name, value, count) for value in values]
    return Vector([as_expr(function(*row)) for row in zip(*columns, strict=True)])


def make_vector(dtype: Dtype, values: Sequence[Any]) -> Vector:
    """``T.float16x2(a, b)``; one value for all lanes."""
    element = DTYPES[str.__str__(dtype).rpartition("x")[0]]
    given = list(values) * dtype.lanes if len(values) == 1 else list(values)
    if len(given) != dtype.lanes:
        raise FrontendError(
            f"{dtype} has {dtype.lanes} lanes, got {len(given)} values", code=BAD_ARGUMENT
        )
    return Vector([convert(value, element) for value in given])


def Broadcast(value: Any, lanes: int) -> Vector:
    """A vector with one value in all lanes."""
    if not isinstance(lanes, Integral) or int(lanes) < 1:
        raise ValueError(f"T.Broadcast: lanes is a positive integer, got {describe(lanes)}")
    found = as_expr(value)
    scalar = found.value() if isinstance(found, Element) else found
    return Vector([scalar] * int(lanes))


def extract_lane(vector: Any, lane: Any) -> Expr:
    """The scalar in one lane of a vector."""
    if not isinstance(vector, (Vector, BufferRegion, Expr)):
        raise TypeError(f"T.extract_lane expects a PrimExpr, a vector, got {describe(vector)}")
    if not isinstance(vector, (Vector, BufferRegion)):
        raise ValueError(f"T.extract_lane expects a vector expression, got {describe(vector)}")
    found = vector_of("extract_lane", vector)
    index = _constant(lane)
    if index is None:
        raise TypeError(f"T.extract_lane: the lane is a compile-time integer, got {describe(lane)}")
    if not 0 <= index < len(found.lanes):
        raise IndexError(
            f"T.extract_lane: lane {index} is out of bounds, {found.dtype} has lanes 0 to "
            f"{len(found.lanes) - 1}"
        )
    return found.lanes[index]


def _constant(value: Any) -> int | None:
    """An integer that is known while tracing."""
    if isinstance(value, Integral):
        return int(value)
    found = constant_value(value.handle) if isinstance(value, Expr) else None
    return found.value.data if isinstance(found, IntegerAttr) else None


def _pairwise(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def packed(*values: Any) -> Vector:
        given = [value for value in values if isinstance(value, (Vector, BufferRegion))]
        dtypes = dict.fromkeys(str(vector_of(name, each).dtype) for each in given)
        if len(dtypes) > 1:
            raise ValueError(f"T.{name} takes vectors of the same dtype, got {', '.join(dtypes)}")
        return by_lanes(name, function, *values)

    packed.__name__ = packed.__qualname__ = name
    packed.__doc__ = doc
    return packed


def _operator(operator: str) -> Callable[[Any, Any], Any]:
    def function(a: Any, b: Any) -> Any:
        return arithmetic.binary(operator, a, b)

    return function


add2 = _pairwise("add2", _operator("+"), "``a + b`` of pairs.")
sub2 = _pairwise("sub2", _operator("-"), "``a - b`` of pairs.")
mul2 = _pairwise("mul2", _operator("*"), "``a * b`` of pairs.")
max2 = _pairwise("max2", scalars.max, "The larger ones of pairs.")
min2 = _pairwise("min2", scalars.min, "The smaller ones of pairs.")
fma2 = _pairwise("fma2", scalars.fma, "``a * b + c`` of pairs, rounded once.")
abs2 = _pairwise("abs2", scalars.abs, "The magnitudes of a pair.")
