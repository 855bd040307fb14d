"""Element types of `T`: strings that know their size, and that make constants when called.

    T.float16 == "float16"      strings, ``T.*`` and framework dtypes are interchangeable
    T.float16(1.5)              a constant of the type
    T.dtype(torch.int8).bits    8

Signedness is a matter of the type's name and of the ops that compute with it; in the IR, integers
are signless: ``int8`` and ``uint8`` are both ``i8``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final, Self, cast

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float4E2M1FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IntegerType,
)
from xdsl.ir import Attribute

ALIASES: Final[Mapping[str, str]] = {
    "bf16": "bfloat16",
    "boolean": "bool",
    "double": "float64",
    "e4m3_float8": "float8_e4m3fn",
    "e5m2_float8": "float8_e5m2",
    "float": "float32",
    "float8_e4m3": "float8_e4m3fn",
    "fp16": "float16",
    "fp32": "float32",
    "half": "float16",
    "int": "int32",
    "long": "int64",
    "short": "int16",
    "uint": "uint32",
}
"""Names that stand for another."""

_FLOATS: Final[Mapping[str, tuple[int, Attribute]]] = {
    "bfloat16": (16, BFloat16Type()),
    "float16": (16, Float16Type()),
    "float32": (32, Float32Type()),
    "float64": (64, Float64Type()),
    "float8_e4m3fn": (8, Float8E4M3FNType()),
    "float8_e4m3fnuz": (8, Float8E4M3FNUZType()),
    "float8_e5m2": (8, Float8E5M2Type()),
    "float8_e5m2fnuz": (8, Float8E5M2FNUZType()),
    "float8_e8m0fnu": (8, IntegerType(8)),
    "float4_e2m1fn": (4, Float4E2M1FNType()),
    "float4_e2m1_unpacked": (8, IntegerType(8)),
    "tfloat32": (32, Float32Type()),
}
"""Bits and type in the IR. What the IR has no type for travels as its bits."""

_STORED_AS: Final[Mapping[str, str]] = {"tfloat32": "float32"}
"""Types that arrays hold as another: TF32 is how tensor cores read a float32."""

_TORCH_NAMES: Final[Mapping[str, str]] = {
    "float4_e2m1fn": "float4_e2m1fn_x2",
    "float4_e2m1fnx2": "float4_e2m1fn_x2",
    "int4": "int8",
    "uint4": "uint8",
}
"""Of elements of 4 bits torch has arrays of bytes with two of them."""

_FOURS: Final = ("float4_e2m1fn", "int4", "uint4")
"""NumPy's types with one element in a byte."""

_INTEGER: Final = re.compile(r"(u?)int(\d+)")
_VECTOR: Final = re.compile(r"(.*[a-z0-9])x(\d+)")
"""``float32x4``: several elements as one, which registers hold and memory does not."""


