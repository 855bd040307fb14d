"""A lexer for MLIR text that is one regular expression.

xDSL's lexer looks at one character at a time and builds two dataclasses a token; lexing is then
the larger half of parsing. Here one compiled pattern skips white space and comments and
recognises the token, and a token makes its ``Span`` only on demand (errors need it).

All repetitions are possessive: a 10 MB line or an unterminated string costs one pass, never a
backtracking search.
"""

# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false
# xDSL declares `text` and `span` as a property and a field; a token here swaps the two, which
# readers of a token cannot distinguish.

from __future__ import annotations

import re
from typing import NoReturn

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken, MLIRTokenKind, StringLiteral

_SUFFIX_ID = r"(?:[0-9]++|[A-Za-z$._-][A-Za-z0-9$._-]*+)"
_STRING = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
_NUMERIC = r"(?:0x[0-9a-fA-F]++|[0-9]++(?:\.[0-9]*+(?:[eE][+-]?[0-9]++)?)?)"

_TOKEN = re.compile(
    r"(?:[ \t\r\n\f\v]++|//[^\n]*+)*+(?:"
    r"([A-Za-z_][A-Za-z0-9_$.]*+)"  # 1 bare identifier
    rf"|(%{_SUFFIX_ID})"  # 2 value
    r"|(->|\{-#|#-\}|\.\.\.|[:,=>{(\[<\-+?/})\]*|])"  # 3 punctuation
    rf"|(#{_SUFFIX_ID})"  # 4 attribute or alias
    rf"|(!{_SUFFIX_ID})"  # 5 type or alias
    rf"|({_NUMERIC})"  # 6 number
    rf"|({_STRING})"  # 7 string
    rf"|(@(?:[A-Za-z_][A-Za-z0-9_$.]*+|{_STRING}))"  # 8 symbol
    rf"|(\^{_SUFFIX_ID})"  # 9 block
    r"|\Z)",
    re.ASCII,
)

_NUMERIC_GROUP, _STRING_GROUP = 6, 7

_KIND_BY_GROUP = {
    1: MLIRTokenKind.BARE_IDENT,
    2: MLIRTokenKind.PERCENT_IDENT,
    4: MLIRTokenKind.HASH_IDENT,
    5: MLIRTokenKind.EXCLAMATION_IDENT,
    8: MLIRTokenKind.AT_IDENT,
    9: MLIRTokenKind.CARET_IDENT,
}
_KIND_BY_PUNCTUATION = {kind.value: kind for kind in MLIRTokenKind if isinstance(kind.value, str)}
_WHITE_SPACE = re.compile(r"(?:[ \t\r\n\f\v]++|//[^\n]*+)*+", re.ASCII)


def _byte(character: str) -> int:
    """The number of a character; of a byte that was not UTF-8, the byte."""
    code = ord(character)
    return code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code


class SourceToken(MLIRToken):
    """A token that remembers its text and makes its span on demand."""

    text: str = ""

    def __init__(
        self, kind: MLIRTokenKind, text: str, start: int, end: int, source: Input[str]
    ) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end
        self.source = source

    @property
    def span(self) -> Span[str]:
        if self.kind in (MLIRTokenKind.STRING_LIT, MLIRTokenKind.BYTES_LIT):
            return StringLiteral(self.start, self.end, self.source)
        return Span(self.start, self.end, self.source)


class SourceLexer(MLIRLexer):
    """Drop-in replacement of xDSL's lexer: same tokens, same errors, a fraction of the cost."""

    def lex(self) -> MLIRToken:
        source = self.input
        match = _TOKEN.match(source.content, self.pos)
        if match is None:
            self._fail()
        group = match.lastindex
        if group is None:
            self.pos = source.len
            return SourceToken(MLIRTokenKind.EOF, "", source.len, source.len, source)
        text = match[group]
        start, end = match.span(group)
        self.pos = end
        kind = _KIND_BY_GROUP.get(group)
        if kind is None:
            kind = self._late_kind(group, text, start)
        return SourceToken(kind, text, start, end, source)

    def _late_kind(self, group: int, text: str, start: int) -> MLIRTokenKind:
        if group == _NUMERIC_GROUP:
            is_float = "." in text
            return MLIRTokenKind.FLOAT_LIT if is_float else MLIRTokenKind.INTEGER_LIT
        if group == _STRING_GROUP:
            if "\\" not in text:
                return MLIRTokenKind.STRING_LIT
            literal = StringLiteral(start, self.pos, self.input)
            is_text = literal.bytes_contents.isascii()
            return MLIRTokenKind.STRING_LIT if is_text else MLIRTokenKind.BYTES_LIT
        return _KIND_BY_PUNCTUATION[text]

    def _fail(self) -> NoReturn:
        """Nothing matched: report which of the few possible errors it is."""
        content = self.input.content
        skipped = _WHITE_SPACE.match(content, self.pos)
        start = skipped.end() if skipped else self.pos
        character = content[start]
        span = Span(start, start + 1, self.input)
        if character == '"' or content[start : start + 2] == '@"':
            raise ParseError(span, "expected '\"' in string literal")
        if character in "%#!^@":
            raise ParseError(span, f"invalid identifier after '{character}'")
        shown = character if character.isprintable() else f"\\x{_byte(character):02x}"
        raise ParseError(span, f"unexpected character '{shown}'")
