"""Reads the tables of library symbols, and makes functions of their rows.

    atan2 f32,f32>f32:__nv_atan2f f64,f64>f64:__nv_atan2

becomes ``atan2(arg0, arg1)``, which emits a call of the symbol for the types of its arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import (
    dtype,
    float32,
    float64,
    int1,
    int32,
    int64,
    uint32,
    uint64,
)
from tilewright.language.tl.extern import Symbols, extern_elementwise
from tilewright.language.tl.tensor import Operand, tensor

_TYPES: Mapping[str, dtype] = {
    "f32": float32,
    "f64": float64,
    "i1": int1,
    "i32": int32,
    "i64": int64,
    "u32": uint32,
    "u64": uint64,
}

LibraryFunction: TypeAlias = Callable[..., tensor]


@dataclass(frozen=True)
class Row:
    """A function of a library: its symbols, and what its result is converted to."""

    name: str
    symbols: Symbols
    converted: dtype | None = None

    def call(self, *args: Operand) -> tensor:
        """The function applied to each element."""
        arity = len(next(iter(self.symbols)))
        if len(args) != arity:
            raise TypeError(f"{self.name} takes {arity} arguments, got {len(args)}")
        result = extern_elementwise("", "", args, self.symbols, is_pure=True)
        return result if self.converted is None else convert(result, self.converted)


def read(text: str) -> dict[str, Row]:
    """The rows of a table by name; indented lines continue a row."""
    rows = (_row(line.split()) for line in text.replace("\n   ", "").strip().splitlines())
    return {row.name: row for row in rows}


def _row(fields: list[str]) -> Row:
    name, *rest = fields
    converted = None
    if rest[0] == "as":
        converted, rest = _TYPES[rest[1]], rest[2:]
    return Row(name, dict(map(_symbol, rest)), converted)


def _symbol(field: str) -> tuple[tuple[dtype, ...], tuple[str, dtype]]:
    types, symbol = field.split(":")
    arguments, result = types.split(">")
    return tuple(_TYPES[type] for type in arguments.split(",")), (symbol, _TYPES[result])


def function(name: str, find: Callable[[], Row]) -> LibraryFunction:
    """The function `name`; which row it calls is looked up when a kernel uses it."""

    def call(*args: Operand) -> tensor:
        return find().call(*args)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"`{name}` of the device's library, for each element."
    return call


def functions(rows: Mapping[str, Row]) -> dict[str, LibraryFunction]:
    """A function for each row of one library."""
    return {name: function(name, lambda row=row: row) for name, row in rows.items()}
