"""Views of buffers: other shapes, parts and types of the same memory. None accesses the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, operand_def, result_def, var_operand_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tt.base import Operand, ints_attr, ints_prop
from tilewright.dialects.tt.layout_rules import check_inferred
from tilewright.dialects.tt.traits import SameOperandsAndResultElementType
from tilewright.dialects.ttg.base import integers, ttg_traits
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.interfaces import LayoutEncoding, SharedEncoding
from tilewright.dialects.ttg.shared import (
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    PartitionedSharedEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import MEMDESC, MemDescType
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

STORAGE_ALIAS_VIEW = "tlx.storage_alias_view"
"""Mark of a reinterpretation whose gaps may differ: other buffers' data is not read through it."""


class _View(AsmOp):
    """Base of ops that return a descriptor of the same memory as their operand."""

    @property
    def types(self) -> tuple[MemDescType, MemDescType]:
        """The types of source and result."""
        return memdesc(self.operands[0].type), memdesc(self.results[0].type)

    def verify_same_kind(self) -> None:
        """Raise unless source and result agree in element type and layout."""
        source, result = self.types
        if source.element_type != result.element_type:
            raise VerifyException("result element type must match desc element type")
        if source.encoding != result.encoding:
            raise VerifyException("src and result must have the same encoding")


@irdl_op_definition
class MemDescIndexOp(_View):
    """One of several buffers: the first dimension is dropped.

    A row of single elements has no dimension to drop; its elements are rows of one element.
    """

    name = "ttg.memdesc_index"
    src = operand_def(MEMDESC)
    index = operand_def(i32)
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "$src `[` $index `]` attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, index: Operand, type: MemDescType) -> None:
        super().__init__(operands=[src, index], result_types=[type])

    @override
    def verify_(self) -> None:
        self.verify_same_kind()
        source, result = self.types
        if result.rank != source.rank - 1:
            if source.rank != 1 or result.shape != (1,):
                raise VerifyException("result rank must be input rank - 1")
            return
        if len(source.alloc_shape) != source.rank:
            raise VerifyException("We don't allow taking memdesc_index of a memdesc_index")
        if source.shape[1:] != result.shape:
            raise VerifyException("result shape must equal to srcShape[1:]")
        if source.alloc_shape[1:] != source.shape[1:]:
            raise VerifyException("We only support memdesc_index of a multibuffer-prefix subview")
        if result.alloc_shape != result.shape:
            raise VerifyException("alloc shape must match shape for the result")


def _parse_offsets(parser: IRParser, state: ParseState) -> None:
    offsets = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_integer)
    state.properties["offsets"] = DenseArrayBase.from_list(i32, offsets)


def _print_offsets(printer: IRPrinter, op: Any) -> None:
    printer.print_string(", ".join(map(str, integers(op.offsets))))


@irdl_op_definition
class MemDescSubsliceOp(_View):
    """A part of a buffer that starts at constant offsets."""

    name = "ttg.memdesc_subslice"
    src = operand_def(MEMDESC)
    offsets = ints_prop()
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = (
        "$src `[` custom<Offsets>($offsets) `]` attr-dict `:` type($src) `->` type($result)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Offsets": Directive(_parse_offsets, _print_offsets)
    }

    def __init__(self, src: Operand, offsets: Sequence[int], type: MemDescType) -> None:
        super().__init__(
            operands=[src], result_types=[type], properties={"offsets": ints_attr(offsets)}
        )

    @override
    def verify_(self) -> None:
        self.verify_same_kind()
        source, result = self.types
        offsets = integers(self.offsets)
        if len(offsets) != source.rank:
            raise VerifyException("offsets must have the same rank as input")
        if result.rank != source.rank:
            raise VerifyException("result rank must equal to input rank")
        if source.alloc_shape != result.alloc_shape:
            raise VerifyException("source and result must have the same allocation shape")
        if not isinstance(source.encoding, SharedEncoding):
            raise VerifyException("src and dst must both be of shared memory encoding")
        for dim, offset in enumerate(offsets):
            counts_buffers = dim == 0 and source.is_pipelined
            _verify_offset(offset, result.shape[dim], source.shape[dim], counts_buffers)


