"""Types of storage aliasing: specifications and groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.ir import Attribute, TypeAttribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.ttg.struct import FieldsAttr, keyword
from tilewright.ir.text.syntax import Enum

STORAGE_KIND = Enum({"smem": 0, "tmem": 1})
GROUP_KIND = Enum({"shared": 0, "distinct": 1})

_STORAGE = keyword({name: name for name in STORAGE_KIND.keywords})
_GROUP = keyword({name: name for name in GROUP_KIND.keywords})


def verify_size(size: int | None) -> None:
    """Raise unless `size` bytes can be requested."""
    if size is not None and size <= 0:
        raise VerifyException(f"buffer_size_bytes must be positive, got {size}")


@dataclass(frozen=True)
class StorageAliasSpecType(FieldsAttr, TypeAttribute):
    """A region of one kind of memory that several buffers may share, perhaps of given size."""

    name = "tlx.storage_alias_spec"

    storage: str
    buffer_size_bytes: int | None = None

    @override
    def verify(self) -> None:
        if self.storage not in STORAGE_KIND.keywords:
            raise VerifyException(
                "unsupported storage kind for storage_alias_spec, expected smem or tmem"
            )
        verify_size(self.buffer_size_bytes)

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            storage = _STORAGE.parse(parser, cls.name)
            more = parser.parse_optional_punctuation(",") is not None
            size = parser.parse_integer() if more else None
        return cls.pack((storage, size))

    @override
    def print_parameters(self, printer: Printer) -> None:
        size = "" if self.buffer_size_bytes is None else f", {self.buffer_size_bytes}"
        printer.print_string(f"<{self.storage}{size}>")


@dataclass(frozen=True)
class ReuseGroupType(FieldsAttr, TypeAttribute):
    """A node of a tree of buffers: its children share memory, or are disjoint."""

    name = "tlx.reuse_group"

    group_kind: str

    @override
    def verify(self) -> None:
        if self.group_kind not in GROUP_KIND.keywords:
            raise VerifyException(f"unknown kind of reuse group '{self.group_kind}'")

    @classmethod
    @override
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.pack((_GROUP.parse(parser, cls.name),))

    @override
    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.group_kind}>")
