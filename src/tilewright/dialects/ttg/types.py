"""Memory descriptors and asynchronous tokens.

A memory descriptor is a view of a buffer in shared or tensor memory::

    !ttg.memdesc<3x128x64xf16, #shared, #smem, mutable, 4x128x64>
                 shape  element  layout  space           shape of the whole allocation

The layout describes the trailing dimensions; one before them counts the buffers of a pipeline.
The shape of the allocation is written only where the view is smaller. Only mutable memory may be
stored to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from typing_extensions import override
from xdsl.dialects.builtin import ContainerType, ShapedType
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.interfaces import MemDescEncoding, SharedSpace
from tilewright.dialects.ttg.struct import FieldsAttr, Ints
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.constraints import instance_of


@irdl_attr_definition
class SharedMemorySpace(ParametrizedAttribute, SharedSpace):
    """The shared memory of the CTA."""

    name = "ttg.shared_memory"
    ASM_ALIAS: ClassVar[str] = "smem"


@dataclass(frozen=True)
class MemDescType(FieldsAttr, TypeAttribute, ShapedType, ContainerType[Attribute]):
    """A view of a buffer; see above. An empty `alloc_shape` stands for `shape`."""

    name = "ttg.memdesc"

    shape: Ints
    element_type: Attribute
    encoding: Attribute
    memory_space: Attribute
    mutable: bool = False
    alloc_shape: Ints = ()

    def __post_init__(self) -> None:
        if not self.alloc_shape:
            object.__setattr__(self, "alloc_shape", self.shape)
        super().__post_init__()

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def is_subview(self) -> bool:
        """Whether the allocation is larger than this view of it."""
        return self.alloc_shape[-self.rank :] != self.shape

    @property
    def layout_rank(self) -> int:
        """The rank of the layout; one less than the own rank for a pipelined buffer."""
        return self.encoding.rank if isinstance(self.encoding, MemDescEncoding) else self.rank

    @property
    def is_pipelined(self) -> bool:
        """Whether the first dimension counts buffers rather than elements."""
        return self.rank > self.layout_rank

    @override
    def get_num_dims(self) -> int:
        return len(self.shape)

    @override
    def get_shape(self) -> tuple[int, ...]:
        return self.shape

    @override
    def get_element_type(self) -> Attribute:
        return self.element_type

    def with_shape(self, shape: Ints, alloc_shape: Ints = ()) -> Self:
        """The same kind of buffer with other extents."""
        return replace(self, shape=shape, alloc_shape=alloc_shape)

    def with_encoding(self, encoding: Attribute) -> Self:
        """The same buffer in another layout."""
        return replace(self, encoding=encoding)

    @override
    def verify(self) -> None:
        shape, alloc_shape = self.shape, self.alloc_shape
        if not shape:
            raise VerifyException("rank 0 memdesc is not allowed")
        width = bit_width(self.element_type)
        if width != 1 and width < 8:
            raise VerifyException(f"element type bit width must be 1 or at least 8; got {width}")
        if 0 in shape:
            raise VerifyException("shape has 0 dimension")
        if 0 in alloc_shape:
            raise VerifyException("alloc shape has 0 dimension")
        if len(alloc_shape) < len(shape):
            raise VerifyException("alloc shape must have at least as many dimensions as shape")
        if not isinstance(self.encoding, MemDescEncoding):
            raise VerifyException(f"{self.encoding} is not a valid encoding")
        self._verify_powers_of_two("shape", shape)
        self._verify_powers_of_two("alloc shape", alloc_shape)
        if any(map(int.__gt__, shape, alloc_shape[-len(shape) :])):
            raise VerifyException(
                "shape must be less than or equal to allocShape. "
                f"shape = {comma(shape)}, allocShape = {comma(alloc_shape)}"
            )
        self.encoding.verify_memdesc(self)

    def _verify_powers_of_two(self, what: str, shape: Ints) -> None:
        # Dimensions before the layout's are free: they count buffers. Releases differ in
        # whether a layout of full rank leaves the first one free; text of all is accepted.
        first = max(1, len(shape) - self.layout_rank)
        if any(extent & (extent - 1) for extent in shape[first:]):
            raise VerifyException(
                f"{what} must have power-of-2 and non-zero dimensions; got {comma(shape)}"
            )

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
            parser.parse_punctuation(",")
            encoding = parser.parse_attribute()
            parser.parse_punctuation(",")
            memory_space = parser.parse_attribute()
            more = parser.parse_optional_punctuation(",") is not None
            mutable = more and parser.parse_optional_keyword("mutable") is not None
            if mutable:
                more = parser.parse_optional_punctuation(",") is not None
            alloc_shape = parser.parse_dimension_list() if more else ()
        return cls.pack(
            (tuple(shape), element_type, encoding, memory_space, mutable, tuple(alloc_shape))
        )

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string("<" + "".join(f"{extent}x" for extent in self.shape))
        printer.print_attribute(self.element_type)
        printer.print_string(", ")
        printer.print_attribute(self.encoding)
        printer.print_string(", ")
        printer.print_attribute(self.memory_space)
        if self.mutable:
            printer.print_string(", mutable")
        if self.alloc_shape != self.shape:
            printer.print_string(", " + "x".join(map(str, self.alloc_shape)))
        printer.print_string(">")


@irdl_attr_definition
class AsyncTokenType(ParametrizedAttribute, TypeAttribute):
    """Stands for asynchronous work; waiting for the token waits for the work."""

    name = "ttg.async.token"


TOKEN_TYPE = AsyncTokenType()
SHARED_MEMORY = SharedMemorySpace()

MEMDESC = instance_of(
    "memory descriptor type (`::mlir::triton::gpu::MemDescType`) in Triton IR type system",
    MemDescType,
)
"""The constraint of operands and results that are memory descriptors."""


def comma(extents: Ints) -> str:
    """Extents as they are in messages: ``4, 3``."""
    return ", ".join(map(str, extents))
