"""Arguments as ops take them: of one shape, or a number as a scalar of the type needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from tilewright.language.tl.broadcast import broadcast_values
from tilewright.language.tl.constants import scalar_constant, to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.conversion import integer_cast
from tilewright.language.tl.dtypes import dtype, int1, int32, int64
from tilewright.language.tl.tensor import Operand, tensor


def optional(value: Operand | None) -> tensor | None:
    """`value` as a tensor, if there is one."""
    return None if value is None else to_tensor(value)


def returned(value: object) -> list[tensor]:
    """What a function of the user returned, one value or several, as tensors."""
    values = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
    return [to_tensor(each) for each in values]


def broadcast_all(*values: tensor) -> tuple[tensor, ...]:
    """Tensors in the shape that they have in common."""
    if not values:
        return ()
    head, *tail = values
    for index in range(len(tail)):
        head, tail[index] = broadcast_values(head, tail[index])
    # A later tensor may have widened the first one: broadcast the earlier ones to it.
    for index in range(len(tail) - 1):
        head, tail[index] = broadcast_values(head, tail[index])
    return (head, *tail)


def indices(values: Iterable[Operand] | Operand, *, wide: bool = False) -> list[tensor]:
    """Offsets or extents as scalars of 32 bits, or of 64 if `wide`."""
    values = unwrap(values)
    parts = values if isinstance(values, (list, tuple)) else [values]
    return [_index(part, wide=wide) for part in cast("Sequence[Operand]", parts)]


def _index(value: Operand, *, wide: bool) -> tensor:
    type = int64 if wide else int32
    if isinstance(value, bool):
        return scalar_constant(value, int1)
    if isinstance(value, int):
        if not type.get_int_min_value() <= value <= type.get_int_max_value():
            raise ValueError(f"expected a signed {type.int_bitwidth}-bit integer, got {value}")
        return scalar_constant(value, type)
    if not isinstance(value, tensor):
        raise TypeError(
            f"a shape, stride or offset must be an integer or a scalar tensor, got {value!r} of "
            f"type {value.__class__.__name__}"
        )
    if value.numel != 1 or not value.dtype.is_int():
        raise TypeError(f"a shape, stride or offset must be an integer scalar, got {value}")
    return _resized(value, type)


def _resized(value: tensor, type: dtype) -> tensor:
    if type == int64 and value.dtype != int64:
        return integer_cast(value, int64, signed=value.dtype.is_int_signed())
    if type == int32 and value.dtype == int64:
        raise TypeError(
            f"expected a 32-bit integer, got {value}: add a `.to(tl.int32)` to convert the value"
        )
    return value