def _verify_offset(offset: int, size: int, extent: int, counts_buffers: bool) -> None:
    if size == extent:
        if offset:
            raise VerifyException("A non zero offset found in a dimension that is not being split")
        return
    if not counts_buffers and offset & (size - 1):
        raise VerifyException("The split offset may not touch the tile")
    if not 0 <= offset <= extent - size:
        raise VerifyException("The split offset may not exceed the source shape")


@irdl_op_definition
class MemDescDynamicSubsliceOp(_View):
    """A part of a buffer that starts at offsets known when the kernel runs."""

    name = "ttg.memdesc_dynamic_subslice"
    src = operand_def(MEMDESC)
    offsets = var_operand_def(i32)
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "$src `[` $offsets `]` attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, offsets: Sequence[Operand], type: MemDescType) -> None:
        super().__init__(operands=[src, offsets], result_types=[type])

    @override
    def verify_(self) -> None:
        source, result = self.types
        for differ, message in (
            (
                source.element_type != result.element_type,
                "result element type must match descriptor element type",
            ),
            (len(self.offsets) != source.rank, "offsets must have the same rank as the source"),
            (source.rank != result.rank, "result rank must match the source rank"),
            (
                source.alloc_shape != result.alloc_shape,
                "result must preserve the source allocation shape",
            ),
            (source.mutable != result.mutable, "source and result must have the same mutability"),
            (
                source.memory_space != result.memory_space,
                "source and result must have the same memory space",
            ),
            (
                source.encoding != result.encoding,
                "source and result must have the same encoding",
            ),
            (
                isinstance(source.encoding, PartitionedSharedEncoding),
                "dynamic subslices do not support partitioned shared encodings",
            ),
            (
                source.shape == result.shape,
                "dynamic subslice must narrow at least one dimension",
            ),
        ):
            if differ:
                raise VerifyException(message)


@irdl_op_definition
class MemDescSubviewOp(_View):
    """A part of a buffer, perhaps with fewer dimensions; what releases before 3.5 had."""

    name = "ttg.memdesc_subview"
    src = operand_def(MEMDESC)
    offsets = var_operand_def(i32)
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "$src `[` $offsets `]` attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, offsets: Sequence[Operand], type: MemDescType) -> None:
        super().__init__(operands=[src, offsets], result_types=[type])

    @override
    def verify_(self) -> None:
        source, result = self.types
        if source.element_type != result.element_type:
            raise VerifyException("result element type must match desc element type")
        if len(self.offsets) != source.rank:
            raise VerifyException("offsets must have the same rank as input")
        if result.rank > source.rank:
            raise VerifyException("result rank must be less than or equal to input rank")
        for dim, extent in enumerate(source.shape[-result.rank :]):
            if result.shape[dim] > extent:
                raise VerifyException(
                    f"result shape cannot be larger than input shape at dimension {dim}"
                )


@irdl_op_definition
class MemDescTransOp(_View):
    """Dimensions in another order: dimension ``order[i]`` becomes dimension ``i``."""

    name = "ttg.memdesc_trans"
    src = operand_def(MEMDESC)
    order = ints_prop()
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure(), SameOperandsAndResultElementType())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, order: Sequence[int], type: MemDescType) -> None:
        super().__init__(
            operands=[src], result_types=[type], properties={"order": ints_attr(order)}
        )

    @override
    def verify_(self) -> None:
        source, result = self.types
        order = integers(self.order)
        if not len(order) == source.rank == result.rank:
            raise VerifyException(
                "order must have the same size as the rank of the operand and result"
            )
        if sorted(order) != list(range(source.rank)):
            raise VerifyException("order must be a permutation")
        expected = transposed(source, order, result.encoding)
        if expected != result:
            check_inferred([result], [expected])


def transposed(type: MemDescType, order: Sequence[int], layout: Attribute) -> MemDescType:
    """`type` with its dimensions in another order.

    `layout` is taken for the new layout unless it is certain to be another one.
    """
    shape = tuple(type.shape[dim] for dim in order)
    outer = len(type.alloc_shape) - type.rank
    alloc = tuple(type.alloc_shape[outer + dim] for dim in order)
    if isinstance(type.encoding, LayoutEncoding) and type.layout_rank == type.rank:
        inferred = type.encoding.after_trans(type.shape, order)
        if inferred is not None and _certainly_differ(inferred, layout, shape):
            layout = inferred
    # At once: a layout that describes a tensor of one shape fits no other.
    alloc_shape = type.alloc_shape[:outer] + alloc
    return replace(type, shape=shape, alloc_shape=alloc_shape, encoding=layout)


