"""Layouts in which neighbouring threads access neighbouring addresses, as widely as is proved.

What decides is the address of every element: along which dimension it rises by one, for how long
without a break, and what divides it (``analysis.axis_info``)::

    elements a thread takes = min(run of consecutive elements, alignment, 16 bytes,
                                  elements there are for each thread)

A mask limits it as well: elements that are loaded together must share their mask, so its constant
runs count. The fastest dimension of the layout is the one with the longest run.
"""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from tilewright.analysis.axis_info import AxisFacts
from tilewright.dialects.ttg.distributed import BlockedEncoding
from tilewright.dialects.type_utils import bit_width, pointee_type, shape_of
from tilewright.passes.ttg.blocked import WARP, blocked, row_major

MAX_ACCESS_BYTES = 16
"""The widest access of one thread."""


def fastest_first(contiguity: tuple[int, ...]) -> tuple[int, ...]:
    """Dimensions by falling length of their runs, the last dimension first among equals."""
    return tuple(sorted(row_major(len(contiguity)), key=lambda dim: -contiguity[dim]))


def element_bytes(pointers: SSAValue) -> int:
    """The size of what each of `pointers` points to."""
    return max(8, bit_width(pointee_type(pointers.type))) // 8


def run_length(pointers: SSAValue, mask: SSAValue | None, dim: int, axis_info: AxisFacts) -> int:
    """How many elements along `dim` one access may take, by address and mask alone."""
    info = axis_info[pointers]
    size = element_bytes(pointers)
    aligned = max(1, info.divisibility[dim] // size)
    found = min(info.contiguity[dim], aligned, max(1, MAX_ACCESS_BYTES // size))
    if mask is not None:
        found = min(found, axis_info[mask].constancy[dim])
    return max(1, found)


def in_wide_rows(
    shape: tuple[int, ...],
    element_bits: int,
    order: tuple[int, ...],
    num_warps: int,
    num_ctas: int = 1,
) -> BlockedEncoding:
    """The layout in which every thread takes 16 bytes along the fastest dimension at once."""
    share = max(1, prod(shape) // (num_warps * WARP))
    preferred = MAX_ACCESS_BYTES * 8 // max(8, element_bits)
    per_thread = [1] * len(shape)
    per_thread[order[0]] = min(preferred, share, shape[order[0]])
    return blocked(shape, per_thread, order, num_warps, num_ctas)


def coalesced(
    pointers: SSAValue,
    mask: SSAValue | None,
    axis_info: AxisFacts,
    num_warps: int,
    num_ctas: int = 1,
) -> BlockedEncoding:
    """The layout for one access to all elements that `pointers` point to."""
    shape = shape_of(pointers.type)
    order = fastest_first(axis_info[pointers].contiguity)
    preferred = run_length(pointers, mask, order[0], axis_info)
    share = max(1, prod(shape) // (num_warps * WARP))
    per_thread = [1] * len(shape)
    per_thread[order[0]] = min(preferred, share, shape[order[0]])
    return blocked(shape, per_thread, order, num_warps, num_ctas)
