"""Pointers and tensor descriptors.

One form is stored, whatever release wrote the text:

* A pointer has a named address space. Triton up to 3.8 writes a number and leaves out
  1, the global memory; 3.9 writes a string and leaves out ``"global"``. Numbers other than 1 stay
  numbers, stored as their digits.
* A descriptor has a block shape, an element type and, once chosen, the layout of the block in
  shared memory. Triton up to 3.7 wraps the three in a tensor type.

===================================  =========================================
3.6, 3.7                             3.8, 3.9, TLX
===================================  =========================================
``!tt.tensordesc<tensor<8x64xf16>>`` ``!tt.tensordesc<8x64xf16>``
``!tt.ptr<f32, 3>``                  ``!tt.ptr<f32, 3>`` (3.8, TLX)
``!tt.ptr<f32>``                     ``!tt.ptr<f32, "constant">`` (3.9)
===================================  =========================================

The element type of a descriptor may be signed (``si32``, ``ui8``): the hardware's minimum and
maximum depend on it. Tensors are always signless.
"""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ContainerType,
    IntAttr,
    IntegerType,
    NoneAttr,
    ShapedType,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.type_utils import (
    AnyTensor,
    PointerLike,
    element_type_of,
    is_tensor,
    tensor_of,
    with_element_type,
)
from tilewright.ir.text.flavour import DEFAULT, Flavour

GLOBAL = "global"
CONSTANT = "constant"
DESCRIPTOR = "descriptor"
ADDRESS_SPACES = (GLOBAL, CONSTANT, DESCRIPTOR)
"""The address spaces that have a name."""

_GLOBAL_ID = 1


def flavour_of(printer: Printer) -> Flavour:
    """Whose text `printer` writes; xDSL's own printer writes the default."""
    return getattr(printer, "flavour", DEFAULT)


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute, PointerLike):
    """A pointer to a scalar; in older text also to a tensor (a block pointer) or a pointer."""

    name = "tt.ptr"

    pointee: Attribute
    space: StringAttr

    @classmethod
    def get(cls, pointee: Attribute, address_space: str | int = GLOBAL) -> PtrType:
        """A pointer to `pointee`; spaces without a name are given by number."""
        if address_space == _GLOBAL_ID:
            address_space = GLOBAL
        return cls(pointee, StringAttr(str(address_space)))

    @property
    def address_space(self) -> str:
        """The name of the address space, or the digits of its number."""
        return self.space.data

    @property
    def is_block_pointer(self) -> bool:
        return is_tensor(self.pointee)

    @override
    def get_pointee(self) -> Attribute:
        return self.pointee

    @override
    def verify(self) -> None:
        allowed = (IntegerType, AnyFloat, TensorType, PtrType)
        if not isinstance(self.pointee, allowed):
            raise VerifyException("pointer types must point to integer or floating-point types")
        space = self.space.data
        if space not in ADDRESS_SPACES and not space.removeprefix("-").isdigit():
            raise VerifyException(f"invalid pointer address space '{space}'")

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            space: str | int = GLOBAL
            if parser.parse_optional_punctuation(","):
                space = _parse_address_space(parser)
        return cls.get(pointee, space).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_attribute(self.pointee)
            space = self.space.data
            if space not in ADDRESS_SPACES:
                printer.print_string(f", {space}")
            elif space != GLOBAL and _has_named_spaces(flavour_of(printer)):
                # Releases before have no such distinction: there these are plain pointers.
                printer.print_string(f', "{space}"')


def _parse_address_space(parser: AttrParser) -> str | int:
    name = parser.parse_optional_str_literal()
    if name is None:
        return parser.parse_integer()
    if name not in ADDRESS_SPACES:
        parser.raise_error(f"invalid pointer address space '{name}'")
    return name


def _has_named_spaces(flavour: Flavour) -> bool:
    return flavour.at_least(3, 9) and not flavour.is_tlx


@irdl_attr_definition
class TensorDescType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """A descriptor of a tensor in global memory that is accessed in blocks of one shape."""

    name = "tt.tensordesc"

    extents: ArrayAttr[IntAttr]
    element_type: Attribute
    layout: Attribute

    @classmethod
    def get(
        cls, shape: Sequence[int], element_type: Attribute, layout: Attribute | None = None
    ) -> TensorDescType:
        """A descriptor with blocks of `shape`."""
        extents = ArrayAttr([IntAttr(extent) for extent in shape])
        return cls(extents, element_type, NoneAttr() if layout is None else layout)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a block."""
        return tuple(extent.data for extent in self.extents.data)

    @property
    def encoding(self) -> Attribute | None:
        """The layout of a block in shared memory, once there is one."""
        return None if isinstance(self.layout, NoneAttr) else self.layout

    @property
    def block_type(self) -> AnyTensor:
        """A block as a tensor: the element type without its sign, the same layout."""
        return tensor_of(self.signless_element_type, self.shape, self.encoding)

    @property
    def signless_element_type(self) -> Attribute:
        """The element type of the tensors loaded and stored."""
        element = self.element_type
        return IntegerType(element.bitwidth) if isinstance(element, IntegerType) else element

    @override
    def get_num_dims(self) -> int:
        return len(self.extents)

    @override
    def get_shape(self) -> tuple[int, ...]:
        return self.shape

    @override
    def get_element_type(self) -> Attribute:
        return self.element_type

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            if parser.parse_optional_keyword("tensor") is None:
                shape, element = _parse_shape_and_element(parser)
                layout = parser.parse_attribute() if _more(parser) else None
            else:
                with parser.in_angle_brackets():
                    shape, element = _parse_shape_and_element(parser)
                    layout = parser.parse_attribute() if _more(parser) else None
        return cls.get(shape, element, layout).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            if _wraps_tensor(flavour_of(printer)):
                printer.print_attribute(tensor_of(self.element_type, self.shape, self.encoding))
                return
            printer.print_string("".join(f"{extent}x" for extent in self.shape))
            printer.print_attribute(self.element_type)
            if self.encoding is not None:
                printer.print_string(", ")
                printer.print_attribute(self.layout)


def _more(parser: AttrParser) -> bool:
    return parser.parse_optional_punctuation(",") is not None


def _parse_shape_and_element(parser: AttrParser) -> tuple[Sequence[int], Attribute]:
    start = parser.pos
    shape, element = parser.parse_ranked_shape()
    if any(extent < 0 for extent in shape):
        parser.raise_error("expected static shape", start, parser.pos)
    return shape, element


def _wraps_tensor(flavour: Flavour) -> bool:
    return not flavour.at_least(3, 8) and not flavour.is_tlx


def pointer_like(type: Attribute) -> Attribute:
    """A pointer to `type`, or a tensor of pointers for a tensor: where its values are stored."""
    return with_element_type(type, PtrType.get(element_type_of(type)))


def address_space_of(type: Attribute) -> str:
    """The address space of a pointer or of a tensor of pointers."""
    pointer = element_type_of(type)
    return pointer.address_space if isinstance(pointer, PtrType) else GLOBAL


def block_pointee(type: Attribute) -> AnyTensor | None:
    """The tensor of a block pointer, ``None`` for other types."""
    if isinstance(type, PtrType) and is_tensor(type.pointee):
        return type.pointee
    return None
