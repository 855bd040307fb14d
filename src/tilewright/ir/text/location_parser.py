"""Locations: every form MLIR prints, ranges and fused metadata included."""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this package's purpose.

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    CallSiteLoc,
    FileLineColLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute
from xdsl.utils.mlir_lexer import MLIRTokenKind

from tilewright.ir.text.base_parser import PositionedParser
from tilewright.ir.text.locations import FileLineColRangeLoc, fuse, is_location, name_location


class LocationParser(PositionedParser):
    """Parses ``loc(...)``."""

    _explicit_unknown = False
    """Whether the last location read was an explicit ``loc(unknown)``."""

    def parse_optional_location(self) -> LocationAttr | None:
        if self._current_token.text != "loc":
            return None
        self._consume_token()
        self.parse_punctuation("(", " in location")
        with self._nested():
            location = self._parse_location()
        self.parse_punctuation(")", " in location")
        self._explicit_unknown = location.__class__ is UnknownLoc
        return location

    def _parse_location(self) -> LocationAttr:
        token = self._current_token
        if token.kind is MLIRTokenKind.HASH_IDENT:
            attribute = self.parse_attribute()
            if not is_location(attribute):
                self.raise_error(f"expected location, but found '{attribute}'", token.span)
            return cast(LocationAttr, attribute)
        if token.kind in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return self._parse_named_or_file_location()
        parse = {
            "unknown": UnknownLoc,
            "callsite": self._parse_callsite_location,
            "fused": self._parse_fused_location,
        }.get(token.text)
        if parse is None:
            self.raise_error('expected location: unknown, "file":line:column, callsite or fused')
        self._consume_token()
        with self._nested():
            return parse()

    def _parse_named_or_file_location(self) -> LocationAttr:
        text = self.parse_str_literal()
        if self.parse_optional_punctuation(":") is not None:
            return self._parse_file_location(StringAttr(text))
        if self.parse_optional_punctuation("(") is None:
            return NameLoc(StringAttr(text), NoneAttr())
        with self._nested():
            inner = self._parse_location()
        self.parse_punctuation(")", " in named location")
        return name_location(text, inner)

    def _parse_file_location(self, name: StringAttr) -> LocationAttr:
        line = self.parse_integer(False, False)
        column = self.parse_integer(False, False) if self.parse_optional_punctuation(":") else 0
        if self.parse_optional_keyword("to") is None:
            return FileLineColLoc(name, IntAttr(line), IntAttr(column))
        end_line = line
        if self.parse_optional_punctuation(":") is None:
            end_line = self.parse_integer(False, False)
            self.parse_punctuation(":", " in location range")
        end_column = self.parse_integer(False, False)
        parts = (IntAttr(n) for n in (line, column, end_line, end_column))
        return cast(LocationAttr, FileLineColRangeLoc(name, *parts))

    def _parse_callsite_location(self) -> LocationAttr:
        self.parse_punctuation("(", " in callsite location")
        callee = self._parse_location()
        self.parse_keyword("at", " in callsite location")
        caller = self._parse_location()
        self.parse_punctuation(")", " in callsite location")
        return CallSiteLoc(callee, caller)

    def _parse_fused_location(self) -> LocationAttr:
        metadata: Attribute | None = None
        if self.parse_optional_punctuation("<") is not None:
            metadata = self.parse_attribute()
            self.parse_punctuation(">", " after fused location metadata")
        inner = self.parse_comma_separated_list(self.Delimiter.SQUARE, self._parse_location)
        return cast(LocationAttr, fuse(inner, metadata))

    def _parse_optional_builtin_attr(self) -> Attribute | None:
        if self._current_token.text == "loc":
            outer = self._explicit_unknown
            location = self.parse_optional_location()
            self._explicit_unknown = outer  # it is a value here, not the location of an op
            return location
        with self._nested():
            return super()._parse_optional_builtin_attr()
