"""Tensors that pointers mean: a view made before the kernel, and boxes of it that accesses read.

The offset of an access, in elements, is ``rest + sum(stride[d] * lane[d])``; its mask a conjunction
of bounds of single lanes. What a bound compares a lane with splits into a start, which depends on
the program, and an extent, which the host can compute:

    lane + 32*it - K < 0       start 32*it, extent K

The rest, less ``stride[d] * start[d]``, splits again: what the host can compute is the origin of
the view; ``c * v``, with ``v`` a scalar of the program, is one more dimension of stride ``c``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import TypeIs
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.analysis.affine import Formula, Poly

MEMORY = "memory"
"""The name of memory whose address is an integer: it may be that of any argument."""


def is_address(base: SSAValue) -> bool:
    """Whether a base is an integer of the program, not a pointer argument."""
    return isinstance(base.type, IntegerType)


def is_pointer_argument(base: SSAValue) -> TypeIs[BlockArgument]:
    """Whether a base is memory that a launch passes."""
    return isinstance(base, BlockArgument) and not is_address(base)


def memory_of(base: SSAValue) -> str:
    """The name of the memory of a base."""
    return str(base.index) if is_pointer_argument(base) else MEMORY


def may_be_same(one: str | None, other: str | None) -> bool:
    """Whether two names may be those of the same memory."""
    return one == other or MEMORY in (one, other)


@dataclass(frozen=True)
class View:
    """A tensor in the memory of a pointer; everything is computed from arguments and the grid."""

    base: SSAValue
    """A pointer argument, or the integer that is an address (`is_address`)."""
    element: Attribute
    origin: Poly
    """Where it begins, in elements."""
    extents: tuple[Poly | None, ...]
    """None: as many elements as the memory has from the origin on."""
    strides: tuple[Poly, ...]
    is_local: bool = False
    """Whether the kernel makes it: it depends on values of the program."""
    divisor: int | None = None
    """What divides an address, in bytes, if more than the size of an element does."""
    is_described: bool = False
    """Whether it is that of a descriptor, whose rows begin at multiples of 16 bytes."""

    def __str__(self) -> str:
        sizes = " x ".join("?" if each is None else str(each) for each in self.extents)
        strides = ", ".join(map(str, self.strides))
        name = self.base.name_hint or ("address" if is_address(self.base) else "pointer")
        at = "" if self.origin == 0 else f" + {self.origin}"
        return f"{name}{at}: {sizes}, strides {strides}"


@dataclass(frozen=True)
class Box:
    """The part of a view that an access means."""

    view: int
    """Which view of the plan."""
    starts: tuple[Poly, ...]
    lanes: tuple[int | None, ...]
    """The lane along each dimension of the view; None for one element."""
    parts: tuple[int, ...]
    masked: frozenset[int]
    """The lanes whose extents stand for a mask."""
    guard: Formula | None = None
    """A part of the mask that is the same for all lanes."""

    wraps: bool = False
    """Whether the extents also stand for rows that wrap around."""
    below: frozenset[int] = frozenset()
    """The lanes of which the mask also excludes indices below 0."""

    @property
    def is_masked(self) -> bool:
        """Whether some extent stands for a mask."""
        return bool(self.masked)

    def __str__(self) -> str:
        starts = ", ".join(map(str, self.starts))
        return f"[{starts}] + {list(self.parts)}"

    def order(self, shape: Sequence[int]) -> tuple[int, ...] | None:
        """The lanes in the order of the dimensions, those of one element left out.

        None if some lane has no dimension: then the box has fewer elements than the tensor.
        """
        lanes = tuple(lane for lane in self.lanes if lane is not None)
        expected = [dim for dim, extent in enumerate(shape) if extent != 1]
        return lanes if sorted(lanes) == expected else None
