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


def run_length(
    pointers: SSAValue,
    mask: SSAValue | None,
    dim: int,
    axis_info: AxisFacts,
    *,
    base: SSAValue | None = None,
    max_bytes: int = MAX_ACCESS_BYTES,
) -> int:
    """How many elements along `dim` one access may take, by address and mask alone.

    With a scalar pointer `base`, `pointers` are offsets from it, in elements.
    """
    info = axis_info[pointers]
    size = element_bytes(pointers if base is None else base)
    if base is None:
        aligned = max(1, info.divisibility[dim] // size)
    else:
        aligned = min(info.divisibility[dim], max(1, axis_info[base].divisibility[0] // size))
    found = min(info.contiguity[dim], aligned, max(1, max_bytes // size))
    if mask is not None:
        found = min(found, axis_info[mask].constancy[dim])
    return max(1, found)


def in_wide_rows(
    shape: tuple[int, ...],
    element_bits: int,
    order: tuple[int, ...],
    num_warps: int,
    num_ctas: int = 1,
    warp_size: int = WARP,
) -> BlockedEncoding:
    """The layout in which every thread takes 16 bytes along the fastest dimension at once."""
    preferred = MAX_ACCESS_BYTES * 8 // max(8, element_bits)
    return in_runs(shape, preferred, order, num_warps, num_ctas, warp_size)


def coalesced(
    pointers: SSAValue,
    mask: SSAValue | None,
    axis_info: AxisFacts,
    num_warps: int,
    num_ctas: int = 1,
    warp_size: int = WARP,
    *,
    base: SSAValue | None = None,
    known_run: int = 1,
    max_bytes: int = MAX_ACCESS_BYTES,
) -> BlockedEncoding:
    """The layout for one access to all elements that `pointers` point to.

    `base` as for `run_length`; `known_run` elements are consecutive by what the kernel states.
    """
    order = fastest_first(axis_info[pointers].contiguity)
    proved = run_length(pointers, mask, order[0], axis_info, base=base, max_bytes=max_bytes)
    preferred = max(known_run, proved)
    return in_runs(shape_of(pointers.type), preferred, order, num_warps, num_ctas, warp_size)


def in_runs(
    shape: tuple[int, ...],
    preferred: int,
    order: tuple[int, ...],
    num_warps: int,
    num_ctas: int = 1,
    warp_size: int = WARP,
) -> BlockedEncoding:
    """The layout in which every thread takes `preferred` elements of the fastest dimension."""
    share = max(1, prod(shape) // (num_warps * warp_size))
    per_thread = [1] * len(shape)
    per_thread[order[0]] = min(preferred, share, shape[order[0]])
    return blocked(shape, per_thread, order, num_warps, num_ctas, warp_size)
