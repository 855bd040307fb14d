"""Tensors in registers of AMD GPUs: slices, transposition in a thread, scaled conversions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    Float8E4M3FNType,
    Float8E5M2Type,
    IntegerType,
    i1,
    i8,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, bool_prop, enum_prop, i32_prop
from tilewright.dialects.tt.constraints import (
    FLOAT,
    FLOAT_TENSOR,
    INT,
    INT_OR_FLOAT_TENSOR,
    PTR,
    TENSOR,
    tensor_of_any,
)
from tilewright.dialects.tt.enums import SCALE_DOT_ELEM_TYPE
from tilewright.dialects.ttg.distributed import DotOperandEncoding
from tilewright.dialects.ttg.types import MEMDESC, TOKEN_TYPE
from tilewright.dialects.ttng.checks import layout_of
from tilewright.dialects.ttng.effects import AccessEffect
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.constraints import Satisfies, either, instance_of
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.flavour import Flavour
from tilewright.ir.text.syntax import INT64_ARRAY, AttributeSyntax

_I8 = Satisfies("8-bit signless integer", lambda type: type == i8)
_I8_TENSOR = tensor_of_any(_I8)
_FP8_TENSOR = tensor_of_any(
    instance_of("f8E4M3FN type", Float8E4M3FNType), instance_of("f8E5M2 type", Float8E5M2Type)
)
_SCALE = tensor_of_any(FLOAT, _I8)
_I64_ARRAY = Satisfies(
    "i64 dense array attribute",
    lambda attribute: isinstance(attribute, DenseArrayBase) and attribute.elt_type == i64,
    (DenseArrayBase,),
)


@irdl_op_definition
class ExtractSliceOp(AsmOp):
    """The part of a tensor that starts at `static_offsets` and has the shape of the result."""

    name = "amdg.extract_slice"
    source = operand_def(TENSOR)
    static_offsets = cast("DenseArrayBase[IntegerType]", prop_def(_I64_ARRAY))
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$source $static_offsets attr-dict `:` type($source) `to` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"static_offsets": INT64_ARRAY}

    def __init__(self, source: Operand, offsets: Sequence[int], result_type: Attribute) -> None:
        super().__init__(
            operands=[source],
            result_types=[result_type],
            properties={"static_offsets": DenseArrayBase.from_list(i64, list(offsets))},
        )

    @property
    def offsets(self) -> tuple[int, ...]:
        return tuple(int(value) for value in self.static_offsets.get_values())

    @override
    def verify_(self) -> None:
        source, result = shape_of(self.source.type), shape_of(self.result.type)
        if element_type_of(self.source.type) != element_type_of(self.result.type):
            raise VerifyException("result element type must match source element type")
        if len(source) != len(result) or len(self.offsets) != len(source):
            raise VerifyException("result rank must be equal to source rank")
        for dim, (offset, part, whole) in enumerate(zip(self.offsets, result, source, strict=True)):
            if part > whole:
                raise VerifyException(f"result shape cannot exceed source shape at dimension {dim}")
            if offset < 0 or offset % part or offset + part > whole:
                raise VerifyException(f"invalid offset at dimension {dim}")


@irdl_op_definition
class ConcatOp(AsmOp):
    """A larger tensor, concatenated from tensors of one type."""

    name = "amdg.concat"
    sources = var_operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$sources attr-dict `:` type($sources) `->` type($result)"


@irdl_op_definition
class CondBarrierOp(AsmOp):
    """A barrier for those threads whose predicate is true; no memory fence."""

    name = "amdg.cond_barrier"
    pred = operand_def(i1)

    ASM: ClassVar[str] = "attr-dict $pred"


@irdl_op_definition
class InThreadTransposeOp(AsmOp):
    """The same tensor in a layout whose threads hold runs along the other dimension."""

    name = "amdg.in_thread_transpose"
    src = operand_def(TENSOR)
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    @override
    def verify_(self) -> None:
        if element_type_of(self.src.type) != element_type_of(self.result.type):
            raise VerifyException("Expect input and output tensor to have same dtype")
        if shape_of(self.src.type) != shape_of(self.result.type):
            raise VerifyException("Expect equal input and output shapes")


class _LocalLoadPacked(AsmOp):
    """Loads bytes that hold two four-bit elements each, transposed while they are loaded."""

    src = operand_def(MEMDESC)
    token = opt_operand_def(TOKEN_TYPE)
    result = result_def(INT_OR_FLOAT_TENSOR)
    traits = traits_def(AccessEffect(reads=("src",)))

    ASM: ClassVar[str] = "$src (`token` $token^)? attr-dict `:` type($src) `->` type($result)"

    @override
    def verify_(self) -> None:
        if not isinstance(layout_of(self.result.type), DotOperandEncoding):
            raise VerifyException("only works with DotOperandEncodingAttr dst encoding")

    def asm_mnemonic(self, flavour: Flavour) -> str:
        """Releases before 3.9 have a letter less."""
        is_old = flavour.is_tlx or not flavour.at_least(3, 9)
        return _OLD_NAME if is_old else _NAME


_NAME = "amdg.local_load_packed_transposed"
_OLD_NAME = "amdg.local_load_packed_tranposed"


@irdl_op_definition
class LocalLoadPackedTransposedOp(_LocalLoadPacked):
    """Loads bytes that hold two four-bit elements each, transposed while they are loaded."""

    name = _NAME


@irdl_op_definition
class LocalLoadPackedTranposedOp(_LocalLoadPacked):
    """The name it had before 3.9; what is read is the op by its present one."""

    name = _OLD_NAME

    @classmethod
    @override
    def parse(cls, parser: Any) -> Any:
        return LocalLoadPackedTransposedOp.parse(parser)


@irdl_op_definition
class ScaledUpcastFp4Op(AsmOp):
    """Four-bit floats, two to a byte along `axis`, widened and multiplied by their scales."""

    name = "amdg.scaled_upcast_fp4"
    input = operand_def(_I8_TENSOR)
    scale = operand_def(_SCALE)
    axis = i32_prop()
    output = result_def(FLOAT_TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)"
    )

    @override
    def verify_(self) -> None:
        source, result = shape_of(self.input.type), shape_of(self.output.type)
        axis = self.axis.value.data
        if not 0 <= axis < len(source):
            raise VerifyException(f"axis {axis} is out of range for rank {len(source)}")
        widened = tuple(2 * n if dim == axis else n for dim, n in enumerate(source))
        if widened != result:
            raise VerifyException("output shape must be the input shape with axis doubled")


@irdl_op_definition
class ScaledUpcastFp8Op(AsmOp):
    """Eight-bit floats, widened and multiplied by their scales."""

    name = "amdg.scaled_upcast_fp8"
    input = operand_def(_FP8_TENSOR)
    scale = operand_def(_SCALE)
    output = result_def(FLOAT_TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)"
    )


@irdl_op_definition
class UpcastMXFPOp(AsmOp):
    """Small floats of format `fp_type`, widened and multiplied by their scales."""

    name = "amdg.upcast_mxfp"
    src = operand_def(TENSOR)
    scale = operand_def(TENSOR)
    fp_type = enum_prop(SCALE_DOT_ELEM_TYPE)
    fast_math = bool_prop(name="fastMath")
    result = result_def(TENSOR)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$src `,` $scale `fp_type` `=` $fp_type attr-dict "
        "`:` type($src) `,` type($scale) `->` type($result)"
    )


def _is_uniform(type: Attribute) -> bool:
    if PTR.predicate(type):
        return True
    return either(FLOAT, INT).predicate(type) and bit_width(type) in (16, 32, 64)


_UNIFORM = Satisfies("16/32/64-bit scalar or pointer", _is_uniform)


@irdl_op_definition
class AssumeUniformOp(AsmOp):
    """A scalar that the user asserts to be uniform across the threads of a warp."""

    name = "amdg.assume_uniform"
    src = operand_def(_UNIFORM)
    result = result_def(_UNIFORM)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "src": TypeRule("result and src have the same type", lambda types: types["result"])
    }

    def __init__(self, src: Operand) -> None:
        value = SSAValue.get(src)
        super().__init__(operands=[value], result_types=[value.type])
