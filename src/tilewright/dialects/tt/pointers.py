"""Arithmetic on pointers, and block pointers.

A block pointer, ``!tt.ptr<tensor<64x32xf16>>``, points to a block of a tensor in global memory
together with the tensor's shape and strides. Triton has had none since 3.8 (use descriptors), but
text of 3.6, 3.7 and TLX does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    SameVariadicOperandSize,
    irdl_op_definition,
    operand_def,
    result_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import CheckedElementwise
from tilewright.dialects.tt.base import Operand, ints_attr, ints_prop, tt_traits
from tilewright.dialects.tt.constraints import (
    BLOCK_PTR,
    I64_LIKE,
    INT_LIKE,
    PTR,
    PTR_LIKE,
)
from tilewright.dialects.tt.traits import (
    SameOperandsAndResultEncoding,
    SameOperandsAndResultShape,
)
from tilewright.dialects.tt.types import PtrType, address_space_of, block_pointee
from tilewright.dialects.type_utils import AnyTensor, tensor_of, with_element_type
from tilewright.ir.text.assembly import AsmOp, TypeRule, Types

_CAST_TRAITS = tt_traits(
    CheckedElementwise(), SameOperandsAndResultShape(), SameOperandsAndResultEncoding(), Pure()
)
_CAST = "$src attr-dict `:` type($src) `->` type($result)"


@irdl_op_definition
class IntToPtrOp(AsmOp):
    """An address as a pointer."""

    name = "tt.int_to_ptr"

    src = operand_def(I64_LIKE)
    result = result_def(PTR_LIKE)

    traits = _CAST_TRAITS
    ASM: ClassVar[str] = _CAST

    def __init__(self, src: Operand, result_type: Attribute) -> None:
        super().__init__(operands=[src], result_types=[result_type])


@irdl_op_definition
class PtrToIntOp(AsmOp):
    """The address in a pointer."""

    name = "tt.ptr_to_int"

    src = operand_def(PTR_LIKE)
    result = result_def(I64_LIKE)

    traits = _CAST_TRAITS
    ASM: ClassVar[str] = _CAST

    def __init__(self, src: Operand) -> None:
        value = SSAValue.get(src)
        super().__init__(operands=[value], result_types=[with_element_type(value.type, i64)])


@irdl_op_definition
class AddPtrOp(AsmOp):
    """A pointer moved by a number of elements."""

    name = "tt.addptr"

    ptr = operand_def(PTR_LIKE)
    offset = operand_def(INT_LIKE)
    result = result_def(PTR_LIKE)

    traits = tt_traits(
        Pure(), CheckedElementwise(), SameOperandsAndResultShape(), SameOperandsAndResultEncoding()
    )

    ASM: ClassVar[str] = "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "ptr": TypeRule("result type matches ptr type", lambda types: types["result"])
    }

    def __init__(self, ptr: Operand, offset: Operand) -> None:
        value = SSAValue.get(ptr)
        super().__init__(operands=[value, offset], result_types=[value.type])


def _base_of(types: Types) -> Attribute:
    """The pointer to the first element of the block pointer that an op returns."""
    block = block_pointee(types["result"])
    if block is None:
        raise TypeError("not a block pointer")
    return PtrType.get(block.element_type, address_space_of(types["result"]))


@irdl_op_definition
class MakeTensorPtrOp(AsmOp):
    """A block pointer to a block at `offsets` of a tensor with `shape` and `strides`."""

    name = "tt.make_tensor_ptr"

    base = operand_def(PTR)
    shape = var_operand_def(i64)
    strides = var_operand_def(i64)
    offsets = var_operand_def(i32)
    order = ints_prop()
    result = result_def(BLOCK_PTR)

    irdl_options = (SameVariadicOperandSize(),)
    traits = tt_traits(Pure())

    ASM: ClassVar[str] = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict "
        "`:` stripped(type($result))"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "base": TypeRule("infer pointer type from the result type", _base_of)
    }

    def __init__(
        self,
        base: Operand,
        shape: Sequence[Operand],
        strides: Sequence[Operand],
        offsets: Sequence[Operand],
        block_shape: Sequence[int],
        order: Sequence[int],
    ) -> None:
        value = SSAValue.get(base)
        assert isinstance(value.type, PtrType)
        block = tensor_of(value.type.pointee, block_shape)
        super().__init__(
            operands=[value, shape, strides, offsets],
            result_types=[PtrType.get(block, value.type.address_space)],
            properties={"order": ints_attr(order)},
        )

    @property
    def block_type(self) -> AnyTensor:
        block = block_pointee(self.result.type)
        assert block is not None
        return block


@irdl_op_definition
class AdvanceOp(AsmOp):
    """A block pointer moved by a number of elements along each dimension."""

    name = "tt.advance"

    ptr = operand_def(BLOCK_PTR)
    offsets = var_operand_def(i32)
    result = result_def(BLOCK_PTR)

    traits = tt_traits(Pure())

    ASM: ClassVar[str] = "$ptr `,` `[` $offsets `]` attr-dict `:` stripped(type($result))"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "ptr": TypeRule("result type matches ptr type", lambda types: types["result"])
    }

    def __init__(self, ptr: Operand, offsets: Sequence[Operand]) -> None:
        value = SSAValue.get(ptr)
        super().__init__(operands=[value, offsets], result_types=[value.type])

    @override
    def verify_(self) -> None:
        block = block_pointee(self.result.type)
        rank = 0 if block is None else block.get_num_dims()
        if len(self.offsets) > rank:
            raise VerifyException(f"has {len(self.offsets)} offsets for a block of rank {rank}")
