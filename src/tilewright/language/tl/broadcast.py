"""Making shapes agree.

Two operands of an operator are broadcast to one shape as in NumPy, step by step in the IR:

    scalar, block         tt.splat
    [32], [16, 32]        tt.expand_dims at dimension 0, until the ranks agree
    [1, 32], [16, 32]     tt.broadcast along dimensions of extent 1
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects import tt
from tilewright.language.tl.constants import splat
from tilewright.language.tl.dtypes import block_type
from tilewright.language.tl.literals import repeat_to
from tilewright.language.tl.tensor import emit, tensor


class ShapeMismatch(ValueError):
    """Two blocks that cannot be broadcast; `found` is the reason."""

    def __init__(self, found: str, shapes: str, lhs: Sequence[int], rhs: Sequence[int]) -> None:
        self.found = found
        self.suggestion = _suggestion(lhs, rhs)
        super().__init__(f"{found}; {shapes}. {self.suggestion}")


def broadcast_values(lhs: tensor, rhs: tensor) -> tuple[tensor, tensor]:
    """Both operands in the shape that they have in common."""
    if not lhs.type.is_block() and not rhs.type.is_block():
        return lhs, rhs
    if not rhs.type.is_block():
        return lhs, splat(rhs, lhs.shape)
    if not lhs.type.is_block():
        return splat(lhs, rhs.shape), rhs
    shape = _common_shape(lhs.shape, rhs.shape)
    lhs, rhs = _to_rank(lhs, len(shape)), _to_rank(rhs, len(shape))
    return _repeat(lhs, shape), _repeat(rhs, shape)


def broadcast_shape(value: tensor, shape: Sequence[int]) -> tensor:
    """`value` repeated to `shape`, which has the same rank unless `value` is a scalar."""
    if not value.type.is_block():
        return splat(value, shape)
    source = value.shape
    if len(source) != len(shape):
        raise ValueError(
            f"Cannot broadcast, rank mismatch: {_text(source)}, {_text(shape)}; "
            "add dimensions of extent 1 with x[None, :] or tl.expand_dims"
        )
    for index, (found, expected) in enumerate(zip(source, shape, strict=True)):
        if found not in (1, expected):
            raise ValueError(
                f"Cannot broadcast, the expanded size of the tensor ({expected}) must match the "
                f"existing size ({found}) at non-singleton dimension {index}: "
                f"{_text(source)}, {_text(shape)}"
            )
    return _repeat(value, shape)


def _to_rank(value: tensor, rank: int) -> tensor:
    while len(value.shape) < rank:
        type = block_type(value.dtype, (1, *value.shape))
        value = emit(tt.ExpandDimsOp(value.handle, 0, type.to_ir()), type)
    return value


def _common_shape(lhs: Sequence[int], rhs: Sequence[int]) -> tuple[int, ...]:
    rank = max(len(lhs), len(rhs))
    wide_lhs, wide_rhs = ((1,) * (rank - len(shape)) + tuple(shape) for shape in (lhs, rhs))
    pairs = list(zip(wide_lhs, wide_rhs, strict=True))
    for index, (left, right) in enumerate(pairs):
        if left != right and 1 not in (left, right):
            found = (
                "Cannot make_shape_compatible: incompatible dimensions at index "
                f"{index}: {left} and {right}"
            )
            raise ShapeMismatch(found, f"shapes are {_text(lhs)} and {_text(rhs)}", lhs, rhs)
    return tuple(right if left == 1 else left for left, right in pairs)


def _suggestion(lhs: Sequence[int], rhs: Sequence[int]) -> str:
    """The smallest change that may have been meant."""
    few, many = sorted((lhs, rhs), key=len)
    if len(few) == len(many) == 1:
        return "For all pairs of elements index one with [:, None], the other with [None, :]"
    if len(few) == 1:
        for axis, extent in enumerate(many[:-1]):
            if extent == few[0]:
                index = ", ".join(":" if each == axis else "None" for each in range(len(many)))
                return (
                    f"{_text(few)} is aligned with the last dimension; to align it with dimension "
                    f"{axis}, index it with [{index}]"
                )
    return "Extents must be equal, or 1"


def _repeat(value: tensor, shape: Sequence[int]) -> tensor:
    if value.shape == tuple(shape):
        return value
    return repeat_to(value, block_type(value.dtype, shape))


def _text(shape: Sequence[int]) -> str:
    return str(list(shape))
