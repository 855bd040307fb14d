"""Properties of types: widths, ranges, element sizes."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerType
from xdsl.ir import Attribute

from tilewright.analysis.affine import Interval
from tilewright.dialects.type_utils import (
    PointerLike,
    bit_width,
    element_type_of,
    shape_of,
)

INDEX_BITS = 64
BITS_PER_BYTE = 8

_RANGES = {width: Interval.of_bits(width) for width in (8, 16, 32, 64)}
_ANY = Interval()


def rank(type: Attribute) -> int:
    return len(shape_of(type))


def is_boolean(type: Attribute) -> bool:
    """Whether values are truth values: ``i1`` or a tensor of them."""
    element = element_type_of(type)
    return isinstance(element, IntegerType) and element.bitwidth == 1


def is_integer(type: Attribute) -> bool:
    """Whether values are integers of more than one bit."""
    element = element_type_of(type)
    return isinstance(element, IndexType) or (
        isinstance(element, IntegerType) and element.bitwidth > 1
    )


def integer_width(type: Attribute) -> int:
    """Bits of an integer element."""
    element = element_type_of(type)
    return element.bitwidth if isinstance(element, IntegerType) else INDEX_BITS


def integer_range(type: Attribute) -> Interval:
    """The signed range of an integer type; everything for other types."""
    if not is_integer(type):
        return _ANY
    width = integer_width(type)
    known = _RANGES.get(width)
    return Interval.of_bits(width) if known is None else known


def element_bytes(type: Attribute) -> int:
    """The size in memory of one element; less than a byte counts one."""
    return max(1, bit_width(element_type_of(type)) // BITS_PER_BYTE)


def pointee_bytes(type: Attribute) -> int:
    """The size of what a pointer, or one of a tensor of pointers, points to."""
    pointer = element_type_of(type)
    assert isinstance(pointer, PointerLike)
    return element_bytes(pointer.get_pointee())
