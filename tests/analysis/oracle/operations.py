"""What plain ops do to values: constants, arithmetic, casts, shapes, pointers, descriptors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from tests.analysis.oracle import arithmetic
from tests.analysis.oracle.recording import Array, Launch, Program, scalar
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.tt import (
    MakeTensorDescOp,
    MakeTensorPtrOp,
    TensorDescType,
    TransOp,
)
from tilewright.dialects.type_utils import PointerLike, element_type_of, shape_of

ADDRESSES = 1 << 61
"""Addresses, and distances between them, stay below this."""


@dataclass(frozen=True)
class DescriptorValue:
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]


@dataclass(frozen=True)
class BlockValue:
    """A block pointer: a descriptor and where the block starts."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offsets: tuple[Array, ...]
    block: tuple[int, ...]


Value: TypeAlias = Array | DescriptorValue | BlockValue


class Host(Protocol):
    """What an op may ask of the machine it runs on."""

    program: Program
    launch: Launch

    def wraps(self, op: Operation) -> None: ...
    def divides_negative(self, op: Operation) -> None: ...


Rule: TypeAlias = Callable[[Host, Operation, Sequence[Value]], Sequence[Value]]


def width_of(type: Attribute) -> int:
    element = element_type_of(type)
    return element.width.data if isinstance(element, IntegerType) else 64


