"""`tl.extra.subtile_ops`: a matrix as a tuple of blocks of its columns, and back."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.language.tl.shape import join, permute, reshape, split
from tilewright.language.tl.tensor import tensor

__all__ = ["_join_n_2D", "_split_n_2D"]


def _split_n_2D(x: tensor, SPLIT_FACTOR: int) -> tuple[tensor, ...]:
    """`SPLIT_FACTOR` blocks of neighbouring columns; a power of two."""
    if SPLIT_FACTOR == 1:
        return (x,)
    rows, columns = x.shape
    left, right = split(permute(reshape(x, (rows, 2, columns // 2)), (0, 2, 1)))
    return (*_split_n_2D(left, SPLIT_FACTOR // 2), *_split_n_2D(right, SPLIT_FACTOR // 2))


def _join_n_2D(xs: Sequence[tensor]) -> tensor:
    """The matrix whose blocks of neighbouring columns are `xs`."""
    if len(xs) == 1:
        return xs[0]
    left, right = (_join_n_2D(part) for part in (xs[: len(xs) // 2], xs[len(xs) // 2 :]))
    rows, columns = left.shape
    return reshape(permute(join(left, right), (0, 2, 1)), (rows, 2 * columns))
