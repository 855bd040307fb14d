"""What arithmetic does to contiguity, divisibility and constancy: one rule per op.

A rule gets the op and the facts about its operands, with ranks filled in, and returns the facts
about its result. Signs matter in two cases: a run of lanes that crosses a multiple of a divisor
breaks, and aligned runs never do, except that truncating division treats the run just below zero
differently. The rules for ``divsi`` and ``remsi`` therefore record what they assume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import gcd
from typing import TypeAlias

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation

from tilewright.analysis.axis_info.facts import (
    UNKNOWN,
    AxisInfo,
    dimensions,
    join,
    multiplied_divisors,
    normalised,
    pointee_bytes,
    uniform,
)
from tilewright.dialects.arith import CMPI_PREDICATES
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.elementwise import is_bool
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor
from tilewright.ir.interfaces import constant_value

Infos: TypeAlias = Sequence[AxisInfo]
Rule: TypeAlias = Callable[[Operation, Infos], AxisInfo]
Triple: TypeAlias = tuple[int, int, int]
"""Contiguity, divisibility, constancy along one dimension."""
PerDimension: TypeAlias = Callable[[AxisInfo, AxisInfo, int], Triple]

_MAX_SHIFT = 62


def combined(
    op: Operation, rule: PerDimension, left: AxisInfo, right: AxisInfo, *, assumes: bool = False
) -> AxisInfo:
    """The result of a binary op, dimension by dimension."""
    triples = [rule(left, right, dim) for dim in range(left.rank)]
    basis = left.assumes | right.assumes
    return normalised(
        AxisInfo(
            tuple(n[0] for n in triples),
            tuple(n[1] for n in triples),
            tuple(n[2] for n in triples),
            None,
            basis | {op} if assumes else basis,
        )
    )


def _both_constant(left: AxisInfo, right: AxisInfo, dim: int) -> int:
    return gcd(left.constancy[dim], right.constancy[dim])


def _folded(op: Operation, value: int) -> AxisInfo:
    return uniform(dimensions(op.results[0].type), value)


# Constants and sums.


def _constant(op: Operation, _: Infos) -> AxisInfo:
    values = integers_in(constant_value(op.results[0]))
    if not values or any(value != values[0] for value in values):
        return UNKNOWN
    return _folded(op, values[0])


def _add(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    unit = pointee_bytes(op.results[0].type) if op.name == "tt.addptr" else 1
    if left.constant is not None and right.constant is not None:
        return _folded(op, left.constant + unit * right.constant)

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        length = max(
            gcd(left.constancy[dim], right.contiguity[dim]),
            gcd(left.contiguity[dim], right.constancy[dim]),
        )
        divisor = gcd(
            left.divisor_at(dim, length, unit),
            multiplied_divisors(right.divisor_at(dim, length), unit),
        )
        rising = gcd(left.contiguity[dim], right.contiguity[dim])
        if rising > 1 and unit == 1:
            # Both rise by one, so the sum of two even bases stays even.
            bases = gcd(left.divisibility[dim], right.divisibility[dim])
            divisor = max(divisor, gcd(2, rising, bases))
        return length, divisor, _both_constant(left, right, dim)

    return combined(op, rule, left, right)


def _subtract(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    if left.constant is not None and right.constant is not None:
        return _folded(op, left.constant - right.constant)
    return combined(op, _difference, left, right)


def _difference(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
    length = gcd(left.contiguity[dim], right.constancy[dim])
    divisor = gcd(left.divisor_at(dim, length), right.divisor_at(dim, length))
    constancy = _both_constant(left, right, dim)
    rising = gcd(left.contiguity[dim], right.contiguity[dim])
    if rising > 1:  # both rise by one: the difference of the bases stays
        constancy = max(constancy, rising)
        bases = gcd(left.divisibility[dim], right.divisibility[dim])
        same = left.contiguity[dim] == right.contiguity[dim]
        divisor = max(divisor, bases if same else gcd(bases, rising))
    return length, divisor, constancy


def _multiply(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    if left.constant is not None and right.constant is not None:
        return _folded(op, left.constant * right.constant)
    if 0 in (left.constant, right.constant):
        return _folded(op, 0)
    if left.constant == 1:
        return right
    if right.constant == 1:
        return left

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        divisor = multiplied_divisors(left.divisor_at(dim, 1), right.divisor_at(dim, 1))
        return 1, divisor, _both_constant(left, right, dim)

    return combined(op, rule, left, right)


# Division. A run of `group` lanes, aligned like the divisor, stays within one quotient.


def _aligned_run(left: AxisInfo, right: AxisInfo, dim: int) -> int:
    return gcd(
        left.contiguity[dim], left.divisibility[dim], right.divisor_at(dim, 1), right.constancy[dim]
    )


def _takes_sign_for_granted(op: Operation, infos: Infos) -> bool:
    left, right = infos
    return op.name in _TRUNCATING and any(
        _aligned_run(left, right, dim) > 1 for dim in range(left.rank)
    )


_TRUNCATING = frozenset(("arith.divsi", "arith.remsi"))


def _divide(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    by = right.constant
    if left.constant is not None and by:
        if op.name == "arith.divsi":
            return _folded(op, _truncated(left.constant, by))
        if min(left.constant, by) >= 0:
            return _folded(op, left.constant // by)
    if left.constant == 0 or by == 1:
        return left
    is_power = by is not None and by != 0 and abs(by) & (abs(by) - 1) == 0

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        everywhere = left.divisor_at(dim, 1)
        divisor = max(1, everywhere // abs(by)) if by is not None and is_power else 1
        constancy = max(_both_constant(left, right, dim), _aligned_run(left, right, dim))
        return 1, divisor, constancy

    return combined(op, rule, left, right, assumes=_takes_sign_for_granted(op, infos))


def _truncated(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def _remainder(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    if right.constant == 1:
        return _folded(op, 0)
    if left.constant is not None and right.constant:
        if op.name == "arith.remsi":
            quotient = _truncated(left.constant, right.constant)
            return _folded(op, left.constant - right.constant * quotient)
        if min(left.constant, right.constant) >= 0:
            return _folded(op, left.constant % right.constant)

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        length = _aligned_run(left, right, dim)
        divisor = gcd(left.divisor_at(dim, length), right.divisor_at(dim, 1))
        return length, divisor, _both_constant(left, right, dim)

    return combined(op, rule, left, right, assumes=_takes_sign_for_granted(op, infos))


# Bits.


def _shift_left(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    amount = right.constant
    if amount == 0:
        return left
    if amount is not None and left.constant is not None and 0 <= amount <= _MAX_SHIFT:
        return _folded(op, left.constant << amount)
    factor = 1 << amount if amount is not None and 0 <= amount <= _MAX_SHIFT else 1

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        divisor = multiplied_divisors(left.divisor_at(dim, 1), factor)
        return 1, divisor, _both_constant(left, right, dim)

    return combined(op, rule, left, right)


def _shift_right(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    amount = right.constant
    if amount == 0:
        return left
    known = amount is not None and 0 <= amount <= _MAX_SHIFT
    if known and left.constant is not None and (left.constant >= 0 or op.name == "arith.shrsi"):
        return _folded(op, left.constant >> (amount or 0))
    factor = 1 << (amount or 0) if known else 1

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        divisor = max(1, left.divisor_at(dim, 1) // factor) if known else 1
        run = gcd(left.contiguity[dim], left.divisibility[dim], factor, right.constancy[dim])
        return 1, divisor, max(_both_constant(left, right, dim), run)

    return combined(op, rule, left, right)


_BITWISE: Mapping[str, Callable[[int, int], int]] = {
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
}


def _bitwise(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    if left.constant is not None and right.constant is not None:
        return _folded(op, _BITWISE[op.name](left.constant, right.constant))
    return combined(op, _and_bits if op.name == "arith.andi" else _or_bits, left, right)


def _untouched_run(varying: AxisInfo, mask: AxisInfo, dim: int) -> int:
    """How long an aligned run is whose low bits are zero in the other operand."""
    return gcd(
        varying.contiguity[dim],
        varying.divisibility[dim],
        mask.constancy[dim],
        mask.divisor_at(dim, 1),
    )


def _or_bits(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
    length = max(_untouched_run(left, right, dim), _untouched_run(right, left, dim))
    divisor = gcd(left.divisor_at(dim, length), right.divisor_at(dim, length))
    return length, divisor, _both_constant(left, right, dim)


def _and_bits(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
    length = max(_masked_run(left, right, dim), _masked_run(right, left, dim))
    divisor = max(left.divisor_at(dim, length), right.divisor_at(dim, length))
    cleared = max(_untouched_run(left, right, dim), _untouched_run(right, left, dim))
    return length, divisor, max(_both_constant(left, right, dim), cleared)


def _masked_run(varying: AxisInfo, mask: AxisInfo, dim: int) -> int:
    """A mask of low ones takes a remainder."""
    ones = mask.constant
    if ones is None or ones < 0 or ones & (ones + 1):
        return 1
    return gcd(varying.contiguity[dim], varying.divisibility[dim], ones + 1)


# Choices and comparisons.

_EXTREMES: Mapping[str, Callable[[int, int], int]] = {
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.maxui": max,
    "arith.minui": min,
}


def _extreme(op: Operation, infos: Infos) -> AxisInfo:
    """Where both operands rise by one or stay, one of them is taken throughout a group."""
    left, right = infos
    first, second = left.constant, right.constant
    if first is None or second is None or (op.name.endswith("ui") and min(first, second) < 0):
        return join(left, right)
    return _folded(op, _EXTREMES[op.name](first, second))


def _select(op: Operation, infos: Infos) -> AxisInfo:
    condition, yes, no = infos
    unit = pointee_bytes(op.results[0].type)
    if condition.constant is not None:
        return yes if condition.constant else no
    either = join(yes, no, unit)
    if either.constant is not None or not is_tensor(op.operands[0].type):
        return either

    def rule(either: AxisInfo, condition: AxisInfo, dim: int) -> Triple:
        length = gcd(either.contiguity[dim], condition.constancy[dim])
        divisor = gcd(yes.divisor_at(dim, length, unit), no.divisor_at(dim, length, unit))
        return length, divisor, _both_constant(either, condition, dim)

    return combined(op, rule, either, condition)


_PREDICATES = {code: name for name, code in CMPI_PREDICATES.items()}
_BREAKS_LEFT = frozenset(("slt", "ult", "sge", "uge"))
"""True to false at a multiple of the bound, if the left side rises."""
_BREAKS_RIGHT = frozenset(("sgt", "ugt", "sle", "ule"))
_OUTCOMES: Mapping[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
}


def predicate_of(op: Operation) -> str:
    """The name of an integer comparison's predicate."""
    attribute = op.properties["predicate"]
    assert isinstance(attribute, IntegerAttr)
    return _PREDICATES[attribute.value.data]


