"""Annotations: attributes that a user puts on an op for the compiler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, BoolAttr, FloatAttr, IntegerAttr, StringAttr, f64, i64
from xdsl.ir import Attribute


def attributes_of(annotations: Mapping[str, Any] | None) -> dict[str, Attribute]:
    """``annotations={...}`` as attributes of the op."""
    found = annotations or {}
    return {f"tile.{name.removeprefix('tl.')}": attribute(value) for name, value in found.items()}


def attribute(value: object) -> Attribute:
    """A value of Python as an attribute."""
    match value:
        case Attribute():
            return value
        case bool():
            return BoolAttr.from_bool(value)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case list() | tuple():
            return ArrayAttr([attribute(each) for each in cast("Sequence[object]", value)])
        case _:
            return StringAttr(str(value))
