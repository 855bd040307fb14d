"""Fragments of a block's tile: MMA fragments repeated over instructions and warps."""

from __future__ import annotations

from typing import Any

from tilewright.layouts.fragment import Fragment
from tilewright.layouts.hardware.mma_sync import mma_a, mma_b, mma_c
from tilewright.layouts.hardware.wgmma import ROWS, THREADS, wgmma_a, wgmma_d, widest_wgmma


def warp_tiles(base: Fragment, shape: tuple[int, int], warps: tuple[int, int]) -> Fragment:
    """An instruction's fragment over a block's tile: each warp has one rectangle of it.

    Within a warp the instructions follow row by row, each with registers of its own; warps follow
    row by row too. The sizes need not be powers of two, only multiples.
    """
    for axis in range(2):
        if shape[axis] % (base.shape[axis] * warps[axis]):
            raise ValueError(
                f"{shape[axis]} is not a multiple of {warps[axis]} warps x {base.shape[axis]}"
            )
    inside = (
        shape[0] // (base.shape[0] * warps[0]),
        shape[1] // (base.shape[1] * warps[1]),
    )
    return base.repeat(inside).repeat(warps, on_threads=True)


def mma_accumulator(shape: tuple[int, int], warps: tuple[int, int]) -> Fragment:
    """The accumulator of a block's tile under ``mma.sync``."""
    return warp_tiles(mma_c(), shape, warps)


def mma_operand_a(
    shape: tuple[int, int], warps: tuple[int, int], k: int, element_bits: int
) -> Fragment:
    """A of a block's GEMM in registers; warps along N own the same rows."""
    return _share(warp_tiles(mma_a(k, element_bits), shape, (warps[0], 1)), warps, along=1)


def mma_operand_b(
    shape: tuple[int, int], warps: tuple[int, int], k: int, element_bits: int
) -> Fragment:
    """B of a block's GEMM in registers; warps along M own the same columns."""
    return _share(warp_tiles(mma_b(k, element_bits), shape, (1, warps[1])), warps, along=0)


def _share(fragment: Fragment, warps: tuple[int, int], along: int) -> Fragment:
    """Copies for the warps that differ along one direction of the row-major grid of warps."""
    copies, columns = warps[along], warps[1]
    if copies == 1:
        return fragment

    def thread(i: Any, j: Any, replica: Any) -> Any:
        found = fragment.thread(i, j)
        lane, warp = found % 32, found // 32
        if along == 1:
            return lane + 32 * (warp * columns + replica)
        return lane + 32 * (replica * columns + warp)

    return Fragment(fragment.shape, thread, fragment.index, copies)


def wgmma_accumulator(
    shape: tuple[int, int], groups: tuple[int, int] = (1, 1), n: int | None = None
) -> Fragment:
    """The accumulator of a block's tile over one or more groups of four warps.

    Each group has one rectangle of the tile, and in it instructions of 64 x n (by default the
    widest that fits) row by row. Groups follow row by row.
    """
    rows, columns = shape[0] // groups[0], shape[1] // groups[1]
    chosen = n or widest_wgmma(columns)
    if chosen is None or rows % ROWS or columns % chosen or rows * groups[0] != shape[0]:
        raise ValueError(
            f"{rows} x {columns} per warp group is not divisible into 64 x {n or '8n'} tiles"
        )
    inside = (rows // ROWS, columns // chosen)
    return wgmma_d(chosen).repeat(inside).repeat(groups, on_threads=True)


def wgmma_operand_a(
    shape: tuple[int, int], element_bits: int, groups: tuple[int, int] = (1, 1)
) -> Fragment:
    """A of a block's GEMM in registers; warp groups that share rows own copies."""
    base = wgmma_a(element_bits)
    rows = shape[0] // groups[0]
    if rows % ROWS or shape[1] % base.shape[1] or rows * groups[0] != shape[0]:
        raise ValueError(
            f"{shape[0]} x {shape[1]} is not divisible into {ROWS} x {base.shape[1]} tiles"
        )
    whole = base.repeat((rows // ROWS, shape[1] // base.shape[1]))
    whole = whole.repeat((groups[0], 1), on_threads=True)
    copies = groups[1]
    if copies == 1:
        return whole

    def thread(i: Any, j: Any, replica: Any) -> Any:
        found = whole.thread(i, j)
        return found % THREADS + THREADS * (found // THREADS * copies + replica)

    return Fragment(shape, thread, whole.index, copies)
