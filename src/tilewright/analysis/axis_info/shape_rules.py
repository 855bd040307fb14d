"""What moving elements about does to contiguity, divisibility and constancy.

Reshaping goes by flat strides. A result dimension of stride s starts inside one source dimension:
where both start at the same stride it takes over the start of that dimension's runs, elsewhere it
cuts through them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.analysis.axis_info.facts import (
    UNKNOWN,
    AxisInfo,
    dimensions,
    join,
    largest_power_of_two,
    normalised,
    pointee_bytes,
    uniform,
)
from tilewright.analysis.axis_info.rules import Infos, Rule
from tilewright.dialects.tt import ExpandDimsOp, ReshapeOp, TransOp
from tilewright.dialects.type_utils import is_tensor, shape_of


def _make_range(op: Operation, _: Infos) -> AxisInfo:
    start, end = op.properties["start"], op.properties["end"]
    assert isinstance(start, IntegerAttr) and isinstance(end, IntegerAttr)
    first, extent = start.value.data, end.value.data - start.value.data
    if extent == 1:
        return uniform((1,), first)
    return AxisInfo((extent,), (largest_power_of_two(first),), (1,))


def _splat(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    extents = dimensions(op.results[0].type)
    ones = (1,) * len(extents)
    divisors = (info.divisibility[0],) * len(extents)
    return AxisInfo(ones, divisors, extents, info.constant, info.assumes)


def _element_divisor(info: AxisInfo, unit: int) -> int:
    """A power of two that divides every element; lanes rise by `unit`."""
    return max(info.divisor_at(dim, 1, unit) for dim in range(info.rank))


def _expand_dims(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    assert isinstance(op, ExpandDimsOp)
    axis = op.axis.value.data
    divisor = _element_divisor(info, pointee_bytes(op.results[0].type))
    return normalised(
        AxisInfo(
            _with(info.contiguity, axis, 1),
            _with(info.divisibility, axis, divisor),
            _with(info.constancy, axis, 1),
            info.constant,
            info.assumes,
        )
    )


def _with(values: Sequence[int], axis: int, value: int) -> tuple[int, ...]:
    return (*values[:axis], value, *values[axis:])


def _broadcast(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    before, after = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    repeated = [old == 1 for old in before]
    return AxisInfo(
        tuple(1 if r else c for r, c in zip(repeated, info.contiguity, strict=True)),
        info.divisibility,
        tuple(
            extent if r else k for r, extent, k in zip(repeated, after, info.constancy, strict=True)
        ),
        info.constant,
        info.assumes,
    )


def _trans(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    assert isinstance(op, TransOp)
    order = op.order.get_values()
    return AxisInfo(
        tuple(info.contiguity[dim] for dim in order),
        tuple(info.divisibility[dim] for dim in order),
        tuple(info.constancy[dim] for dim in order),
        info.constant,
        info.assumes,
    )


# Reshaping.


def _flat_strides(shape: Sequence[int]) -> list[int]:
    """The flat stride of each dimension, and the total number of elements."""
    strides = [1]
    for extent in reversed(shape):
        strides.append(strides[-1] * extent)
    return strides[::-1]


def _reshape(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    assert isinstance(op, ReshapeOp)
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    unit = pointee_bytes(op.results[0].type)
    everywhere = _element_divisor(info, unit)
    if info.constant is not None:
        return uniform(target, info.constant)
    if op.allow_reorder is not None:
        ones = (1,) * len(target)
        return AxisInfo(ones, (everywhere,) * len(target), ones, None, info.assumes)
    outer, inner = _flat_strides(source), _flat_strides(target)
    rows = [
        _reshaped(info, source, outer, extent, inner[dim + 1], everywhere, unit)
        for dim, extent in enumerate(target)
    ]
    contiguity, divisibility, constancy = zip(*rows, strict=True)
    return normalised(AxisInfo(contiguity, divisibility, constancy, None, info.assumes))


def _reshaped(
    info: AxisInfo,
    source: Sequence[int],
    strides: Sequence[int],
    extent: int,
    stride: int,
    everywhere: int,
    unit: int,
) -> tuple[int, int, int]:
    """The numbers of a result dimension of `extent` and flat `stride`."""
    dim = _dimension_at(source, strides, stride)
    if dim is None:
        return 1, everywhere, 1
    start = strides[dim + 1]
    length = gcd(info.contiguity[dim], extent)
    if start == stride and length > 1:
        divisor = max(everywhere, info.divisor_at(dim, length, unit))
        return length, divisor, 1
    return 1, everywhere, _merged_constancy(info, source, dim, start, extent, stride)


def _dimension_at(source: Sequence[int], strides: Sequence[int], stride: int) -> int | None:
    """The source dimension that contains a flat stride."""
    for dim in range(len(source)):
        if strides[dim + 1] <= stride < strides[dim]:
            return dim
    return None


def _merged_constancy(
    info: AxisInfo, source: Sequence[int], dim: int, start: int, extent: int, stride: int
) -> int:
    """Equal lanes along a result dimension, which may run through several source dimensions."""
    end = start * info.constancy[dim]
    if stride > end or end % stride:
        return 1
    constancy = gcd(extent, end // stride)
    while info.constancy[dim] == source[dim] and dim > 0 and constancy < extent:
        dim -= 1
        rest = extent // constancy
        common = gcd(source[dim], rest)
        equal = gcd(info.constancy[dim], common)
        constancy *= equal
        if equal < common:
            break
    return constancy


# Two tensors in one, and back.


def _join(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    unit = pointee_bytes(op.results[0].type)
    both = join(left, right, unit)
    if both is UNKNOWN:
        return UNKNOWN
    divisor = _element_divisor(both, unit)
    last = 2 if both.constant is not None else 1
    return normalised(
        AxisInfo(
            (*both.contiguity, 1),
            (*both.divisibility, divisor),
            (*both.constancy, last),
            both.constant,
            both.assumes,
        )
    )


def _split(op: Operation, infos: Infos) -> AxisInfo:
    """A half holds some of the elements, in groups as they were."""
    [info] = infos
    if info.rank == 1:
        return UNKNOWN
    return AxisInfo(
        info.contiguity[:-1],
        info.divisibility[:-1],
        info.constancy[:-1],
        info.constant,
        info.assumes,
    )


def _reduce(op: Operation, infos: Infos) -> AxisInfo:
    """Equal columns have equal sums."""
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    at = axis.value.data
    if infos[0].rank == 1:
        return UNKNOWN
    constancies = [info.constancy[:at] + info.constancy[at + 1 :] for info in infos]
    common = tuple(map(gcd, *constancies)) if len(constancies) > 1 else constancies[0]
    ones = (1,) * len(common)
    basis = frozenset[Operation]().union(*(info.assumes for info in infos))
    return AxisInfo(ones, ones, common, None, basis)


def _stand_in(op: Operation, infos: Infos) -> AxisInfo:
    """The same value as another type, which need not be a tensor: facts are preserved."""
    if len(infos) != 1 or len(op.results) != 1:
        return UNKNOWN
    result = op.results[0].type
    fits = not is_tensor(result) or infos[0].rank == len(dimensions(result))
    return infos[0] if fits else UNKNOWN


SHAPE_RULES: Mapping[str, Rule] = {
    "builtin.unrealized_conversion_cast": _stand_in,
    "tt.make_range": _make_range,
    "tt.splat": _splat,
    "tt.expand_dims": _expand_dims,
    "tt.broadcast": _broadcast,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.reduce": _reduce,
}
