"""Tensors that pointers mean: a view made before the kernel, and boxes of it that accesses read.

The offset of an access, in elements, is ``rest + sum(stride[d] * lane[d])``; its mask a conjunction
of bounds of single lanes. What a bound compares a lane with splits into a start, which depends on
the program, and an extent, which the host can compute:

    lane + 32*it - K < 0       start 32*it, extent K

The rest, less ``stride[d] * start[d]``, splits again: what the host can compute is the origin of
the view; ``c * v``, with ``v`` a scalar of the program, is one more dimension of stride ``c``.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Attribute, BlockArgument

from tilewright.analysis.affine import Formula, Poly


@dataclass(frozen=True)
class View:
    """A tensor in the memory of a pointer; everything is computed from arguments and the grid."""

    base: BlockArgument
    element: Attribute
    origin: Poly
    """Where it begins, in elements."""
    extents: tuple[Poly, ...]
    strides: tuple[Poly, ...]

    def __str__(self) -> str:
        sizes = " x ".join(map(str, self.extents))
        strides = ", ".join(map(str, self.strides))
        name = self.base.name_hint or "pointer"
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
    is_masked: bool
    """Whether the extents stand for a mask."""
    guard: Formula | None = None
    """A part of the mask that is the same for all lanes."""

    @property
    def is_region(self) -> bool:
        """Whether each lane has a dimension of its own."""
        return True
