"""How types, numbers and names of IR are written in C++."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Mapping

from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute

from tilewright.targets.cxx.flavour import INT, CType, Flavour

_INTEGERS: Mapping[int, CType] = {
    1: CType("bool", 8),
    8: CType("signed char", 8),
    16: CType("short", 16),
    32: INT,
    64: CType("long long", 64),
}
_UNSIGNED: Mapping[int, str] = {
    8: "unsigned char",
    16: "unsigned short",
    32: "unsigned",
    64: "unsigned long long",
}

KEYWORDS = frozenset(
    [
        "alignas",
        "alignof",
        "and",
        "asm",
        "auto",
        "bool",
        "break",
        "case",
        "catch",
        "char",
        "class",
        "const",
        "constexpr",
        "continue",
        "default",
        "delete",
        "do",
        "double",
        "else",
        "enum",
        "explicit",
        "export",
        "extern",
        "false",
        "float",
        "for",
        "friend",
        "goto",
        "if",
        "inline",
        "int",
        "long",
        "mutable",
        "namespace",
        "new",
        "not",
        "operator",
        "or",
        "private",
        "protected",
        "public",
        "register",
        "return",
        "short",
        "signed",
        "sizeof",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "true",
        "try",
        "typedef",
        "typename",
        "union",
        "unsigned",
        "using",
        "virtual",
        "void",
        "volatile",
        "while",
        "xor",
        "smem",
        "threadIdx",
        "blockIdx",
        "blockDim",
        "gridDim",
        "half",
        "tw",
    ]
)
"""Keywords that are not valid variable names."""


def c_type(type: Attribute, flavour: Flavour) -> CType | None:
    """The C++ type of a scalar; None if there is none."""
    if isinstance(type, IndexType):
        return INT
    if isinstance(type, IntegerType):
        return _INTEGERS.get(type.width.data)
    return flavour.types.get(type.__class__)


def unsigned(bits: int) -> str:
    """The name of an unsigned type."""
    return _UNSIGNED[bits]


def bracketed(name: str) -> str:
    """A functional cast takes a one-token type name."""
    return f"({name})" if " " in name else name


def literal(constant: Attribute, flavour: Flavour) -> str:
    """A constant as C++ writes it."""
    if isinstance(constant, IntegerAttr):
        return _integer(constant)
    assert isinstance(constant, FloatAttr)
    return _float(constant.value.data, constant.type, flavour)


def _integer(constant: IntegerAttr) -> str:
    value, type = constant.value.data, constant.type
    if isinstance(type, IntegerType) and type.width.data == 1:
        return "true" if value else "false"
    if isinstance(type, IntegerType) and type.width.data == 64:
        # The most negative number has no literal of its own.
        return "(-9223372036854775807ll - 1)" if value == -(1 << 63) else f"{value}ll"
    return "(-2147483647 - 1)" if value == -(1 << 31) else str(value)


def _float(value: float, type: AnyFloat, flavour: Flavour) -> str:
    if isinstance(type, Float64Type):
        return _digits(value) if math.isfinite(value) else flavour.special_double(_bits("d", value))
    if math.isfinite(value):
        text = f"{_digits(_as_float32(value))}f"
    else:
        text = flavour.special_float(_bits("f", value))
    if isinstance(type, Float32Type):
        return text
    found = c_type(type, flavour)
    assert found is not None
    return f"{found.name}({text})"


def _bits(form: str, value: float) -> int:
    """The bits of an infinity or of what is not a number."""
    (bits,) = struct.unpack(f"<{'Q' if form == 'd' else 'I'}", struct.pack(f"<{form}", value))
    return bits


def _as_float32(value: float) -> float:
    (found,) = struct.unpack("<f", struct.pack("<f", value))
    return found


def _digits(value: float) -> str:
    """The shortest digits that give the number back."""
    text = repr(value)
    return text if "." in text or "e" in text else f"{text}.0"


class Names:
    """Names of variables, each given once."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def take(self, hint: str | None, fallback: str = "v") -> str:
        """A name like `hint` that nothing else has."""
        base = re.sub(r"\W", "_", hint or "").strip("_") or fallback
        if base[0].isdigit() or base in KEYWORDS or base.startswith("__"):
            base = f"{fallback}_{base.strip('_')}"
        # `k_1` of the IR's printer is just `k` in a scope of its own; numbers are given anew.
        count = self._taken.get(base)
        if count is None:
            self._taken[base] = 1
            return base
        while (name := f"{base}_{count}") in self._taken:
            count += 1
        self._taken[base] = count + 1
        self._taken[name] = 1
        return name
