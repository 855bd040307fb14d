"""Math on DST (SFPU), and the packer.

    tensix.unary exp %d                                        DST[d] = exp(DST[d])
    tensix.unary_scalar mul %d, %bits
    tensix.binary_dst max %d, %e -> %d
    tensix.where f32 %c, %a, %b -> %d
    tensix.pack %d -> %cb16 : ...                              next page of cb16 = DST[d]

The SFPU must not read a slot of DST that has no value yet; the packer reads such a slot as zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def

from tilewright.dialects.tensix.config import ComputeOp
from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.functions import (
    BINARY_DST,
    UNARY,
    UNARY_SCALAR,
    InitKey,
)
from tilewright.dialects.tensix.math import MathOp
from tilewright.dialects.tensix.types import CB
from tilewright.dialects.tile.base import (
    KeywordSyntax,
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
)
from tilewright.dialects.tile.mixed import INDEX

_UNARY = KeywordSyntax(UNARY)
_UNARY_SCALAR = KeywordSyntax(UNARY_SCALAR)
_BINARY_DST = KeywordSyntax(BINARY_DST)
_FORMATS = KeywordSyntax(tuple(format.value for format in Format))


@irdl_op_definition
class UnaryOp(MathOp):
    """``DST[dst] = function(DST[dst])``."""

    name = "tensix.unary"
    function = keyword_prop(_UNARY)
    dst = operand_def(INDEX)

    ASM: ClassVar[str] = "$function $dst attr-dict"

    def __init__(self, function: str, dst: Operand) -> None:
        super().__init__(operands=[dst], properties=given(function=StringAttr(function)))

    @override
    def init_key(self) -> InitKey:
        return InitKey("unary", self.function.data)

    @override
    def slots_read(self) -> Sequence[SSAValue]:
        return (self.dst,)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class UnaryScalarOp(MathOp):
    """``DST[dst] = DST[dst] function scalar``; `bits` is the fp32 bit pattern of the scalar."""

    name = "tensix.unary_scalar"
    function = keyword_prop(_UNARY_SCALAR)
    dst = operand_def(INDEX)
    bits = operand_def(INDEX)

    ASM: ClassVar[str] = "$function $dst `,` $bits attr-dict"

    def __init__(self, function: str, dst: Operand, bits: Operand) -> None:
        super().__init__(operands=[dst, bits], properties=given(function=StringAttr(function)))

    @override
    def init_key(self) -> InitKey:
        return InitKey("unary_scalar")

    @override
    def slots_read(self) -> Sequence[SSAValue]:
        return (self.dst,)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class BinaryDstOp(MathOp):
    """``DST[dst] = DST[lhs] function DST[rhs]``."""

    name = "tensix.binary_dst"
    function = keyword_prop(_BINARY_DST)
    lhs = operand_def(INDEX)
    rhs = operand_def(INDEX)
    dst = operand_def(INDEX)

    ASM: ClassVar[str] = "$function $lhs `,` $rhs `->` $dst attr-dict"

    def __init__(self, function: str, lhs: Operand, rhs: Operand, dst: Operand) -> None:
        super().__init__(operands=[lhs, rhs, dst], properties=given(function=StringAttr(function)))

    @override
    def init_key(self) -> InitKey:
        return InitKey("binary_dst", self.function.data)

    @override
    def slots_read(self) -> Sequence[SSAValue]:
        return (self.lhs, self.rhs)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class WhereOp(MathOp):
    """``DST[dst] = DST[condition] != 0 ? DST[lhs] : DST[rhs]``."""

    name = "tensix.where"
    format_name = keyword_prop(_FORMATS, "f32")
    condition = operand_def(INDEX)
    lhs = operand_def(INDEX)
    rhs = operand_def(INDEX)
    dst = operand_def(INDEX)

    ASM: ClassVar[str] = "$format_name $condition `,` $lhs `,` $rhs `->` $dst attr-dict"

    def __init__(
        self,
        condition: Operand,
        lhs: Operand,
        rhs: Operand,
        dst: Operand,
        format: Format | str = Format.F32,
    ) -> None:
        super().__init__(
            operands=[condition, lhs, rhs, dst],
            properties=given(format_name=StringAttr(Format(format).value)),
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("where")

    @override
    def slots_read(self) -> Sequence[SSAValue]:
        return (self.condition, self.lhs, self.rhs)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class FillOp(MathOp):
    """``DST[dst] = value`` in every element; `bits` is the fp32 bit pattern of the value."""

    name = "tensix.fill"
    dst = operand_def(INDEX)
    bits = integer_prop()

    ASM: ClassVar[str] = "$dst `bits` `(` $bits `)` attr-dict"

    def __init__(self, dst: Operand, bits: int) -> None:
        super().__init__(operands=[dst], properties=given(bits=integer_attr(bits)))

    @property
    def value_bits(self) -> int:
        return self.bits.value.data

    @override
    def init_key(self) -> InitKey:
        return InitKey("fill")

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class FillWordOp(MathOp):
    """``DST[dst] = word`` in every element: a run-time value of the format, as a bit pattern."""

    name = "tensix.fill_word"
    format_name = keyword_prop(_FORMATS, "f32")
    dst = operand_def(INDEX)
    word = operand_def(INDEX)

    ASM: ClassVar[str] = "$format_name $dst `,` $word attr-dict"

    def __init__(self, dst: Operand, word: Operand, format: Format | str = Format.F32) -> None:
        super().__init__(
            operands=[dst, word], properties=given(format_name=StringAttr(Format(format).value))
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("fill")

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


@irdl_op_definition
class TypecastOp(MathOp):
    """Converts the elements of a DST tile from one format to another."""

    name = "tensix.typecast"
    source = keyword_prop(_FORMATS)
    target = keyword_prop(_FORMATS)
    dst = operand_def(INDEX)

    ASM: ClassVar[str] = "$dst `from` $source `to` $target attr-dict"

    def __init__(self, dst: Operand, source: Format | str, target: Format | str) -> None:
        super().__init__(
            operands=[dst],
            properties=given(
                source=StringAttr(Format(source).value), target=StringAttr(Format(target).value)
            ),
        )

    @override
    def init_key(self) -> InitKey:
        return InitKey("typecast", self.source.data, self.target.data)

    @override
    def slots_read(self) -> Sequence[SSAValue]:
        return (self.dst,)

    @override
    def slots_written(self) -> Sequence[SSAValue]:
        return (self.dst,)


# -- packer ------------------------------------------------------------------------------------


@irdl_op_definition
class PackOp(ComputeOp):
    """Stores a DST tile to a circular buffer, converted to its format.

    Without `index`, the k-th pack since the last push goes to page k; with it, to that page.
    """

    name = "tensix.pack"
    dst = operand_def(INDEX)
    cb = operand_def(CB)
    index = opt_operand_def(INDEX)

    ASM: ClassVar[str] = "$dst `->` $cb (`[` $index^ `]`)? attr-dict `:` type($cb)"

    def __init__(self, dst: Operand, cb: Operand, index: Operand | None = None) -> None:
        super().__init__(operands=[dst, cb, index])
