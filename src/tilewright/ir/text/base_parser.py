"""What all parts of the parser share: position, nesting depth, errors.

Positions are those of the original file also when only a chunk of it is parsed. Nesting has a
limit, so hostile input ends in an error and not in a stack overflow. xDSL's messages come in
several styles; here they all become phrases that start with what was expected.
"""

# pyright: reportPrivateUsage=false, reportIncompatibleMethodOverride=false
# Overriding private methods of a pinned xDSL is this package's purpose.

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import contextmanager
from typing import Any, NoReturn, cast

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr
from xdsl.parser import Parser
from xdsl.parser.generic_parser import ParserState
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRTokenKind, StringLiteral

from tilewright.ir.text.lexer import SourceLexer

MAX_NESTING = 200
"""Regions or attributes inside each other. Real kernels stay below 20."""


class PositionedParser(Parser):
    """xDSL's parser over our lexer, with positions, a nesting limit and one style of message."""

    def __init__(self, context: Context, text: str, name: str, line_offset: int) -> None:
        self.line_offset = line_offset
        self._text = text
        self._file_name = StringAttr(name)
        self._line_starts: list[int] | None = None
        self._nesting = 0
        super().__init__(context, "", name)
        self._parser_state = cast(
            "ParserState[Any, Any]", ParserState(SourceLexer(Input(text, name)))
        )

    def position(self, offset: int) -> tuple[int, int]:
        """One-based line and column of `offset`, in lines of the original file."""
        if self._line_starts is None:
            self._line_starts = [0, *(m.end() for m in re.finditer("\n", self._text))]
        line = bisect_right(self._line_starts, offset)
        return line + self.line_offset, offset - self._line_starts[line - 1] + 1

    def location_at(self, offset: int) -> FileLineColLoc:
        """The location that text at `offset` has if it states none itself."""
        line, column = self.position(offset)
        return FileLineColLoc(self._file_name, IntAttr(line), IntAttr(column))

    @contextmanager
    def _nested(self):
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            self.raise_error(f"nested deeper than {MAX_NESTING} levels")
        yield
        self._nesting -= 1

    def raise_error(
        self, msg: str, at_position: Any = None, end_position: int | None = None
    ) -> NoReturn:
        """Every error of the text ends here; xDSL's messages are converted to one style."""
        polished = _polished(msg)
        if end_position is not None:
            super().raise_error(polished, at_position, end_position)
        if at_position is None and polished.startswith("expected"):
            at_position = self._end_of_line_before()
        super().raise_error(polished, at_position)

    def _end_of_line_before(self) -> int | None:
        """Where the text ends before the next token, if that token is on a later line.

        Something missing is missed there, not before the next op.
        """
        skipped = self._text[: self.pos].rstrip()
        return len(skipped) if "\n" in self._text[len(skipped) : self.pos] else None

    def _raise_at_previous(self, spelling: str, message: str) -> NoReturn:
        """An error about the token `spelling`, which was just consumed."""
        start = self._text.rfind(spelling, 0, self.pos)
        super().raise_error(message, start, start + len(spelling))

    def parse_optional_str_literal(self) -> str | None:
        """A string; MLIR's hold bytes, so what is no UTF-8 survives as surrogate characters."""
        token = self._current_token
        if token.kind is not MLIRTokenKind.BYTES_LIT:
            return super().parse_optional_str_literal()
        self._consume_token()
        contents = StringLiteral.from_span(token.span).bytes_contents
        return contents.decode("utf-8", "surrogateescape")


_REWORDED = {
    " in block definition": "expected an operation, a block label or '}'",
    "Expected bare-id or string-literal here as part of attribute entry!": (
        "expected the name of an attribute"
    ),
    "operation name expected": "expected the name of an operation",
    "Expected block argument!": "expected a block argument, as %name: type",
}


def _polished(message: str) -> str:
    """`message` as a phrase that begins with what was expected."""
    if message in _REWORDED:
        return _REWORDED[message]
    message = message.rstrip("!.")
    head, separator, tail = message.partition(" expected")
    if separator and (not tail or tail.startswith((" in ", " after "))):
        message = f"expected {head}{tail}"
    if message.startswith("Expected "):
        message = "e" + message[1:]
    return message