def element_size(type: Attribute) -> int:
    """Bytes of one element in memory, of what a pointer or descriptor leads to."""
    element = element_type_of(type)
    if isinstance(element, PointerLike):
        element = element_type_of(element.get_pointee())
    if isinstance(type, TensorDescType):
        element = element_type_of(type)
    if isinstance(element, PointerLike):
        return 8
    if isinstance(element, IntegerType):
        return max(1, element.width.data // 8)
    digits = "".join(c for c in element.name.split("_")[0] if c.isdigit())
    return max(1, int(digits[:2] if digits[:2] in ("16", "32", "64") else digits[:1]) // 8)


def mixed(op: Operation, result: SSAValue, operands: Sequence[Value]) -> Array:
    """Some function of the operands of an op that is not modelled, lane by lane if it can be."""
    shape = shape_of(result.type)
    total: Array = np.zeros(shape)
    for number, operand in enumerate(operands):
        if not isinstance(operand, np.ndarray):
            continue
        term = operand.astype(float) * (number + 1)
        total = total + (term if term.shape in (shape, ()) else float(term.sum()))
    total = np.mod(total * 3.0 + len(op.name), 1021.0)
    element = element_type_of(result.type)
    if isinstance(element, PointerLike):
        return np.asarray((1 << 45) + total.astype(np.int64) * 4)
    if isinstance(element, IntegerType):
        whole = total.astype(np.int64)
        return whole % 2 == 1 if element.width.data == 1 else whole % 64
    return total


# Constants and the grid.


def _constant(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    result = op.results[0]
    numbers = integers_in(op.properties["value"])
    if numbers is None:
        return [np.broadcast_to(np.asarray(0.5), shape_of(result.type))]
    kind = bool if width_of(result.type) == 1 else np.int64
    shape = shape_of(result.type)
    if all(number == numbers[0] for number in numbers):
        return [np.broadcast_to(np.asarray(numbers[0], dtype=kind), shape)]
    return [np.asarray(numbers, dtype=kind).reshape(shape)]


def _number(op: Operation, name: str) -> int:
    found = op.properties[name]
    assert isinstance(found, IntegerAttr)
    return found.value.data


def _program_id(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.asarray(host.program[_number(op, "axis")], dtype=np.int64)]


def _num_programs(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.asarray(host.launch.grid[_number(op, "axis")], dtype=np.int64)]


def _make_range(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.arange(_number(op, "start"), _number(op, "end"), dtype=np.int64)]


# Arithmetic.


def _arrays(operands: Sequence[Value]) -> list[Array]:
    return [np.asarray(one) for one in operands]


def _binary(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    a, b = _arrays(operands)
    width = width_of(op.results[0].type)
    if width == 1:
        return [arithmetic.truth(op.name, a, b)]
    result, fits = arithmetic.binary(op.name, a, b, width)
    if not fits:
        if "overflowFlags" in op.properties and "nsw" in str(op.properties["overflowFlags"]):
            raise arithmetic.UndefinedBehaviour("a promise about overflow that does not hold")
        host.wraps(op)
    if op.name in ("arith.divsi", "arith.remsi") and np.any(a < 0):
        host.divides_negative(op)
    return [result]


_PREDICATES = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def _compare(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    a, b = _arrays(operands)
    width = width_of(op.operands[0].type)
    if width == 1:
        a, b = -a.astype(np.int64), -b.astype(np.int64)
    return [arithmetic.compared(_PREDICATES[_number(op, "predicate")], a, b, width)]


def _select(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    condition, yes, no = operands
    if not isinstance(yes, np.ndarray):
        return [yes if bool(np.asarray(condition)) else no]
    shape = shape_of(op.results[0].type)
    return [np.broadcast_to(np.where(np.asarray(condition), yes, np.asarray(no)), shape)]


# Casts.


def _extend_sign(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    [a] = _arrays(operands)
    return [-a.astype(np.int64) if a.dtype == bool else a]


def _extend_zero(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    [a] = _arrays(operands)
    if a.dtype == bool:
        return [a.astype(np.int64)]
    if "nonNeg" in op.properties and np.any(a < 0):
        raise arithmetic.UndefinedBehaviour("a promise about a sign that does not hold")
    width = width_of(op.operands[0].type)
    result, _ = arithmetic.wrapped(arithmetic.unsigned(a, width), width_of(op.results[0].type))
    return [result]


def _truncate(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    [a] = _arrays(operands)
    width = width_of(op.results[0].type)
    if width == 1:
        return [a % 2 == 1]
    result, fits = arithmetic.wrapped(a, width)
    if not fits:
        host.wraps(op)
    return [result]


def _index_cast(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    if width_of(op.results[0].type) < width_of(op.operands[0].type):
        return _truncate(host, op, operands)
    return _extend_sign(host, op, operands)


def _same(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [operands[0]]


def _bitcast(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    [a] = _arrays(operands)
    is_number = isinstance(element_type_of(op.results[0].type), IntegerType | PointerLike)
    if is_number == (a.dtype != float):
        return [a]
    return [mixed(op, op.results[0], operands)]


# Shapes.


def _splat(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.broadcast_to(np.asarray(operands[0]), shape_of(op.results[0].type))]


def _expand_dims(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.expand_dims(np.asarray(operands[0]), _number(op, "axis"))]


def _trans(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    assert isinstance(op, TransOp)
    return [np.transpose(np.asarray(operands[0]), list(op.order.get_values()))]


def _reshape(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    source, shape = np.asarray(operands[0]), shape_of(op.results[0].type)
    if "allow_reorder" in op.properties:  # any order will do: the opposite one
        return [source.reshape(-1)[::-1].reshape(shape)]
    return [source.reshape(shape)]


def _join(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return [np.stack(_arrays(operands), axis=-1)]


def _split(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    [a] = _arrays(operands)
    return [a[..., 0], a[..., 1]]


def _cat(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    """The op may reorder; this order is not the obvious one."""
    a, b = _arrays(operands)
    return [np.concatenate([b[::-1], a], axis=0)]


def _gather(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    source, indices = _arrays(operands)
    axis = _number(op, "axis")
    if np.any(indices < 0) or np.any(indices >= source.shape[axis]):
        raise arithmetic.UndefinedBehaviour("a gather from outside")
    return [np.take_along_axis(source, indices, axis)]


def _dot(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    a, b = _arrays(operands)[:2]
    rows, columns = a.sum(axis=-1, keepdims=True), b.sum(axis=-2, keepdims=True)
    total = np.mod((rows * 3 + columns).astype(float), 1021.0)
    return [total.astype(np.int64) if width_is_integer(op) else total]


def width_is_integer(op: Operation) -> bool:
    return isinstance(element_type_of(op.results[0].type), IntegerType)


# Pointers.


def _add_pointer(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    pointer, by = _arrays(operands)
    size = element_size(op.results[0].type)
    if arithmetic.magnitude(by) * size >= ADDRESSES or arithmetic.magnitude(pointer) >= ADDRESSES:
        raise arithmetic.UndefinedBehaviour("an address beyond all memory")
    return [pointer + by * size]


def _make_descriptor(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    assert isinstance(op, MakeTensorDescOp)
    type = op.results[0].type
    assert isinstance(type, TensorDescType)
    rank = len(type.shape)
    numbers = [scalar(one) for one in _arrays(operands)]
    shape, strides = numbers[1 : 1 + rank], numbers[1 + rank : 1 + 2 * rank]
    return [DescriptorValue(numbers[0], tuple(shape), tuple(strides), type.shape)]


def _make_block_pointer(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    assert isinstance(op, MakeTensorPtrOp)
    arrays = _arrays(operands)
    block = tuple(op.block_type.get_shape())
    rank = len(block)
    shape, strides = (
        tuple(scalar(one) for one in arrays[1 + k * rank : 1 + (k + 1) * rank]) for k in range(2)
    )
    return [BlockValue(scalar(arrays[0]), shape, strides, tuple(arrays[1 + 2 * rank :]), block)]


def _advance(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    pointer, *steps = operands
    assert isinstance(pointer, BlockValue)
    moved = tuple(a + np.asarray(b) for a, b in zip(pointer.offsets, steps, strict=True))
    return [replace(pointer, offsets=moved)]


def _nothing(host: Host, op: Operation, operands: Sequence[Value]) -> Sequence[Value]:
    return []


RULES: Mapping[str, Rule] = {
    **dict.fromkeys((*arithmetic.SIGNED, *arithmetic.UNSIGNED, *arithmetic.SHIFTS), _binary),
    "arith.constant": _constant,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.extsi": _extend_sign,
    "arith.extui": _extend_zero,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _extend_zero,
    "arith.trunci": _truncate,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _num_programs,
    "tt.make_range": _make_range,
    "tt.splat": _splat,
    "tt.broadcast": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
    "tt.dot": _dot,
    "tt.addptr": _add_pointer,
    "tt.ptr_to_int": _same,
    "tt.int_to_ptr": _same,
    "tt.make_tensor_descriptor": _make_descriptor,
    "tt.make_tensor_ptr": _make_block_pointer,
    "tt.advance": _advance,
    "tt.assert": _nothing,
    "tt.print": _nothing,
    "gpu.barrier": _nothing,
    "ttg.barrier": _nothing,
}
