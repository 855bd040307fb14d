"""``x.type`` of anything that a variable of a kernel can hold."""

from __future__ import annotations

from typing import Any, cast

from tilewright.frontend.values import Value
from tilewright.language.tl.constexpr import constexpr_type, unwrap
from tilewright.language.tl.dtypes import dtype, tuple_type

_CONSTANTS = (bool, int, float, str, dtype, type(None))


def type_of(value: object) -> object | None:
    """The type of a tensor, a constant, or a tuple of such; None for what is neither."""
    value = unwrap(value)
    if isinstance(value, Value):
        return cast("Any", value).type
    if isinstance(value, tuple):
        parts = cast("tuple[object, ...]", value)
        fields: Any = getattr(parts, "_fields", None)
        return tuple_type([type_of(part) for part in parts], fields and list(fields))
    return constexpr_type(value) if isinstance(value, _CONSTANTS) else None