class dtype(str):
    """The type of an element: a string with its properties.

    A string of any spelling, a dtype of a framework or a Python type names it.
    """

    __slots__ = ()

    def __new__(cls, value: object = "float32") -> Self:
        return super().__new__(cls, canonical(value))

    @property
    def bits(self) -> int:
        """Of one lane."""
        if self == "bool":
            return 1
        if (vector := _VECTOR.fullmatch(self)) is not None:
            return DTYPES[vector[1]].bits
        if self in _FLOATS:
            return _FLOATS[self][0]
        found = _INTEGER.fullmatch(self)
        return int(found.group(2)) if found is not None else 64  # an address

    @property
    def bytes(self) -> int:
        return (self.bits * self.lanes + 7) // 8

    itemsize = bytes

    @property
    def lanes(self) -> int:
        vector = _VECTOR.fullmatch(self)
        return 1 if vector is None else int(vector[2])

    @property
    def type(self) -> Attribute:
        """The type in the IR."""
        if self.lanes > 1:
            element = str.__str__(self).rpartition("x")[0]
            raise TypeError(
                f"{self} is a vector: buffers and scalars have elements of {DTYPES[element]}, "
                "and T.vectorized makes vector accesses"
            )
        if self == "bool":
            return IntegerType(1)
        if self in _FLOATS:
            return _FLOATS[self][1]
        return IntegerType(self.bits)

    @property
    def is_packed(self) -> bool:
        """Whether two elements share a byte in tensors."""
        return self.bits == 4 and self.lanes == 1

    def shape_of(self, tensor: Any) -> tuple[int, ...]:
        """The shape of a tensor of such elements; its array may have two of them in a byte."""
        shape = tuple(tensor.shape)
        dtype = getattr(tensor, "dtype", None)
        if not self.is_packed or not shape or str(dtype) in _FOURS:
            return shape
        if getattr(dtype, "itemsize", 1) != 1:  # refused for its type, which comes after the shape
            return shape
        return (*shape[:-1], 2 * shape[-1])

    @property
    def storage(self) -> str:
        """The name of the type that arrays have in memory."""
        return _STORED_AS.get(self, self)

    @property
    def is_float(self) -> bool:
        return self in _FLOATS

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, of any sign; a bool is not."""
        return _INTEGER.fullmatch(self) is not None

    @property
    def is_signed(self) -> bool:
        return self.startswith("int")

    @property
    def is_unsigned(self) -> bool:
        """Whether extending fills with zeros."""
        return self.startswith("uint") or self == "bool"

    def __call__(self, value: object = 0, *more: object) -> Any:
        """A constant of this type, or the conversion of a value to it; of a vector, its lanes."""
        if self.lanes > 1:
            from tilewright.language.T.vectors import make_vector

            return make_vector(self, (value, *more))
        return _converter(value, self)

    def as_torch(self) -> Any:
        """The dtype of torch that holds such elements."""
        name = _TORCH_NAMES.get(self, self.storage)
        found = getattr(import_module("torch"), name, None)  # optional, loaded where it is used
        if found is None:
            raise ValueError(f"torch has no dtype for {self}")
        return found

    def as_numpy(self) -> Any:
        """The dtype of NumPy; small floats are those of ml_dtypes."""
        import ml_dtypes
        import numpy

        return numpy.dtype(getattr(ml_dtypes, self.storage, self.storage))

    def __repr__(self) -> str:
        return f"T.{self!s}"

    def __reduce__(self) -> tuple[type[dtype], tuple[str]]:
        return dtype, (str(self),)


def canonical(value: object) -> str:
    """The name of the type that `value` stands for."""
    if isinstance(value, dtype):
        return str.__str__(value)
    name = _name(value)
    name = ALIASES.get(name, name)
    if name in _FLOATS or name in ("bool", "handle") or _INTEGER.fullmatch(name):
        return name
    if (vector := _VECTOR.fullmatch(name)) is not None and vector[1] in NAMES:
        return name
    raise TypeError(
        f"{value!r} is not a dtype: use one of T, such as T.float16, or its name as a string"
    )


def _name(value: object) -> str:
    if isinstance(value, str):
        return value.removeprefix("torch.")
    if isinstance(value, type):
        return "float32" if value is float else value.__name__
    text = str(getattr(value, "name", value))
    return text.removeprefix("torch.")


_convert: Callable[[object, dtype], Any] | None = None


def _converter(value: object, to: dtype) -> Any:
    assert _convert is not None  # set by `conversion`, which imports this module
    return _convert(value, to)


def set_converter(convert: Callable[[object, dtype], Any]) -> None:
    """What ``T.float16(x)`` calls: conversion needs expressions, and expressions need types."""
    global _convert
    _convert = convert


NAMES: Final = (
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 4, 8, 16, 32, 64)),
    *_FLOATS,
    "bool",
    "handle",
)
"""All canonical names."""

DTYPES: Final[Mapping[str, dtype]] = {name: dtype(name) for name in NAMES}


def vector_dtype(name: str) -> dtype | None:
    """The dtype ``float32x4`` and its like, by name."""
    vector = _VECTOR.fullmatch(name)
    return dtype(name) if vector is not None and vector[1] in NAMES else None


int32: Final = DTYPES["int32"]
int64: Final = DTYPES["int64"]
float32: Final = DTYPES["float32"]
boolean: Final = DTYPES["bool"]


def dtype_of_type(type: Attribute, *, unsigned: bool = False) -> dtype:
    """A dtype whose values have `type` in the IR."""
    for name, (_, found) in _FLOATS.items():
        if found == type and not isinstance(type, IntegerType):
            return DTYPES[name]
    if isinstance(type, IntegerType):
        bits = cast("int", cast("Any", type).width.data)
        return boolean if bits == 1 else dtype(f"{'u' if unsigned else ''}int{bits}")
    raise TypeError(f"{type} is not an element type")