def _compare(op: Operation, infos: Infos) -> AxisInfo:
    left, right = infos
    predicate = predicate_of(op)
    outcome = _OUTCOMES.get(predicate)
    if outcome is not None and left.constant is not None and right.constant is not None:
        return _folded(op, int(outcome(left.constant, right.constant)))

    def rule(left: AxisInfo, right: AxisInfo, dim: int) -> Triple:
        constancy = _both_constant(left, right, dim)
        if predicate in _BREAKS_LEFT:
            constancy = max(constancy, _aligned_run(left, right, dim))
        elif predicate in _BREAKS_RIGHT:
            constancy = max(constancy, _aligned_run(right, left, dim))
        return 1, 1, constancy

    return combined(op, rule, left, right)


# Memory, casts, and everything else that works lane by lane.


def _load(op: Operation, infos: Infos) -> AxisInfo:
    """Equal addresses under equal masks give equal values; masked-off lanes take `other`."""
    ones = (1,) * infos[0].rank
    return AxisInfo(ones, ones, _common_constancy(infos), None, _basis(infos))


def lane_by_lane(_: Operation, infos: Infos) -> AxisInfo:
    """Equal operands give equal results; nothing else is known."""
    ones = (1,) * infos[0].rank
    return AxisInfo(ones, ones, _common_constancy(infos), None, _basis(infos))


