"""Parts and views of buffers.

    %r = tile.region %A[%i, 0] [128, 32] : memref<1024x1024xf16, #global> to !tile.region<...>
    %v = tile.view %B : memref<64x64xf16, #shared> to memref<4096xf16, #shared>
    %p = tile.ptr_at %address : !tile.ptr<f16>
    %t = tile.view %p sizes(%n) : !tile.ptr<f16> to memref<?xf16, #global>

A region has as many offsets and extents as its buffer has dimensions. In global memory it may
reach out of the buffer: out of bounds reads give the safe value, and nothing is written. A view has
the same bytes as what it views; one with strides or run-time extents may have fewer, and its
extents are bounds for guards: what it is accessed at must exist. Strides count elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.memref import HasExtents
from tilewright.dialects.tile.access import (
    AccessedRegion,
    LooksThrough,
    Unit,
    base_of,
    box_of,
    region_of,
    somewhere,
    with_unit,
)
from tilewright.dialects.tile.allocs import as_buffer, verify_buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.base import KeywordSyntax, Operand, given, keyword_prop, string
from tilewright.dialects.tile.mixed import (
    INDEX,
    Mixed,
    MixedLists,
    MixedOperand,
    integers_prop,
    join,
    parse_mixed,
    print_mixed,
    split,
    static_extent,
    verify_mixed,
)
from tilewright.dialects.tile.names import DIVISIBILITY
from tilewright.dialects.tile.types import (
    BUFFER,
    PTR,
    REGION,
    BufferType,
    PtrType,
    RegionType,
    shape_text,
    space_of,
)
from tilewright.dialects.type_utils import bit_width, shape_of
from tilewright.ir.constraints import either
from tilewright.ir.interfaces import FoldBy, Folded
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule, Types
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


def _list_directive(which: str) -> Directive:
    """``[%i, 0]`` for the property ``static_<which>`` and the operands ``dynamic_<which>``."""

    def parse(parser: IRParser, state: ParseState) -> None:
        static, names = parse_mixed(parser)
        state.properties[f"static_{which}"] = static
        state.operands[f"dynamic_{which}"] = names

    def show(printer: IRPrinter, op: RegionOp) -> None:
        print_mixed(printer, op.offsets if which == "offsets" else op.extents)

    return Directive(parse, show)


@irdl_op_definition
class RegionOp(AsmOp, MixedLists, LooksThrough):
    """A part of a buffer: where it begins and how far it goes along each dimension."""

    name = "tile.region"
    MIXED: ClassVar[tuple[str, ...]] = ("offsets", "extents")

    base = operand_def(BUFFER)
    dynamic_offsets = var_operand_def(INDEX)
    dynamic_extents = var_operand_def(INDEX)
    static_offsets = integers_prop()
    static_extents = integers_prop()
    result = result_def(REGION)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$base `` custom<Offsets>($static_offsets) custom<Extents>($static_extents) attr-dict "
        "`:` type($base) `to` type($result)"
    )
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "Offsets": _list_directive("offsets"),
        "Extents": _list_directive("extents"),
    }

    def __init__(
        self, base: Operand, offsets: Sequence[MixedOperand], extents: Sequence[MixedOperand]
    ) -> None:
        base = SSAValue.get(base)
        static_offsets, dynamic_offsets = split(offsets)
        static_extents, dynamic_extents = split(extents)
        shape = [static_extent(extent) for extent in join(static_extents, dynamic_extents)]
        type = as_buffer(base)
        super().__init__(
            operands=[base, dynamic_offsets, dynamic_extents],
            result_types=[RegionType(type.element_type, shape, type.memory_space)],
            properties={"static_offsets": static_offsets, "static_extents": static_extents},
        )

    @property
    def type(self) -> RegionType:
        return cast("RegionType", self.result.type)

    @property
    def offsets(self) -> tuple[Mixed, ...]:
        return join(self.static_offsets, self.dynamic_offsets)

    @property
    def extents(self) -> tuple[Mixed, ...]:
        return join(self.static_extents, self.dynamic_extents)

    @property
    def region_type(self) -> RegionType:
        """The type that the extents require."""
        shape = [static_extent(extent) for extent in self.extents]
        return RegionType(self.type.element_type, shape, self.type.memory_space)

    @override
    def viewed(self) -> SSAValue:
        return self.base

    @override
    def part(self, unit: Unit) -> AccessedRegion:
        return box_of(self.base, self.offsets, self.extents, unit)

    @override
    def verify_(self) -> None:
        verify_mixed("offsets", self.static_offsets, self.dynamic_offsets)
        verify_mixed("extents", self.static_extents, self.dynamic_extents)
        base, offsets, extents = as_buffer(self.base), self.offsets, self.extents
        shape = base.get_shape()
        for what, actual in (("offsets", offsets), ("extents", extents)):
            if len(actual) != len(shape):
                raise VerifyException(
                    f"the buffer is {len(shape)}-dimensional (shape={shape_text(shape)}), but "
                    f"{len(actual)} {what} were given"
                )
        self._verify_type(base, extents)
        bounds = zip(offsets, extents, shape, strict=True)
        for dimension, (offset, extent, size) in enumerate(bounds):
            _verify_bounds(dimension, offset, extent, size, space_of(base))

    def _verify_type(self, base: BufferType, extents: Sequence[Mixed]) -> None:
        actual, expected = self.type.get_shape(), tuple(map(static_extent, extents))
        if actual != expected:
            raise VerifyException(
                f"the extents are {shape_text(expected)} but the type has {shape_text(actual)}"
            )
        if self.type.element_type != base.element_type:
            raise VerifyException(
                f"the elements of the region are '{self.type.element_type}' but those of the "
                f"buffer are '{base.element_type}'"
            )
        if self.type.memory_space != base.memory_space:
            raise VerifyException("a region must be in the memory space of its buffer")


def _verify_bounds(
    dimension: int, offset: Mixed, extent: Mixed, size: int, space: Space | None
) -> None:
    if isinstance(extent, int) and extent < 1:
        raise VerifyException(f"the extent along dimension {dimension} must be positive: {extent}")
    if space is Space.GLOBAL or not isinstance(offset, int) or size == DYNAMIC_INDEX:
        return
    last = offset + (extent if isinstance(extent, int) else 1)
    if offset < 0 or last > size:
        raise VerifyException(
            f"elements {offset} to {last - 1} along dimension {dimension} are out of "
            f"bounds: the buffer has {size}"
        )


def _fold_view(op: Operation, _: Sequence[Attribute | None]) -> Folded:
    """A view that changes nothing is what it views; one with sizes may be smaller."""
    source, *given = op.operands
    return [source] if not given and source.type == op.results[0].type else None


@irdl_op_definition
class ViewOp(AsmOp, LooksThrough, HasExtents):
    """The same bytes with another shape or element type; a tensor at an address."""

    name = "tile.view"

    source = operand_def(either(BUFFER, PTR))
    sizes = var_operand_def(INDEX)
    """One number for each `?` in the shape of the result."""
    strides = var_operand_def(INDEX)
    """One number for each `?` in the strides of the result."""
    result = result_def(BUFFER)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), FoldBy(_fold_view))

    ASM: ClassVar[str] = (
        "$source (`sizes` `(` $sizes^ `)`)? (`strides` `(` $strides^ `)`)? attr-dict "
        "`:` type($source) `to` type($result)"
    )

    def __init__(
        self,
        source: Operand,
        result_type: BufferType,
        *,
        sizes: Sequence[Operand] = (),
        strides: Sequence[Operand] = (),
    ) -> None:
        super().__init__(operands=[source, sizes, strides], result_types=[result_type])

    @override
    def extent(self, dimension: int) -> Mixed:
        shape = cast("BufferType", self.result.type).get_shape()
        if shape[dimension] != DYNAMIC_INDEX:
            return shape[dimension]
        return self.sizes[shape[:dimension].count(DYNAMIC_INDEX)]

    def stride(self, dimension: int) -> Mixed | None:
        """The stride that the view declares for a dimension; None if it declares none."""
        layout = cast("BufferType", self.result.type).layout
        if not isinstance(layout, StridedLayoutAttr):
            return None
        strides = list(layout.get_strides())
        found = strides[dimension]
        return self.strides[strides[:dimension].count(None)] if found is None else found

    @override
    def viewed(self) -> SSAValue:
        return self.source

    @override
    def part(self, unit: Unit) -> AccessedRegion:
        if isinstance(self.source.type, PtrType):
            return with_unit(region_of(self.source), unit)
        if self.sizes or _has_strides(self.result.type):
            return somewhere(base_of(self.source), unit)  # it may be smaller than the buffer
        return region_of(self.source, unit)

    @override
    def verify_(self) -> None:
        source, result = self.source.type, cast("BufferType", self.result.type)
        verify_buffer_type(result)
        if space_of(source) is not space_of(result):
            raise VerifyException(
                f"a view cannot change the memory space: {_space_name(source)} viewed as "
                f"{_space_name(result)}"
            )
        _verify_count("shape", result.get_shape().count(DYNAMIC_INDEX), len(self.sizes))
        _verify_count("strides", _dynamic_strides(result), len(self.strides))
        if isinstance(source, MemRefType):
            self._verify_bytes(source, result)

    def _verify_bytes(self, source: BufferType, result: BufferType) -> None:
        shape, viewed = source.get_shape(), result.get_shape()
        if DYNAMIC_INDEX in shape or DYNAMIC_INDEX in viewed:
            return
        if _has_strides(source) or _has_strides(result):
            _verify_reach(source, result)
            return
        before, after = _bits(source), _bits(result)
        if before == after:
            return
        if source.element_type == result.element_type:
            raise VerifyException(
                f"cannot reshape {shape_text(shape)} ({_count(shape)} elements) to "
                f"{shape_text(viewed)} ({_count(viewed)} elements)"
            )
        raise VerifyException(
            f"a view must have the size of its buffer: {shape_text(shape)} of "
            f"'{source.element_type}' has {before // 8} bytes, {shape_text(viewed)} of "
            f"'{result.element_type}' has {after // 8}"
        )


def _verify_reach(source: BufferType, result: BufferType) -> None:
    """Raise if a view with known strides reaches out of the memory of what it views."""
    memory, reach = _span_bits(source), _span_bits(result)
    if memory is not None and reach is not None and reach > memory:
        raise VerifyException(
            f"the view reaches to byte {-(-reach // 8)}, but the memory that it views has "
            f"{memory // 8} bytes"
        )


def _span_bits(type: BufferType) -> int | None:
    """From the first to the last element, those between rows included; None if not known."""
    shape = type.get_shape()
    if not isinstance(type.layout, StridedLayoutAttr):
        return _bits(type)
    strides = list(type.layout.get_strides())
    known = [stride for stride in strides if stride is not None and stride >= 0]
    if len(known) < len(strides):
        return None
    steps = zip(shape, known, strict=True)
    last = sum((extent - 1) * stride for extent, stride in steps)
    return 0 if 0 in shape else (last + 1) * bit_width(type.element_type)


def _space_name(type: Attribute) -> str:
    space = space_of(type)
    return "memory" if space is None else f"{space.value} memory"


def _verify_count(what: str, expected: int, actual: int) -> None:
    if expected != actual:
        raise VerifyException(f"{expected} dynamic entries of the {what} but {actual} values")


def _has_strides(type: Attribute) -> bool:
    return isinstance(type, MemRefType) and isinstance(type.layout, StridedLayoutAttr)


def _dynamic_strides(type: BufferType) -> int:
    if not isinstance(type.layout, StridedLayoutAttr):
        return 0
    return sum(stride is None for stride in type.layout.get_strides())


def _count(shape: Sequence[int]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count


def _bits(type: BufferType) -> int:
    return _count(type.get_shape()) * bit_width(type.element_type)


MODES = KeywordSyntax(("r", "w", "rw"))


@irdl_op_definition
class PtrOfOp(AsmOp, LooksThrough):
    """The address of an element, for code from outside. `mode` is what that code may do there."""

    name = "tile.ptr_of"

    base = operand_def(BUFFER)
    indices = var_operand_def(INDEX)
    extent = opt_operand_def(INDEX)
    """How many elements from there on may be accessed; the rest of the buffer by default."""
    mode = keyword_prop(MODES, "rw")
    result = result_def(PTR)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure())

    ASM: ClassVar[str] = (
        "$mode $base `[` $indices `]` (`extent` $extent^)? attr-dict `:` type($base)"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule(
            "the result must point to the element type of the buffer",
            lambda types: _pointer_type(types),
        )
    }

    def __init__(
        self,
        base: Operand,
        indices: Sequence[Operand],
        *,
        mode: str = "rw",
        extent: Operand | None = None,
    ) -> None:
        base = SSAValue.get(base)
        type = as_buffer(base)
        super().__init__(
            operands=[base, indices, extent],
            result_types=[PtrType(type.element_type, type.memory_space)],
            properties=given(mode=string(mode)),
        )

    @override
    def viewed(self) -> SSAValue:
        return self.base

    @override
    def part(self, unit: Unit) -> AccessedRegion:
        base = base_of(self.base)
        if base is self.base and len(self.indices) == 1:
            return AccessedRegion(base, tuple(self.indices), (self.extent,), unit)
        return somewhere(base, unit)

    @override
    def verify_(self) -> None:
        verify_index_count(self.base, self.indices)


@irdl_op_definition
class PtrAtOp(AsmOp):
    """The address that an integer is: of memory that no argument names.

    It may be in any tensor. `tile.divisibility` states what divides it, in bytes; otherwise it is
    a multiple of the size of an element. Compiled code relies on both, a checked run verifies them.
    """

    name = "tile.ptr_at"

    address = operand_def(i64)
    result = result_def(PTR)

    traits = traits_def(Pure())

    ASM: ClassVar[str] = "$address attr-dict `:` type($result)"

    def __init__(self, address: Operand, pointee: Attribute, divisor: int | None = None) -> None:
        super().__init__(operands=[address], result_types=[PtrType(pointee)])
        if divisor is not None:
            self.attributes[DIVISIBILITY] = IntegerAttr(divisor, i64)

    @property
    def pointee(self) -> Attribute:
        """The type of the elements there."""
        return cast("PtrType", self.result.type).pointee

    @property
    def divisor(self) -> int:
        """What divides the address, in bytes."""
        stated = self.attributes.get(DIVISIBILITY)
        size = max(8, bit_width(self.pointee)) // 8
        return stated.value.data if isinstance(stated, IntegerAttr) else size


def _pointer_type(types: Types) -> Attribute:
    base = cast("BufferType", types["base"])
    return PtrType(base.element_type, base.memory_space)


def verify_index_count(buffer: SSAValue, indices: Sequence[SSAValue]) -> None:
    """Raise unless there is an index for each dimension."""
    shape = shape_of(buffer.type)
    if len(indices) != len(shape):
        name = buffer.name_hint or "of the operand"
        raise VerifyException(
            f"Buffer {name} is {len(shape)}-dimensional (shape={shape_text(shape)}), but "
            f"{len(indices)} index(es) were provided"
        )
