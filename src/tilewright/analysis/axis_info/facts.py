"""The three numbers per dimension, and how facts about one value combine.

A fact is never wrong, so of two facts about the same value the stronger one is taken per number
(``better_of``), and of facts about values that are joined what both imply (``join``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from xdsl.ir import Attribute, Operation

from tilewright.dialects.type_utils import PointerLike, bit_width, element_type_of, shape_of

MAX_DIVISOR = 1 << 62
"""What divides zero, and the limit of every divisibility."""

BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class AxisInfo:
    """Contiguity, divisibility and constancy along each dimension of a value."""

    contiguity: tuple[int, ...]
    divisibility: tuple[int, ...]
    constancy: tuple[int, ...]
    constant: int | None = None
    """The value of every element, where that is known."""
    assumes: frozenset[Operation] = frozenset()
    """Divisions whose dividend is taken to be non-negative."""

    @property
    def rank(self) -> int:
        return len(self.contiguity)

    @property
    def everywhere(self) -> int:
        """A power of two that divides every element."""
        return max(
            (d for c, d in zip(self.contiguity, self.divisibility, strict=True) if c == 1),
            default=1,
        )

    def divisor_at(self, dim: int, group: int, unit: int = 1) -> int:
        """What divides the elements at multiples of `group`; lanes rise by `unit`.

        Such an element is the first of a contiguous group, or is at a multiple of the gcd of the
        two lengths inside one.
        """
        length, divisor = self.contiguity[dim], self.divisibility[dim]
        if group % length == 0:
            return divisor
        return max(self.everywhere, gcd(divisor, unit * gcd(group, length)))

    def __str__(self) -> str:
        constant = "<none>" if self.constant is None else self.constant
        return (
            f"contiguity = {list(self.contiguity)}, divisibility = {list(self.divisibility)}, "
            f"constancy = {list(self.constancy)}, constant_value = {constant}"
        )


UNKNOWN = AxisInfo((), (), ())
"""Nothing is known; stands for any rank until ``expanded``."""
UNREACHED = AxisInfo((0,), (0,), (0,))
"""No value gets here."""


def largest_power_of_two(value: int) -> int:
    """The largest power of two that divides `value`, within limits."""
    return min(value & -value, MAX_DIVISOR) if value else MAX_DIVISOR


def multiplied_divisors(left: int, right: int) -> int:
    return min(left * right, MAX_DIVISOR)


def dimensions(type: Attribute) -> tuple[int, ...]:
    """The extents along which a value is described: a scalar has one lane."""
    pointee = type.get_pointee() if isinstance(type, PointerLike) else type
    return shape_of(pointee) or (1,)


def pessimistic(rank: int) -> AxisInfo:
    ones = (1,) * rank
    return AxisInfo(ones, ones, ones)


def expanded(info: AxisInfo, type: Attribute) -> AxisInfo:
    """`info`, with a rank if nothing is known."""
    return pessimistic(len(dimensions(type))) if info is UNKNOWN else info


def uniform(extents: Sequence[int], value: int) -> AxisInfo:
    """One constant in every lane."""
    rank = len(extents)
    divisor = largest_power_of_two(value)
    return AxisInfo((1,) * rank, (divisor,) * rank, tuple(extents), value)


def normalised(info: AxisInfo) -> AxisInfo:
    """A divisor of every element counts along every dimension."""
    common = info.everywhere
    if all(divisor >= common for divisor in info.divisibility):
        return info
    raised = tuple(max(divisor, common) for divisor in info.divisibility)
    return AxisInfo(info.contiguity, raised, info.constancy, info.constant, info.assumes)


def pointee_bytes(type: Attribute) -> int:
    """By how many bytes a pointer rises from lane to lane; 1 for integers."""
    element = element_type_of(type)
    if not isinstance(element, PointerLike):
        return 1
    pointee = element_type_of(element.get_pointee())
    return max(1, bit_width(pointee) // BITS_PER_BYTE)


def join(left: AxisInfo, right: AxisInfo, unit: int = 1) -> AxisInfo:
    """What holds of both values."""
    if left is UNREACHED or left == right:
        return right
    if right is UNREACHED:
        return left
    if left is UNKNOWN or right is UNKNOWN or left.rank != right.rank:
        return UNKNOWN
    contiguity, divisibility, constancy = list[int](), list[int](), list[int]()
    for dim in range(left.rank):
        length = gcd(left.contiguity[dim], right.contiguity[dim])
        contiguity.append(length)
        divisibility.append(
            gcd(left.divisor_at(dim, length, unit), right.divisor_at(dim, length, unit))
        )
        constancy.append(gcd(left.constancy[dim], right.constancy[dim]))
    constant = left.constant if left.constant == right.constant else None
    return normalised(
        AxisInfo(
            tuple(contiguity),
            tuple(divisibility),
            tuple(constancy),
            constant,
            left.assumes | right.assumes,
        )
    )


def better_of(left: AxisInfo, right: AxisInfo) -> AxisInfo:
    """Two facts about one value: per number the stronger.

    A divisor of the first elements of short groups also divides those of longer groups, so the
    stronger divisibility goes with the longer contiguity.
    """
    if left is UNKNOWN or right is UNREACHED:
        return right
    if right is UNKNOWN or left is UNREACHED or left.rank != right.rank:
        return left
    for strong, weak in ((left, right), (right, left)):
        if _is_as_strong(strong, weak) and (len(strong.assumes) == 0 or weak.assumes):
            return strong
    if _is_as_strong(left, right) or _is_as_strong(right, left):
        return left if _is_as_strong(left, right) else right
    return normalised(
        AxisInfo(
            tuple(map(max, left.contiguity, right.contiguity)),
            tuple(map(max, left.divisibility, right.divisibility)),
            tuple(map(max, left.constancy, right.constancy)),
            right.constant if left.constant is None else left.constant,
            left.assumes | right.assumes,
        )
    )


def _is_as_strong(left: AxisInfo, right: AxisInfo) -> bool:
    pairs = (
        (left.contiguity, right.contiguity),
        (left.divisibility, right.divisibility),
        (left.constancy, right.constancy),
    )
    has_constant = left.constant is not None or right.constant is None
    return has_constant and all(a >= b for x, y in pairs for a, b in zip(x, y, strict=True))
