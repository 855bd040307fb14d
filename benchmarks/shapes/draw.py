"""Random GEMMs: extents from 64 to 16384, none of them a multiple of a tile."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from benchmarks.shapes.space import Shape

MIN_EXTENT, MAX_EXTENT = 64, 16384
TILE = 64
"""No extent is a multiple of it."""
UNITS = (1, 2, 8, 8)
"""Of what N and K of 16-bit matrices are multiples: half of them begin rows at 16 bytes."""
FP8_UNIT = 16
"""`torch._scaled_mm` takes no others."""


@dataclass(frozen=True)
class ElementType:
    """What the matrices consist of; `out` is C's."""

    label: str
    dtype: str
    out: str
    size: int


TYPES = (
    ElementType("fp16", "float16", "float16", 2),
    ElementType("bf16", "bfloat16", "bfloat16", 2),
    ElementType("fp8", "float8_e4m3", "bfloat16", 1),
)


@dataclass(frozen=True)
class Case:
    """A GEMM to measure; B of fp8 has K contiguous, as its peer wants it."""

    M: int
    N: int
    K: int
    type: ElementType

    @property
    def shape(self) -> Shape:
        return Shape(self.M, self.N, self.K, self.type.size, self.transposed)

    @property
    def transposed(self) -> bool:
        return self.type.size == 1

    @property
    def arguments(self) -> tuple[int, int, int, str, str, bool]:
        """The first arguments of the kernel."""
        return (self.M, self.N, self.K, self.type.dtype, self.type.out, self.transposed)

    @property
    def flops(self) -> float:
        return 2.0 * self.M * self.N * self.K

    def __str__(self) -> str:
        return f"{self.M}x{self.N}x{self.K} {self.type.label}"


def drawn(count: int, seed: int) -> list[Case]:
    """`count` GEMMs, types alternate; their extents are uniform in the logarithm."""
    generator = random.Random(seed)

    def extent(unit: int) -> int:
        while True:
            exact = math.exp(generator.uniform(math.log(MIN_EXTENT), math.log(MAX_EXTENT)))
            found = max(MIN_EXTENT, min(MAX_EXTENT, round(exact / unit) * unit))
            if found % TILE:
                return found

    cases: list[Case] = []
    for index in range(count):
        type = TYPES[index % len(TYPES)]
        unit = FP8_UNIT if type.size == 1 else generator.choice(UNITS)
        cases.append(Case(extent(1), extent(unit), extent(unit), type))
    return cases
