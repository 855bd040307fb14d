"""Ops on tensors in registers: change of layout, unpacking of four-bit floats."""

from __future__ import annotations

from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerAttr, i8, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, i32_prop
from tilewright.dialects.tt.constraints import FLOAT_TENSOR, TENSOR, tensor_of_any
from tilewright.dialects.tt.traits import (
    SameOperandsAndResultElementType,
    SameOperandsAndResultShape,
)
from tilewright.dialects.ttg.base import ttg_traits
from tilewright.dialects.type_utils import element_type_of, encoding_of, shape_of
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp

_I8_TENSOR = tensor_of_any(Satisfies("8-bit signless integer", lambda type: type == i8))


@irdl_op_definition
class ConvertLayoutOp(AsmOp):
    """The same tensor in another layout."""

    name = "ttg.convert_layout"
    src = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = ttg_traits(SameOperandsAndResultShape(), SameOperandsAndResultElementType(), Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[type])


@irdl_op_definition
class Fp4ToFpOp(AsmOp):
    """Unpacks pairs of four-bit floats (e2m1), the first of a pair in the low half of its byte.

    Pairs are along `axis`, which becomes twice as long.
    """

    name = "ttg.fp4_to_fp"
    src = operand_def(_I8_TENSOR)
    axis = i32_prop()
    result = result_def(FLOAT_TENSOR)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, axis: int, type: Attribute) -> None:
        super().__init__(
            operands=[src], result_types=[type], properties={"axis": IntegerAttr(axis, i32)}
        )

    @override
    def verify_(self) -> None:
        element = element_type_of(self.result.type)
        if not isinstance(element, BFloat16Type | Float16Type):
            raise VerifyException(f"only bf16 or f16 is supported for now, got '{element}'")
        _verify_unpacking(self.src.type, self.result.type, self.axis.value.data)


def _verify_unpacking(source: Attribute, result: Attribute, axis: int) -> None:
    before, after = shape_of(source), shape_of(result)
    if len(before) != len(after):
        raise VerifyException(f"source rank {len(before)} != result rank {len(after)}")
    if not 0 <= axis < len(before):
        raise VerifyException(f"axis {axis} out of range for rank {len(before)}")
    for dim, (old, new) in enumerate(zip(before, after, strict=True)):
        if dim == axis and new != 2 * old:
            raise VerifyException(
                f"axis {axis} dimension must be 2x source dimension (src={old}, dst={new})"
            )
        if dim != axis and new != old:
            raise VerifyException(f"dimension {dim} mismatch (src={old}, dst={new}, axis={axis})")
    if (encoding_of(source) is None) != (encoding_of(result) is None):
        raise VerifyException("source and result must both have an encoding, or neither")
