"""IR scalar types as NumPy dtypes, and the short names generated code calls them by.

========================  ===================  =======================================
IR                        NumPy                note
========================  ===================  =======================================
``i1``                    bool                 one byte in memory, as on a GPU
``i8 … i64``, ``index``   int8 … int64         unsigned ops look at the same bits
``f16 f32 f64``           float16 …
``bf16``, ``f8…``         `ml_dtypes`          real types with their own rounding
pointers                  int64                byte addresses
========================  ===================  =======================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3B11FNUZType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
)
from xdsl.ir import Attribute

from tilewright.dialects.type_utils import PointerLike, element_type_of


@dataclass(frozen=True)
class ScalarType:
    """A scalar type of the IR as generated code sees it."""

    name: str
    """Of the NumPy scalar class in generated code: `i32`, `bf16`."""
    dtype: np.dtype[Any]
    kind: str
    """`i` integer, `b` truth value, `f` native float, `s` small float, `p` pointer."""

    @property
    def bits(self) -> int:
        return 1 if self.kind == "b" else 8 * self.dtype.itemsize

    @property
    def unsigned(self) -> str:
        """The name of the unsigned integer type of the same width."""
        return f"u{8 * self.dtype.itemsize}"


def _entry(name: str, scalar: Any, kind: str) -> ScalarType:
    return ScalarType(name, np.dtype(scalar), kind)


BOOL = _entry("i1", np.bool_, "b")
I8, I16 = _entry("i8", np.int8, "i"), _entry("i16", np.int16, "i")
I32, I64 = _entry("i32", np.int32, "i"), _entry("i64", np.int64, "i")
F16, F32, F64 = (
    _entry("f16", np.float16, "f"),
    _entry("f32", np.float32, "f"),
    _entry("f64", np.float64, "f"),
)
BF16 = _entry("bf16", ml_dtypes.bfloat16, "s")
POINTER = _entry("i64", np.int64, "p")

_INTEGERS = {1: BOOL, 8: I8, 16: I16, 32: I32, 64: I64}
_FLOATS: dict[type[Attribute], ScalarType] = {
    Float16Type: F16,
    Float32Type: F32,
    Float64Type: F64,
    BFloat16Type: BF16,
    Float8E4M3FNType: _entry("f8e4m3fn", ml_dtypes.float8_e4m3fn, "s"),
    Float8E5M2Type: _entry("f8e5m2", ml_dtypes.float8_e5m2, "s"),
    Float8E4M3FNUZType: _entry("f8e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "s"),
    Float8E5M2FNUZType: _entry("f8e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "s"),
    Float8E4M3B11FNUZType: _entry("f8e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz, "s"),
}

SCALAR_NAMES: dict[str, Any] = {
    **{entry.name: entry.dtype.type for entry in _INTEGERS.values()},
    **{entry.name: entry.dtype.type for entry in _FLOATS.values()},
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
}
"""The NumPy scalar class of every type name that generated code uses."""


def scalar_type(type: Attribute) -> ScalarType | None:
    """The scalar type of `type` or of its elements; None if NumPy has nothing like it."""
    element = element_type_of(type)
    if isinstance(element, IntegerType):
        return _INTEGERS.get(element.width.data)
    if isinstance(element, IndexType):
        return I64
    if isinstance(element, PointerLike):
        return POINTER
    return _FLOATS.get(element.__class__)
