"""Fragments of ``mma.sync``: which lane of a warp holds which element of A, B, C.

PTX ISA, "Matrix Fragments for mma.m16n8k8/k16/k32". With ``w`` elements in a 32-bit register, a
lane ``4 * g + t`` holds::

    A (16 x k)   row g or g + 8,   columns w*t … w*t + w - 1, and again 4*w columns further
    B (k x 8)    column g,         rows    w*t … w*t + w - 1, and again 4*w rows further
    C (16 x 8)   row g or g + 8,   columns 2*t and 2*t + 1

in registers that count consecutive elements first, then (A, C) the lower half of the rows, then K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewright.layouts.fragment import Fragment

ROWS, COLUMNS = 16, 8
REGISTER_BITS = 32


@dataclass(frozen=True)
class MmaShape:
    """One ``mma.sync`` instruction's K for elements of a width."""

    k: int
    element_bits: int

    def __post_init__(self) -> None:
        if self.k not in MMA_DEPTHS.get(self.element_bits, ()):
            raise ValueError(f"mma.sync has no m16n8k{self.k} for {self.element_bits}-bit elements")

    @property
    def per_register(self) -> int:
        return REGISTER_BITS // self.element_bits


MMA_DEPTHS: dict[int, tuple[int, ...]] = {32: (4, 8), 16: (8, 16), 8: (16, 32)}
"""K of m16n8kK by the width of the elements of A and B: tf32; f16 and bf16; fp8 and int8."""


def mma_a(k: int, element_bits: int) -> Fragment:
    """The operand A, 16 x k, row-major."""
    width = MmaShape(k, element_bits).per_register

    def thread(i: Any, j: Any) -> Any:
        return i % 8 * 4 + j // width % 4

    def register(i: Any, j: Any) -> Any:
        return j % width + width * (i // 8) + 2 * width * (j // (4 * width))

    return Fragment((ROWS, k), thread, register)


def mma_b(k: int, element_bits: int) -> Fragment:
    """The operand B, k x 8, column-major."""
    width = MmaShape(k, element_bits).per_register

    def thread(i: Any, j: Any) -> Any:
        return j * 4 + i // width % 4

    def register(i: Any, j: Any) -> Any:
        return i % width + width * (i // (4 * width))

    return Fragment((k, COLUMNS), thread, register)


def mma_c() -> Fragment:
    """The accumulator, 16 x 8."""

    def thread(i: Any, j: Any) -> Any:
        return i % 8 * 4 + j // 2

    def register(i: Any, j: Any) -> Any:
        return j % 2 + 2 * (i // 8)

    return Fragment((ROWS, COLUMNS), thread, register)
