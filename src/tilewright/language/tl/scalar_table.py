"""What there is to know about each scalar of `tl`: kind, bits, type in the IR, layout of floats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from xdsl.dialects.builtin import (
    BFloat16Type,
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


class Signedness(Enum):
    SIGNED = 0
    UNSIGNED = 1


class ScalarKind(Enum):
    """Kinds of scalars; a Python number gives way to a tensor of its own or a higher kind."""

    BOOLEAN = 0
    INTEGRAL = 1
    FLOATING = 2


@dataclass(frozen=True)
class Scalar:
    """A row of the table of scalars."""

    kind: ScalarKind
    bits: int
    ir: Attribute
    short: str  # in mangled names
    signed: bool = False
    mantissa_bits: int = 0
    exponent_bias: int = 0


def _integers() -> Iterator[tuple[str, Scalar]]:
    yield "int1", Scalar(ScalarKind.BOOLEAN, 1, IntegerType(1), "u1")
    for bits in (8, 16, 32, 64):
        ir = IntegerType(bits)
        yield f"int{bits}", Scalar(ScalarKind.INTEGRAL, bits, ir, f"i{bits}", signed=True)
        yield f"uint{bits}", Scalar(ScalarKind.INTEGRAL, bits, ir, f"u{bits}")


_FLOATS: Sequence[tuple[str, int, Attribute, int, int]] = (
    # name, bits, type in the IR, bits of the mantissa, bias of the exponent
    ("fp8e4b15", 8, IntegerType(8), 3, 15),  # no such type in MLIR: its bits are carried as i8
    ("fp8e4nv", 8, Float8E4M3FNType(), 3, 7),
    ("fp8e4b8", 8, Float8E4M3FNUZType(), 3, 8),
    ("fp8e5", 8, Float8E5M2Type(), 2, 15),
    ("fp8e5b16", 8, Float8E5M2FNUZType(), 2, 16),
    ("fp16", 16, Float16Type(), 10, 15),
    ("bf16", 16, BFloat16Type(), 7, 127),
    ("fp32", 32, Float32Type(), 23, 127),
    ("fp64", 64, Float64Type(), 52, 1023),
)

SCALARS: Mapping[str, Scalar] = {
    **dict(_integers()),
    **{
        name: Scalar(
            ScalarKind.FLOATING, bits, ir, name, mantissa_bits=mantissa, exponent_bias=bias
        )
        for name, bits, ir, mantissa, bias in _FLOATS
    },
}