def _common_constancy(infos: Infos) -> tuple[int, ...]:
    return tuple(gcd(*(info.constancy[dim] for info in infos)) for dim in range(infos[0].rank))


def _basis(infos: Infos) -> frozenset[Operation]:
    return frozenset[Operation]().union(*(info.assumes for info in infos))


def _same(_: Operation, infos: Infos) -> AxisInfo:
    return infos[0]


def _extend_sign(op: Operation, infos: Infos) -> AxisInfo:
    """A one-bit integer changes its value when its sign is extended."""
    [info] = infos
    return _folded(op, -1) if info.constant and _is_bool_like(op) else info


def _is_bool_like(op: Operation) -> bool:
    return is_bool(element_type_of(op.operands[0].type))


def _extend_zero(op: Operation, infos: Infos) -> AxisInfo:
    """A run that crosses zero breaks: its lower part becomes large."""
    [info] = infos
    if info.constant is not None:
        return _folded(op, info.constant) if info.constant >= 0 else lane_by_lane(op, infos)
    return combined(op, _within_alignment, info, info)


def _within_alignment(info: AxisInfo, _: AxisInfo, dim: int) -> Triple:
    length = gcd(info.contiguity[dim], info.divisibility[dim])
    return length, info.divisor_at(dim, length), info.constancy[dim]


