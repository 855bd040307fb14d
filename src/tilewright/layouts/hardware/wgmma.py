"""Fragments of ``wgmma``: 128 threads, 64 rows, N up to 256.

PTX ISA, "Register Fragments" of ``wgmma.mma_async``. Each of the four warps has 16 of the 64 rows,
laid out as in ``mma.sync``; the accumulator goes on along N, eight columns at a time, and A (when
it comes from registers) along K. B is always in shared memory.
"""

from __future__ import annotations

from typing import Any

from tilewright.layouts.fragment import Fragment

ROWS = 64
THREADS = 128
DEPTH_BYTES = 32
"""K of one instruction: 16 elements of 16 bits, 8 of tf32, 32 of one byte."""

N_STEP = 8
N_LIMIT = 256


def wgmma_depth(element_bits: int) -> int:
    """K of one instruction."""
    if element_bits not in (8, 16, 32):
        raise ValueError(f"wgmma elements have {element_bits} bits, expected 8, 16 or 32")
    return DEPTH_BYTES * 8 // element_bits


def is_wgmma_width(n: int, integer: bool = False) -> bool:
    """Whether an instruction with this N exists; integers have fewer of them."""
    if n % N_STEP or not 0 < n <= N_LIMIT:
        return False
    return not integer or n % 16 == 0 or n in (8, 24)


def widest_wgmma(columns: int, integer: bool = False) -> int | None:
    """The largest N that divides a tile's columns; None if wgmma cannot cover it."""
    fitting = [
        n
        for n in range(N_STEP, min(columns, N_LIMIT) + 1, N_STEP)
        if columns % n == 0 and is_wgmma_width(n, integer)
    ]
    return max(fitting, default=None)


def wgmma_d(n: int) -> Fragment:
    """The accumulator of one instruction, 64 x n."""
    if not is_wgmma_width(n):
        raise ValueError(f"wgmma with N = {n}, expected a multiple of 8 up to 256")

    def thread(i: Any, j: Any) -> Any:
        return i // 16 * 32 + i % 8 * 4 + j % 8 // 2

    def register(i: Any, j: Any) -> Any:
        return j % 2 + 2 * (i // 8 % 2) + 4 * (j // 8)

    return Fragment((ROWS, n), thread, register)


def wgmma_a(element_bits: int) -> Fragment:
    """The operand A of one instruction, when it comes from registers."""
    width = 32 // element_bits

    def thread(i: Any, j: Any) -> Any:
        return i // 16 * 32 + i % 8 * 4 + j // width % 4

    def register(i: Any, j: Any) -> Any:
        return j % width + width * (i // 8 % 2) + 2 * width * (j // (4 * width))

    return Fragment((ROWS, wgmma_depth(element_bits)), thread, register)
