"""Blocked layouts: the ordinary way to deal a tensor out to threads.

A blocked layout is decided by how many elements a thread takes at once along each dimension, and
by the order in which dimensions are filled with threads (``layouts.encodings.blocked_for``). A
tensor that is too small for all threads is held several times.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.ttg.distributed import BlockedEncoding
from tilewright.dialects.ttg.struct import Bases
from tilewright.layouts.encodings import blocked_for

WARP = 32
"""Threads of a warp of an NVIDIA GPU."""


def row_major(rank: int) -> tuple[int, ...]:
    """The order of dimensions in which the last one is the fastest."""
    return tuple(reversed(range(rank)))


def blocked(
    shape: Sequence[int],
    per_thread: Sequence[int],
    order: Sequence[int],
    num_warps: int,
    num_ctas: int = 1,
    warp_size: int = WARP,
) -> BlockedEncoding:
    """The layout in which a thread takes `per_thread` elements and `order` is filled in turn."""
    cga = whole_in_every_cta(len(shape), num_ctas)
    found = blocked_for(shape, per_thread, order, num_warps, cga, warp_size)
    return BlockedEncoding(
        size_per_thread=found.size_per_thread,
        threads=found.threads_per_warp,
        warps_per_cta=found.warps_per_cta,
        order=found.order,
        cga_layout=found.cga,
    )


def whole_in_every_cta(rank: int, num_ctas: int) -> Bases:
    """Bases of a cluster in which every CTA holds the whole tensor; empty for a single CTA."""
    return ((0,) * rank,) * (num_ctas.bit_length() - 1)


def default_blocked(
    shape: Sequence[int], num_warps: int, num_ctas: int = 1, warp_size: int = WARP
) -> BlockedEncoding:
    """One element per thread, rows first: the layout of a tensor without requirements."""
    rank = len(shape)
    return blocked(shape, (1,) * rank, row_major(rank), num_warps, num_ctas, warp_size)
