"""A tile distributed over threads when no instruction dictates how: vector by vector.

Elements are counted row by row. Each thread takes a vector in turn, and then the next round::

    thread = flat // v mod threads        index = flat // v // threads * v + flat mod v

so consecutive threads access consecutive memory. Where the tile has fewer vectors than there are
threads, the threads that are left over own copies, so that all of them can go on computing.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tilewright.layouts.fragment import Fragment
from tilewright.layouts.index_map import row_major


def fitting_vector(shape: Sequence[int], num_threads: int, widest: int) -> int:
    """The widest vector, at most `widest`, of which every row and thread has a whole number."""
    vector = max(1, widest)
    while vector > 1 and (prod(shape) % (num_threads * vector) or shape[-1] % vector):
        vector //= 2
    return vector


def partition(
    shape: Sequence[int], num_threads: int, widest: int = 1, replicate: bool = True
) -> Fragment:
    """The tile over the threads of a block, in vectors of at most `widest` elements.

    With fewer elements than threads, copies fill the rest of the threads if they divide evenly;
    with `replicate` off the rest stays idle.
    """
    sizes, total = tuple(shape), prod(shape)
    vector = fitting_vector(sizes, num_threads, widest)
    used = min(num_threads, -(-total // vector))
    copies = num_threads // used if replicate and num_threads % used == 0 else 1

    def owner(index: Sequence[Any]) -> Any:
        return row_major(index, sizes) // vector % used

    def register(*index: Any) -> Any:
        flat = row_major(index, sizes)
        return flat // vector // used * vector + flat % vector

    if copies == 1:
        return Fragment(sizes, lambda *index: owner(index), register)
    return Fragment(sizes, lambda *index: owner(index[:-1]) + used * index[-1], register, copies)
