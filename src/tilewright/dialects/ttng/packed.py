"""Arithmetic on adjacent elements at once, and votes of a warp.

A packed instruction computes two or four adjacent elements. The element types of operands and
result choose it; ``_SIGNATURES`` lists what exists. Four-bit elements come two to a byte, which
halves one dimension of that operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float8E4M3FNType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    Float16Type,
    Float32Type,
    i8,
)
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, result_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import enum_prop
from tilewright.dialects.ttg.interfaces import DistributedEncoding
from tilewright.dialects.ttg.types import comma
from tilewright.dialects.ttng.base import ttng_traits
from tilewright.dialects.ttng.checks import layout_of
from tilewright.dialects.type_utils import element_type_of, is_tensor, shape_of
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import Enum

OP_KIND = Enum({"add": 0, "sub": 1, "mul": 2, "fma": 3, "min": 4, "max": 5})


def _suffix(type: Attribute) -> str | None:
    """The PTX type of packs of elements of `type`."""
    match element_type_of(type):
        case Float32Type():
            return "f32x2"
        case Float16Type():
            return "f16x2"
        case BFloat16Type():
            return "bf16x2"
        case Float8E5M2Type():
            return "e5m2x4"
        case Float8E4M3FNType():
            return "e4m3x4"
        case Float8E8M0FNUType():
            return "ue8m0x4"
        case element if element == i8:
            return "e2m1x4"
        case _:
            return None


_PACKED = Satisfies(
    "ranked tensor of packed arithmetic element values",
    lambda type: is_tensor(type) and _suffix(type) is not None,
)


@dataclass(frozen=True)
class _Signature:
    """Types of operands that may be combined; ``=`` stands for the type of the result."""

    kinds: str
    result: str
    operands: tuple[str, ...]

    def accepts(self, kind: str, result: str, operands: Sequence[str]) -> bool:
        return (
            kind in self.kinds.split()
            and result in self.result.split()
            and len(operands) == len(self.operands)
            and all(
                found == result if allowed == "=" else found in allowed.split()
                for allowed, found in zip(self.operands, operands, strict=True)
            )
        )


_HALF = "f16x2 bf16x2"
_PAIR = f"f32x2 {_HALF}"
_SMALL = "e5m2x4 e4m3x4"
_FACTOR = f"{_SMALL} e2m1x4 ue8m0x4"

_SIGNATURES = (
    _Signature("add sub mul", _PAIR, ("=", "=")),
    _Signature("fma", _PAIR, ("=", "=", "=")),
    _Signature("min max", _HALF, ("=", "=")),
    _Signature("add sub", "f32x2", (_HALF, "f32x2")),
    _Signature("add sub mul", _HALF, ("f32x2", "f32x2")),
    _Signature("mul", "f16x2", ("=", "bf16x2")),
    _Signature("mul", "bf16x2", ("=", "f16x2")),
    _Signature("fma", "f32x2", (_HALF, "f32x2", "f32x2")),
    _Signature("add sub", _SMALL, (_FACTOR, "=")),
    _Signature("mul", _SMALL, (_FACTOR, _FACTOR)),
    _Signature("fma", _SMALL, (_FACTOR, _FACTOR, "=")),
)


@irdl_op_definition
class PackedArithOp(AsmOp):
    """Addition, subtraction, multiplication, FMA, minimum or maximum, element by element."""

    name = "ttng.packed_arith"
    # Not `operands`, which every op has.
    values = var_operand_def(_PACKED)
    op_kind = enum_prop(OP_KIND)
    result = result_def(_PACKED)
    traits = ttng_traits(Pure())

    ASM: ClassVar[str] = "$op_kind $values attr-dict `:` functional-type(values, result)"

    @property
    def kind(self) -> str:
        return OP_KIND.keyword(self.op_kind)

    @override
    def verify_(self) -> None:
        expected = 3 if self.kind == "fma" else 2
        if len(self.values) != expected:
            raise VerifyException(
                f"{self.kind} expects {expected} operands but got {len(self.values)}"
            )
        if not isinstance(layout_of(self.result.type), DistributedEncoding):
            raise VerifyException("requires a distributed tensor layout")
        result = str(_suffix(self.result.type))
        operands = [str(_suffix(value.type)) for value in self.values]
        if not any(each.accepts(self.kind, result, operands) for each in _SIGNATURES):
            raise VerifyException(
                f"unsupported {self.kind} signature {result} <- ({', '.join(operands)})"
            )
        for index, (value, suffix) in enumerate(zip(self.values, operands, strict=True)):
            self._verify_shape(index, shape_of(value.type), is_packed=suffix == "e2m1x4")

    def _verify_shape(self, index: int, shape: tuple[int, ...], *, is_packed: bool) -> None:
        whole = shape_of(self.result.type)
        if not is_packed:
            if shape != whole:
                raise VerifyException(
                    f"operand {index} must have the result shape {comma(whole)}, "
                    f"but got {comma(shape)}"
                )
            return
        differing = [
            full == 2 * half for full, half in zip(whole, shape, strict=False) if full != half
        ]
        if len(whole) != len(shape) or differing != [True]:
            raise VerifyException(
                "requires every fp4 operand to have the result shape with the same single "
                "dimension halved"
            )
