"""Accesses to global memory by blocks, through tensor descriptors.

A descriptor holds the address, shape and strides of a tensor and the shape of the blocks it is
accessed in; hardware with a tensor memory accelerator moves a block with one instruction.
Reductions, gathers and scatters of whole rows exist as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Self, cast

from typing_extensions import override
from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    result_def,
    var_operand_def,
)
from xdsl.traits import (
    ConditionallySpeculatable,
    EffectInstance,
    MemoryEffect,
    MemoryEffectKind,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, enum_prop, i32_attr, ints_attr, tt_traits
from tilewright.dialects.tt.cache_text import CachedAccess, access_attributes
from tilewright.dialects.tt.constraints import DESC, I32_TENSOR, PTR, TENSOR
from tilewright.dialects.tt.enums import DESCRIPTOR_REDUCE_KIND, PADDING
from tilewright.dialects.tt.traits import GlobalRead, GlobalReadWrite
from tilewright.dialects.tt.types import PtrType, TensorDescType
from tilewright.dialects.type_utils import (
    AnyTensor,
    bit_width,
    element_type_of,
    num_elements,
    shape_of,
    with_shape,
)
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

_NO_REDUCTION = i32_attr(0)
_MIN_GATHER_ROWS = 8
_MIN_GATHER_ROW_BYTES = 32
_MAX_GATHER_BITS = 32


# Making a descriptor.


class _DescriptorEffects(MemoryEffect, ConditionallySpeculatable):
    """Making a descriptor is pure, unless it is made in memory that the program gives."""

    @classmethod
    @override
    def get_effects(cls, op: Operation) -> AbstractSet[EffectInstance]:
        pointer = cast("MakeTensorDescOp", op).desc_ptr
        return frozenset() if pointer is None else {EffectInstance(MemoryEffectKind.WRITE, pointer)}

    @classmethod
    @override
    def is_speculatable(cls, op: Operation) -> bool:
        return cast("MakeTensorDescOp", op).desc_ptr is None


def _parse_desc_ptr(parser: IRParser, state: ParseState) -> bool:
    if parser.parse_optional_keyword("descPtr") is None:
        parser.raise_error("expected 'descPtr' keyword")
    parser.parse_punctuation("=")
    state.operands["desc_ptr"] = [parser.parse_unresolved_operand("expected SSA operand")]
    parser.parse_punctuation(":")
    state.types["desc_ptr"] = (parser.parse_type(),)
    return True


def _print_desc_ptr(printer: IRPrinter, op: MakeTensorDescOp) -> None:
    assert op.desc_ptr is not None
    printer.print_string("descPtr = ")
    printer.print_operand(op.desc_ptr)
    printer.print_string(" : ")
    printer.print_attribute(op.desc_ptr.type)


def _parse_types(parser: IRParser, state: ParseState) -> None:
    state.types["base"] = (_parse_maybe_stripped(parser, PtrType),)
    parser.parse_punctuation(",")
    state.types["result"] = (_parse_maybe_stripped(parser, TensorDescType),)


def _parse_maybe_stripped(parser: IRParser, type: type[Attribute]) -> Attribute:
    return parser.parse_bare(type) if parser.next_text == "<" else parser.parse_type()


def _print_types(printer: IRPrinter, op: MakeTensorDescOp) -> None:
    write = printer.print_attribute if printer.flavour.is_tlx else printer.print_stripped
    write(op.base.type)
    printer.print_string(", ")
    write(op.result.type)


@irdl_op_definition
class MakeTensorDescOp(AsmOp):
    """A descriptor of a tensor; in TLX possibly written to an address in memory, `desc_ptr`.

    `padding` is what is read out of bounds of the tensor.
    """

    name = "tt.make_tensor_descriptor"

    base = operand_def(PTR)
    shape = var_operand_def(i32)
    strides = var_operand_def(i64)
    desc_ptr = opt_operand_def(PTR)
    padding = enum_prop(PADDING, "zero")
    result = result_def(DESC)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = tt_traits(_DescriptorEffects())

    ASM: ClassVar[str] = (
        "$base `,` `[` $shape `]` `,` `[` $strides `]` (`,` custom<Desc>($desc_ptr)^)? attr-dict "
        "`:` custom<Types>()"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Desc": Directive(_parse_desc_ptr, _print_desc_ptr, lambda op: op.desc_ptr is not None),
        "Types": Directive(_parse_types, _print_types),
    }

    def __init__(
        self,
        base: Operand,
        shape: Sequence[Operand],
        strides: Sequence[Operand],
        result_type: TensorDescType,
        *,
        desc_ptr: Operand | None = None,
        padding: str = "zero",
    ) -> None:
        super().__init__(
            operands=[base, shape, strides, desc_ptr],
            result_types=[result_type],
            properties={"padding": PADDING.attribute(padding)},
        )

    @classmethod
    @override
    def create(
        cls,
        *,
        operands: Sequence[SSAValue] = (),
        properties: Mapping[str, Attribute] = {},
        **parts: Any,
    ) -> Self:
        if "operandSegmentSizes" not in properties:
            # Generic text other than TLX's has as many strides as extents, and no segment sizes.
            rank = len(operands) // 2
            sizes = ints_attr((1, rank, rank, 0))
            properties = {**properties, "operandSegmentSizes": sizes}
        return super().create(operands=operands, properties=properties, **parts)

    @override
    def verify_(self) -> None:
        if len(self.shape) != len(self.strides):
            raise VerifyException(f"has {len(self.shape)} extents but {len(self.strides)} strides")


# Loading and storing blocks.


def _descriptor(value: SSAValue) -> TensorDescType:
    return cast("TensorDescType", value.type)


def check_block(descriptor: TensorDescType, tensor: Attribute) -> None:
    """Raise unless `tensor` can hold a block of `descriptor`."""
    block = descriptor.signless_element_type
    element = element_type_of(tensor)
    if block != element:
        raise VerifyException(
            "descriptor block and tensor element types must match, but got descriptor element "
            f"type '{block}' and tensor element type '{element}'"
        )
    expected, actual = num_elements(descriptor), num_elements(tensor)
    if expected != actual:
        raise VerifyException(
            "descriptor block and tensor must have the same number of elements, but got "
            f"descriptor block with {expected} elements tensor with {actual} elements"
        )


@irdl_op_definition
class DescriptorLoadOp(CachedAccess):
    """The block at `indices`, given in elements."""

    name = "tt.descriptor_load"

    desc = operand_def(DESC)
    indices = var_operand_def(i32)
    policy = opt_prop_def(Attribute, prop_name="cachePolicy")
    result = result_def(TENSOR)

    traits = tt_traits(GlobalRead())

    ASM: ClassVar[str] = (
        "$desc `[` $indices `]` `` custom<Attributes>($cachePolicy) "
        "`:` type($desc) `->` type($result)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Attributes": access_attributes(())}

    def __init__(
        self,
        desc: Operand,
        indices: Sequence[Operand],
        result_type: Attribute | None = None,
        *,
        policy: Attribute | None = None,
    ) -> None:
        value = SSAValue.get(desc)
        descriptor = _descriptor(value)
        if result_type is None:
            result_type = with_shape(descriptor.block_type, descriptor.shape)
        super().__init__(
            operands=[value, indices],
            result_types=[result_type],
            properties={"cachePolicy": policy},
        )

    @override
    def verify_(self) -> None:
        check_block(_descriptor(self.desc), self.result.type)


def _parse_reduce_kind(parser: IRParser, state: ParseState) -> None:
    if parser.parse_optional_keyword("reduce_kind") is not None:
        parser.parse_punctuation("=")
        state.properties["reduce_kind"] = DESCRIPTOR_REDUCE_KIND.parse(parser)


@irdl_op_definition
class DescriptorStoreOp(AsmOp):
    """Store a block at `indices`.

    TLX writes a reduction as ``tt.descriptor_store ... reduce_kind = add`` too. It is read as the
    ``tt.descriptor_reduce`` that it means.
    """

    name = "tt.descriptor_store"

    desc = operand_def(DESC)
    src = operand_def(TENSOR)
    indices = var_operand_def(i32)

    traits = tt_traits(GlobalReadWrite())

    ASM: ClassVar[str] = (
        "$desc `[` $indices `]` `,` $src `` custom<ReduceKind>() attr-dict "
        "`:` type($desc) `,` type($src)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "ReduceKind": Directive(_parse_reduce_kind, lambda printer, op: None)
    }

    def __init__(self, desc: Operand, indices: Sequence[Operand], src: Operand) -> None:
        super().__init__(operands=[desc, src, indices])

    @classmethod
    @override
    def create(cls, *, properties: Mapping[str, Attribute] = {}, **parts: Any) -> Self:
        current = dict(properties)
        kind = current.pop("reduce_kind", None)
        if kind is None or kind == _NO_REDUCTION:
            return super().create(properties=current, **parts)
        return cast(
            "Self", DescriptorReduceOp.create(properties={**current, "kind": kind}, **parts)
        )

    @override
    def verify_(self) -> None:
        check_block(_descriptor(self.desc), self.src.type)


@irdl_op_definition
class DescriptorReduceOp(AsmOp):
    """Combine a block with what is stored at `indices`."""

    name = "tt.descriptor_reduce"

    kind = enum_prop(DESCRIPTOR_REDUCE_KIND)
    desc = operand_def(DESC)
    src = operand_def(TENSOR)
    indices = var_operand_def(i32)

    traits = tt_traits(GlobalReadWrite())

    ASM: ClassVar[str] = (
        "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)"
    )

    def __init__(self, kind: str, desc: Operand, indices: Sequence[Operand], src: Operand) -> None:
        super().__init__(
            operands=[desc, src, indices],
            properties={"kind": DESCRIPTOR_REDUCE_KIND.attribute(kind)},
        )

    @override
    def verify_(self) -> None:
        check_block(_descriptor(self.desc), self.src.type)


# Rows.


def check_rows(descriptor: TensorDescType, rows: Attribute, indices: Attribute) -> None:
    """Raise unless blocks of `descriptor`, one a row, make up `rows` at `indices`."""
    block = descriptor.block_type
    plain = with_shape(block, block.get_shape())
    if len(descriptor.shape) != 2:
        raise VerifyException(f"descriptor block must be a 2D tensor, but got '{plain}'")
    if descriptor.shape[0] != 1:
        raise VerifyException(f"descriptor block must have exactly 1 row, but got '{plain}'")
    check_gathered(rows, indices)
    if shape_of(rows)[1] != descriptor.shape[1]:
        raise VerifyException(
            f"result tensor number of columns must match block ({descriptor.shape[1]}), "
            f"but got '{rows}'"
        )
    if element_type_of(rows) != block.element_type:
        raise VerifyException(
            f"result tensor element type must match block ('{block.element_type}'), "
            f"but got '{rows}'"
        )


def check_gathered(rows: Attribute, indices: Attribute) -> None:
    """Raise unless the hardware can gather `rows`, one for each of `indices`."""
    if len(shape_of(indices)) != 1:
        raise VerifyException(f"x offsets must be a 1D tensor, but got '{indices}'")
    shape = shape_of(rows)
    if len(shape) != 2:
        raise VerifyException(f"result must be a 2D tensor, but got '{rows}'")
    if shape[0] < _MIN_GATHER_ROWS:
        raise VerifyException(f"must have at least {_MIN_GATHER_ROWS} rows, but got {shape[0]}")
    width = bit_width(rows)
    if width > _MAX_GATHER_BITS:
        raise VerifyException(f"TMA dtype cannot be greater than {_MAX_GATHER_BITS} bits")
    columns = _MIN_GATHER_ROW_BYTES // width * 8
    if shape[1] < columns:
        raise VerifyException(
            f"must have at least {columns} columns for '{element_type_of(rows)}', "
            f"but got {shape[1]}"
        )
    if shape[0] != shape_of(indices)[0]:
        raise VerifyException(
            f"result tensor must have as many rows as indices ({shape_of(indices)[0]}), "
            f"but got '{rows}'"
        )


@irdl_op_definition
class DescriptorGatherOp(AsmOp):
    """The rows `x_offsets`, each from column `y_offset` on."""

    name = "tt.descriptor_gather"

    desc = operand_def(DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    result = result_def(TENSOR)

    traits = tt_traits(GlobalRead())

    ASM: ClassVar[str] = (
        "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)"
    )

    def __init__(
        self, desc: Operand, x_offsets: Operand, y_offset: Operand, result_type: AnyTensor
    ) -> None:
        super().__init__(operands=[desc, x_offsets, y_offset], result_types=[result_type])

    @override
    def verify_(self) -> None:
        check_rows(_descriptor(self.desc), self.result.type, self.x_offsets.type)


@irdl_op_definition
class DescriptorScatterOp(AsmOp):
    """Store rows to the rows `x_offsets`, each from column `y_offset` on."""

    name = "tt.descriptor_scatter"

    desc = operand_def(DESC)
    x_offsets = operand_def(I32_TENSOR)
    y_offset = operand_def(i32)
    src = operand_def(TENSOR)

    traits = tt_traits(GlobalReadWrite())

    ASM: ClassVar[str] = (
        "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict "
        "`:` type($desc) `,` type($x_offsets) `,` type($y_offset) `,` type($src)"
    )

    def __init__(self, desc: Operand, x_offsets: Operand, y_offset: Operand, src: Operand) -> None:
        super().__init__(operands=[desc, x_offsets, y_offset, src])

    @override
    def verify_(self) -> None:
        check_rows(_descriptor(self.desc), self.src.type, self.x_offsets.type)
