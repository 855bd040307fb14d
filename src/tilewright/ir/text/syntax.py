"""The text of a property where an op's format has ``$name``.

In an attribute dictionary every attribute prints in full (``axis = 1 : i32``). Named in a format
it omits what the op implies: an ``i32`` prints as ``1``, an enum as its keyword, an integer
array as ``[1, 0]``. One ``AttributeSyntax`` object describes one such spelling.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute

if TYPE_CHECKING:
    from tilewright.ir.text.parser import IRParser
    from tilewright.ir.text.printer import IRPrinter


@dataclass(frozen=True)
class AttributeSyntax:
    """The full spelling, for attributes of any kind."""

    def parse(self, parser: IRParser) -> Attribute:
        return parser.parse_attribute()

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return parser.parse_optional_attribute()

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_attribute(attribute)


@dataclass(frozen=True)
class Integer(AttributeSyntax):
    """``42``: an integer whose type the op implies."""

    type: IntegerType

    def parse(self, parser: IRParser) -> Attribute:
        return IntegerAttr(parser.parse_integer(allow_boolean=self.type == i1), self.type)

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        value = parser.parse_optional_integer(allow_boolean=self.type == i1)
        return None if value is None else IntegerAttr(value, self.type)

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_int(attribute.value.data, self.type)


@dataclass(frozen=True)
class Enum(AttributeSyntax):
    """``relaxed``: an integer that prints as one of a few keywords."""

    keywords: Mapping[str, int]
    type: IntegerType = i32
    _keywords_by_value: Mapping[int, str] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        by_value = {value: keyword for keyword, value in self.keywords.items()}
        object.__setattr__(self, "_keywords_by_value", by_value)

    def parse(self, parser: IRParser) -> Attribute:
        if parser.next_text[:1] == '"':
            return self._quoted(parser)
        return IntegerAttr(parser.parse_keyword_from(dict(self.keywords)), self.type)

    def _quoted(self, parser: IRParser) -> Attribute:
        """``"relaxed"``: older text puts the keyword in quotes."""
        start = parser.pos
        keyword = parser.parse_str_literal()
        if keyword not in self.keywords:
            known = ", ".join(self.keywords)
            parser.raise_error(f"expected one of: {known}; found '{keyword}'", start)
        return IntegerAttr(self.keywords[keyword], self.type)

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return self.parse(parser) if parser.next_text in self.keywords else None

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        printer.print_string(self.keyword(attribute))

    def keyword(self, attribute: IntegerAttr) -> str:
        """The keyword of `attribute`."""
        return self._keywords_by_value.get(attribute.value.data, str(attribute.value.data))

    def attribute(self, keyword: str) -> IntegerAttr:
        """The attribute that prints as `keyword`."""
        return IntegerAttr(self.keywords[keyword], self.type)


@dataclass(frozen=True)
class IntegerArray(AttributeSyntax):
    """``[1, 0]``: a dense array whose element type the op implies."""

    type: IntegerType = i32

    def parse(self, parser: IRParser) -> Attribute:
        values = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)
        return DenseArrayBase.from_list(self.type, values)

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return self.parse(parser) if parser.next_text == "[" else None

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        values = ", ".join(str(value) for value in attribute.get_values())
        printer.print_string(f"[{values}]")


@dataclass(frozen=True)
class String(AttributeSyntax):
    """A string literal."""

    def parse(self, parser: IRParser) -> Attribute:
        return StringAttr(parser.parse_str_literal())

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        text = parser.parse_optional_str_literal()
        return None if text is None else StringAttr(text)


@dataclass(frozen=True)
class Symbol(AttributeSyntax):
    """``@name``, a reference to a symbol."""

    def parse(self, parser: IRParser) -> Attribute:
        attribute = parser.parse_attribute()
        if not isinstance(attribute, SymbolRefAttr):
            parser.raise_error("expected a symbol reference, as @name")
        return attribute


@dataclass(frozen=True)
class Unit(AttributeSyntax):
    """Present or absent; the group's literals express it, the attribute itself prints nothing."""

    def parse(self, parser: IRParser) -> Attribute:
        return UnitAttr()

    def parse_optional(self, parser: IRParser) -> Attribute | None:
        return UnitAttr()

    def print(self, attribute: Any, printer: IRPrinter) -> None:
        return


ANY = AttributeSyntax()
BOOL = Integer(i1)
INT32 = Integer(i32)
INT64 = Integer(i64)
INT32_ARRAY = IntegerArray(i32)
INT64_ARRAY = IntegerArray(i64)
STRING = String()
SYMBOL = Symbol()
UNIT = Unit()
