"""Linear algebra over two elements, on vectors that are integers.

A vector of bits is an ``int``, addition is XOR, and a matrix is the list of its columns: the image
of input bit 0, of input bit 1, and so on. One pass of elimination, taking columns from left to
right, decides every property of a layout: how many columns are independent, which combinations
of inputs vanish, and which inputs reach a given output. Because earlier columns are taken first,
an input that is found uses the lowest possible bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def log2(value: int, what: str = "a size") -> int:
    """The number of bits that count up to `value`, which must be a power of two."""
    if not is_power_of_two(value):
        raise ValueError(f"{what} must be a power of two, got {value}")
    return value.bit_length() - 1


def set_bits(value: int) -> Iterator[int]:
    """The positions of the ones in `value`, lowest first."""
    while value:
        low = value & -value
        yield low.bit_length() - 1
        value ^= low


def combine(columns: tuple[int, ...], vector: int) -> int:
    """A matrix, given by its columns, times a vector."""
    result = 0
    for position in set_bits(vector):
        result ^= columns[position]
    return result


@dataclass(frozen=True)
class Echelon:
    """A matrix after elimination.

    `pivots` maps the leading bit of a reduced vector to that vector and to the inputs whose images
    add up to it. `kernel` holds one combination of inputs with image zero for each column that
    depends on those to its left; that column is the highest bit of its combination.
    """

    pivots: dict[int, tuple[int, int]]
    kernel: tuple[int, ...]

    @classmethod
    def of(cls, columns: Iterable[int]) -> Echelon:
        pivots: dict[int, tuple[int, int]] = {}
        kernel: list[int] = []
        for position, column in enumerate(columns):
            vector, inputs = _reduce(pivots, column, 1 << position)
            if vector:
                pivots[vector.bit_length()] = (vector, inputs)
            else:
                kernel.append(inputs)
        return cls(pivots, tuple(kernel))

    @property
    def rank(self) -> int:
        return len(self.pivots)

    def preimage(self, vector: int) -> int | None:
        """The lowest inputs whose image is `vector`; None if nothing reaches it."""
        left, inputs = _reduce(self.pivots, vector, 0)
        return None if left else inputs


def _reduce(pivots: dict[int, tuple[int, int]], vector: int, inputs: int) -> tuple[int, int]:
    """Cancel the leading bits of `vector` that pivots can cancel, as far as they go."""
    while vector and vector.bit_length() in pivots:
        pivot, its_inputs = pivots[vector.bit_length()]
        vector ^= pivot
        inputs ^= its_inputs
    return vector, inputs