def _narrow(op: Operation, infos: Infos) -> AxisInfo:
    """The lowest bits; a constant may change, and a run may be broken by the type's end."""
    [info] = infos
    if info.constant is None:
        return info
    width = bit_width(op.results[0].type)
    low = info.constant & ((1 << width) - 1)
    return _folded(op, low - (1 << width) if low >> (width - 1) and width > 1 else low)


def _bitcast(op: Operation, infos: Infos) -> AxisInfo:
    [info] = infos
    if bit_width(op.operands[0].type) == bit_width(op.results[0].type):
        return info
    return lane_by_lane(op, infos)


def _address_cast(op: Operation, infos: Infos) -> AxisInfo:
    """Pointers rise by elements, integers by one: only bytes are both."""
    [info] = infos
    unit = max(pointee_bytes(op.operands[0].type), pointee_bytes(op.results[0].type))
    if unit == 1:
        return info
    inner = unit if op.name == "tt.ptr_to_int" else 1

    def rule(info: AxisInfo, _: AxisInfo, dim: int) -> Triple:
        return 1, info.divisor_at(dim, 1, inner), info.constancy[dim]

    return combined(op, rule, info, info)


RULES: Mapping[str, Rule] = {
    "arith.constant": _constant,
    "arith.addi": _add,
    "tt.addptr": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.divsi": _divide,
    "arith.divui": _divide,
    "arith.remsi": _remainder,
    "arith.remui": _remainder,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
    "arith.andi": _bitwise,
    "arith.ori": _bitwise,
    "arith.xori": _bitwise,
    "arith.maxsi": _extreme,
    "arith.minsi": _extreme,
    "arith.maxui": _extreme,
    "arith.minui": _extreme,
    "arith.select": _select,
    "arith.cmpi": _compare,
    "arith.extsi": _extend_sign,
    "arith.extui": _extend_zero,
    "arith.trunci": _narrow,
    "arith.index_cast": _same,
    "arith.index_castui": _extend_zero,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "tt.int_to_ptr": _address_cast,
    "tt.ptr_to_int": _address_cast,
    "tt.load": _load,
    "ttg.convert_layout": _same,
    "tlx.require_layout": _same,
    "tlx.release_layout": _same,
    "amdg.assume_uniform": _same,
}
