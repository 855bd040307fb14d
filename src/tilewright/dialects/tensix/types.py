"""Types of the Tensix level.

    !tensix.cb<8 x 2048, bf16>      a circular buffer: 8 pages of 2048 bytes in L1
    !tensix.accessor<2, bf16>       finds the pages of a tensor of rank 2 in DRAM
    !tensix.sem                     a semaphore: 4 bytes of L1, same address on all cores

All integers (counts, page ids, tile indices, L1 addresses) are ``index`` values; in device code
they are ``uint32_t``.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import unique

from typing_extensions import override
from xdsl.dialects.builtin import IntAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.str_enum import StrEnum

from tilewright.dialects.tensix.formats import Format
from tilewright.ir.constraints import instance_of


@unique
class Role(StrEnum):
    """What a kernel of a core does."""

    READER = "reader"
    """Data movement, RISCV_1: DRAM to circular buffers."""
    COMPUTE = "compute"
    """The three compute processors: unpack, math, pack."""
    WRITER = "writer"
    """Data movement, RISCV_0: circular buffers to DRAM."""

    @property
    def moves_data(self) -> bool:
        return self is not Role.COMPUTE


@irdl_attr_definition
class CBType(ParametrizedAttribute, TypeAttribute):
    """``!tensix.cb<8 x 2048, bf16>``: a ring of pages in L1, each one tile of a format."""

    name = "tensix.cb"

    page_count: IntAttr
    page_size: IntAttr
    format_name: StringAttr

    def __init__(self, pages: int, format: Format | str, page_bytes: int | None = None) -> None:
        """Without `page_bytes`, a page is one tile."""
        format = Format(format)
        size = format.tile_bytes if page_bytes is None else page_bytes
        super().__init__(IntAttr(pages), IntAttr(size), StringAttr(format.value))

    @property
    def ASM_ALIAS(self) -> str:
        """Text is short with aliases: ``tensix.cb_wait %cb0, %c1 : !cb``."""
        return "cb"

    @property
    def pages(self) -> int:
        return self.page_count.data

    @property
    def page_bytes(self) -> int:
        return self.page_size.data

    @property
    def format(self) -> Format:
        return Format(self.format_name.data)

    @property
    def total_bytes(self) -> int:
        """Bytes of L1."""
        return self.pages * self.page_bytes

    @override
    def verify(self) -> None:
        if self.pages < 1:
            raise VerifyException(f"a circular buffer has at least 1 page, got {self.pages}")
        if self.page_bytes < 1:
            raise VerifyException(f"page size must be positive, got {self.page_bytes} bytes")
        _verify_format(self.format_name)

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            pages = parser.parse_integer(allow_boolean=False)
            parser.parse_keyword("x")
            size = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            return IntAttr(pages), IntAttr(size), _parse_format(parser)

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.pages} x {self.page_bytes}, {self.format_name.data}>")


@irdl_attr_definition
class AccessorType(ParametrizedAttribute, TypeAttribute):
    """``!tensix.accessor<2, bf16>``: page id to bank and address, for one tensor in DRAM."""

    name = "tensix.accessor"

    tensor_rank: IntAttr
    format_name: StringAttr

    def __init__(self, rank: int, format: Format | str) -> None:
        super().__init__(IntAttr(rank), StringAttr(Format(format).value))

    @property
    def rank(self) -> int:
        return self.tensor_rank.data

    @property
    def format(self) -> Format:
        return Format(self.format_name.data)

    @override
    def verify(self) -> None:
        if self.rank < 0:
            raise VerifyException(f"rank must not be negative, got {self.rank}")
        _verify_format(self.format_name)

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            rank = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(",")
            return IntAttr(rank), _parse_format(parser)

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.rank}, {self.format_name.data}>")


@irdl_attr_definition
class SemType(ParametrizedAttribute, TypeAttribute):
    """A semaphore of the program."""

    name = "tensix.sem"


def _parse_format(parser: AttrParser) -> StringAttr:
    return StringAttr(parser.parse_str_enum(Format).value)


def _verify_format(name: StringAttr) -> None:
    if name.data not in [format.value for format in Format]:
        known = ", ".join(format.value for format in Format)
        raise VerifyException(f"tile format must be one of {known}, got '{name.data}'")


SEM = SemType()
CB = instance_of("circular buffer", CBType)
ACCESSOR = instance_of("tensor accessor", AccessorType)
