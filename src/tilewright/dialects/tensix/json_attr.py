"""Plain data (dictionaries, lists, strings, integers, truths, None) as attributes, and back.

The host plan and the annotations of a function (``tt.schedule``, ``tt.shard`` ...) are such data.
Text sorts the entries of a dictionary by name: the order of the plan file is that of its dataclass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntegerAttr,
    NoneAttr,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Attribute

Json: TypeAlias = "bool | int | str | Sequence[Json] | Mapping[str, Json] | None"


def attribute_of(value: Json) -> Attribute:
    """The attribute that holds `value`."""
    if value is None:
        return NoneAttr()
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, str):
        return StringAttr(value)
    if isinstance(value, Mapping):
        return dictionary_of(value)
    return ArrayAttr([attribute_of(each) for each in value])


def dictionary_of(value: Mapping[str, Json]) -> DictionaryAttr:
    return DictionaryAttr({name: attribute_of(each) for name, each in value.items()})


def json_of(attribute: Attribute) -> Json:
    """What `attribute_of` was given; sequences come back as lists."""
    if isinstance(attribute, NoneAttr):
        return None
    if isinstance(attribute, IntegerAttr):
        integer = attribute.value.data
        return bool(integer) if attribute.type == i1 else integer
    if isinstance(attribute, StringAttr):
        return attribute.data
    if isinstance(attribute, DictionaryAttr):
        return {name: json_of(each) for name, each in attribute.data.items()}
    if isinstance(attribute, ArrayAttr):
        return [json_of(each) for each in attribute.data]
    raise ValueError(f"'{attribute.name}' is not plain data")
