"""Types of the tile level: parts of buffers, raw pointers, storage that buffers share.

    !tile.region<128x32xf16, #tile.space<shared>>   a part of a buffer, made by tile.region
    !tile.ptr<f16>                                  an address, for code from outside
    !tile.storage_alias_spec<shared>                bytes without an address
    !tile.reuse_group<distinct>                     how buffers overlap in them

Buffers themselves are ``memref`` types with a ``#tile.space``; the functions at the end query
buffers and regions alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    ArrayAttr,
    ContainerType,
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    ShapedType,
    StringAttr,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.attributes import Space, SpaceAttr, space_attr
from tilewright.dialects.type_utils import PointerLike
from tilewright.ir.constraints import Satisfies, either, instance_of

BufferType: TypeAlias = MemRefType[Attribute]


@irdl_attr_definition
class RegionType(ParametrizedAttribute, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """A part of a buffer: so many elements along each of its dimensions."""

    name = "tile.region"

    shape: ArrayAttr[IntAttr]
    element_type: Attribute
    memory_space: Attribute

    def __init__(
        self, element_type: Attribute, shape: Sequence[int], space: Space | str | Attribute
    ) -> None:
        if not isinstance(space, Attribute):
            space = space_attr(space)
        super().__init__(ArrayAttr([IntAttr(extent) for extent in shape]), element_type, space)

    @override
    def get_num_dims(self) -> int:
        return len(self.shape.data)

    @override
    def get_shape(self) -> tuple[int, ...]:
        return tuple(extent.data for extent in self.shape.data)

    @override
    def get_element_type(self) -> Attribute:
        return self.element_type

    @override
    def verify(self) -> None:
        if not self.shape.data:
            raise VerifyException("a region requires at least one dimension")

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            space = parser.parse_attribute()
        return ArrayAttr([IntAttr(extent) for extent in shape]), element, space

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{shape_text(self.get_shape())}x")
        printer.print_attribute(self.element_type)
        printer.print_string(", ")
        printer.print_attribute(self.memory_space)
        printer.print_string(">")


@irdl_attr_definition
class PtrType(ParametrizedAttribute, TypeAttribute, PointerLike):
    """An address of elements of one type, in global memory by default."""

    name = "tile.ptr"

    pointee: Attribute
    memory_space: Attribute

    def __init__(self, pointee: Attribute, space: Space | str | Attribute = Space.GLOBAL) -> None:
        if not isinstance(space, Attribute):
            space = space_attr(space)
        super().__init__(pointee, space)

    @override
    def get_pointee(self) -> Attribute:
        return self.pointee

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pointee = parser.parse_type()
            more = parser.parse_optional_punctuation(",") is not None
            return pointee, parser.parse_attribute() if more else space_attr(Space.GLOBAL)

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<")
        printer.print_attribute(self.pointee)
        if self.memory_space != space_attr(Space.GLOBAL):
            printer.print_string(", ")
            printer.print_attribute(self.memory_space)
        printer.print_string(">")


class _KeywordType(ParametrizedAttribute, TypeAttribute):
    """Base of types with one keyword in angle brackets."""

    KEYWORDS: ClassVar[Sequence[str]] = ()
    WHAT: ClassVar[str] = ""

    @override
    def verify(self) -> None:
        keyword = self._keyword()
        if keyword not in self.KEYWORDS:
            raise VerifyException(
                f"{self.WHAT} must be {' or '.join(self.KEYWORDS)}, got '{keyword}'"
            )

    def _keyword(self) -> str:
        (keyword,) = self.parameters
        assert isinstance(keyword, StringAttr)
        return keyword.data

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return (StringAttr(parser.parse_identifier(f" for {cls.WHAT}")),)

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self._keyword()}>")


@irdl_attr_definition
class StorageAliasSpecType(_KeywordType):
    """Bytes that several buffers may share; the keyword is the space they are in."""

    name = "tile.storage_alias_spec"
    KEYWORDS: ClassVar[Sequence[str]] = ("shared", "tmem")
    WHAT: ClassVar[str] = "the storage of a storage_alias_spec"

    keyword: StringAttr

    def __init__(self, keyword: str) -> None:
        super().__init__(StringAttr(keyword))


@irdl_attr_definition
class ReuseGroupType(_KeywordType):
    """A node of a tree of buffers: its children share memory, or are disjoint."""

    name = "tile.reuse_group"
    KEYWORDS: ClassVar[Sequence[str]] = ("shared", "distinct")
    WHAT: ClassVar[str] = "the kind of a reuse_group"

    keyword: StringAttr

    def __init__(self, keyword: str) -> None:
        super().__init__(StringAttr(keyword))


# -- questions ---------------------------------------------------------------------------------


def buffer_type(
    element_type: Attribute,
    shape: Sequence[int],
    space: Space | str,
    layout: Attribute | None = None,
) -> BufferType:
    """``memref<128x32xf16, #tile.space<shared>>``; `layout` is a ``strided<...>``."""
    return MemRefType(
        element_type, shape, cast("NoneAttr", layout or NoneAttr()), space_attr(space)
    )


def is_buffer(type: Attribute) -> bool:
    """Whether `type` is a ``memref`` in a tile space."""
    return isinstance(type, MemRefType) and isinstance(type.memory_space, SpaceAttr)


def is_buffer_or_region(type: Attribute) -> bool:
    return is_buffer(type) or isinstance(type, RegionType)


def space_of(type: Attribute) -> Space | None:
    """The space of a buffer, a region or a pointer; None for memrefs without one, and scalars."""
    if isinstance(type, (MemRefType, RegionType, PtrType)):
        space = type.memory_space
        return space.data if isinstance(space, SpaceAttr) else None
    return None


def shape_text(shape: Sequence[int]) -> str:
    """``128x?``"""
    return "x".join("?" if extent == DYNAMIC_INDEX else str(extent) for extent in shape)


def squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    """`shape` without its extents of 1, which the two sides of a tile op need not agree on."""
    return tuple(extent for extent in shape if extent != 1)


def have_equal_extents(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether two shapes agree but for extents of 1; a dynamic extent agrees with all."""
    first, second = squeezed(one), squeezed(other)
    if len(first) != len(second):
        # A dynamic extent may be 1 at run time.
        return _matches(first, second) if len(first) > len(second) else _matches(second, first)
    return all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(first, second, strict=True))


def _matches(longer: Sequence[int], shorter: Sequence[int]) -> bool:
    """Whether leaving out unknown extents of `longer` can give `shorter`."""
    if len(longer) == len(shorter):
        return all(a == b or DYNAMIC_INDEX in (a, b) for a, b in zip(longer, shorter, strict=True))
    return any(
        _matches((*longer[:at], *longer[at + 1 :]), shorter)
        for at, extent in enumerate(longer)
        if extent == DYNAMIC_INDEX
    )


def is_numeric(type: Attribute) -> bool:
    """Whether elements of this type can be computed with."""
    return isinstance(type, (IntegerType, AnyFloat, IndexType))


BUFFER = Satisfies("buffer (memref with a #tile.space)", is_buffer, (MemRefType,))
REGION = instance_of("region", RegionType)
PTR = instance_of("tile pointer", PtrType)
SPEC = instance_of("storage alias specification", StorageAliasSpecType)
GROUP = instance_of("reuse group", ReuseGroupType)
BUFFER_OR_REGION = either(BUFFER, REGION)
