"""Checks that several ops share: what a tensor and a buffer must have in common."""

from __future__ import annotations

from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.interfaces import LayoutEncoding, SharedEncoding
from tilewright.dialects.ttg.types import MemDescType, comma
from tilewright.dialects.type_utils import element_type_of, encoding_of, rank_of, shape_of


def memdesc(type: Attribute) -> MemDescType:
    """`type`, which the definition of the op makes a memory descriptor."""
    assert isinstance(type, MemDescType), "checked by the definition"
    return type


def verify_mutable(type: Attribute) -> None:
    """Raise if the buffer cannot be written."""
    if not memdesc(type).mutable:
        raise VerifyException("Cannot store into immutable memory")


def verify_rank(what: str, tensor: Attribute, buffer: Attribute) -> None:
    """Raise unless the tensor has the rank of the buffer's layout."""
    layout = memdesc(buffer).encoding
    if not isinstance(layout, LayoutEncoding):
        raise VerifyException("expected memdesc to have a shared memory encoding")
    if rank_of(tensor) != layout.rank:
        raise VerifyException(
            f"{what} has rank {rank_of(tensor)} but memdesc encoding has rank {layout.rank}"
        )


def verify_same_contents(source: Attribute, destination: Attribute) -> None:
    """Raise unless both hold the same number of elements of the same type."""
    if element_type_of(source) != element_type_of(destination):
        raise VerifyException(
            f"source element type '{source}' must match destination element type "
            f"'{element_type_of(destination)}'"
        )
    if shape_of(source) != shape_of(destination):
        raise VerifyException(
            f"source shape [{comma(shape_of(source))}] must match "
            f"[destination shape {comma(shape_of(destination))}]"
        )


def verify_shared(what: str, type: Attribute) -> None:
    """Raise unless the buffer has a layout of shared memory."""
    if not isinstance(memdesc(type).encoding, SharedEncoding):
        raise VerifyException(f"{what} must have shared memory encoding")


def verify_axis(axis: int, type: Attribute, what: str) -> None:
    """Raise unless `axis` is a dimension of `type`."""
    if not 0 <= axis < rank_of(type):
        raise VerifyException(f"axis {axis} is out of bounds for {what} rank {rank_of(type)}")


def have_same_layout(one: Attribute, other: Attribute) -> bool:
    return encoding_of(one) == encoding_of(other)