def _certainly_differ(one: Attribute, other: Attribute, shape: Sequence[int]) -> bool:
    """Whether two layouts run through the dimensions in different order."""
    kinds = (SwizzledSharedEncoding, NvmmaSharedEncoding)
    if not isinstance(one, kinds) or not isinstance(other, kinds):
        return False
    if one.rank != other.rank:
        return True
    orders = [[dim for dim in each.order if shape[dim] > 1] for each in (one, other)]
    return orders[0] != orders[1]


@irdl_op_definition
class MemDescReshapeOp(_View):
    """The same elements in another shape."""

    name = "ttg.memdesc_reshape"
    src = operand_def(MEMDESC)
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure(), SameOperandsAndResultElementType())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, type: MemDescType) -> None:
        super().__init__(operands=[src], result_types=[type])

    @override
    def verify_(self) -> None:
        source, result = self.types
        if prod(source.shape) != prod(result.shape):
            raise VerifyException("number of src and dst elements of reshape must be the same")
        if source.is_subview:
            raise VerifyException("NYI: memdesc_reshape of memdesc_subslice")
        # Whether the layouts agree takes arithmetic; everything else must.
        outer = source.alloc_shape[: len(source.alloc_shape) - source.rank]
        expected = replace(
            source,
            shape=result.shape,
            alloc_shape=outer + result.shape,
            encoding=result.encoding,
        )
        if expected != result:
            check_inferred([result], [expected])


@irdl_op_definition
class MemDescReinterpretOp(_View):
    """The same bytes as a buffer of another shape and element type."""

    name = "ttg.memdesc_reinterpret"
    src = operand_def(MEMDESC)
    result = result_def(MEMDESC)
    traits = ttg_traits(Pure())

    ASM: ClassVar[str] = "$src attr-dict `:` type($src) `->` type($result)"

    def __init__(self, src: Operand, type: MemDescType) -> None:
        super().__init__(operands=[src], result_types=[type])

    @override
    def verify_(self) -> None:
        source, result = self.types
        if source.memory_space != result.memory_space:
            raise VerifyException("source and result must have the same memory space")
        if source.mutable != result.mutable:
            raise VerifyException("source and result must have the same mutability")
        if result.is_subview:
            raise VerifyException("result must not be a subview")
        layouts = (source.encoding, result.encoding)
        if any(isinstance(each, PartitionedSharedEncoding) for each in layouts):
            raise VerifyException("cannot reinterpret partitioned shared layouts")
        if STORAGE_ALIAS_VIEW not in self.attributes:
            _verify_gaps(source, result)
        held, needed = _footprint(source), _footprint(result)
        if held is not None and needed is not None and needed > held:
            raise VerifyException(
                f"result shared-memory footprint ({needed} bytes) exceeds the source view "
                f"({held} bytes)"
            )


def _verify_gaps(source: MemDescType, result: MemDescType) -> None:
    """Padded layouts leave gaps, which must be the same bytes before and after."""
    gaps = [_gaps(type) for type in (source, result)]
    if (gaps[0] is None) != (gaps[1] is None):
        raise VerifyException("cannot reinterpret between padded and non-padded layouts")
    if gaps[0] is not None and source.is_subview:
        raise VerifyException("cannot reinterpret a padded source subview")
    if gaps[0] != gaps[1]:
        raise VerifyException("cannot reinterpret with different padding pattern")


def _gaps(type: MemDescType) -> list[tuple[int, int]] | None:
    """Distance and size of each kind of gap, in bytes."""
    layout = type.encoding
    if not isinstance(layout, PaddedSharedEncoding):
        return None
    size = bit_width(type.element_type) // 8
    pairs = zip(layout.intervals, layout.paddings, strict=True)
    return [(interval * size, padding * size) for interval, padding in pairs]


def _footprint(type: MemDescType) -> int | None:
    """The bytes of a view in one CTA, where the layout leaves none out and repeats none."""
    layout = type.encoding
    if not isinstance(layout, SwizzledSharedEncoding | NvmmaSharedEncoding) or layout.num_ctas > 1:
        return None
    if isinstance(layout, NvmmaSharedEncoding) and layout.fp4_padded:
        return None
    return prod(type.shape) * bit_width(type.element_type) // 8
