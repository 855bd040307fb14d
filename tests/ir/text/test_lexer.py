"""The lexer gives the tokens of xDSL's lexer, and one clear error for what is no token."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from tilewright.ir.text.lexer import SourceLexer


def tokens(lexer):
    out = []
    while True:
        token = lexer.lex()
        out.append((token.kind, token.text, token.span.start, token.span.end))
        if token.kind is MLIRTokenKind.EOF:
            return out


PIECES = [
    "tt.load",
    "%0",
    "%x_1",
    "%arg0#1",
    "#loc12",
    "#ttg.blocked",
    "!tt.ptr",
    "^bb0",
    "@f",
    '@"a b"',
    "->",
    "-",
    "...",
    "{-#",
    "#-}",
    "(",
    ")",
    "<",
    ">",
    "[",
    "]",
    "{",
    "}",
    ":",
    ",",
    "=",
    "*",
    "|",
    "?",
    "/",
    "+",
    "0",
    "42",
    "0xFF",
    "1.5",
    "1.0e+10",
    "2.",
    '"text"',
    '"a\\22b"',
    '"\\FF"',
    "// comment\n",
    " ",
    "\n",
    "\t",
]


@given(st.lists(st.sampled_from(PIECES)))
def test_same_tokens_as_xdsl(pieces):
    text = " ".join(pieces)
    expected = tokens(MLIRLexer(Input(text, "t")))
    found = tokens(SourceLexer(Input(text, "t")))
    assert found[:-1] == expected[:-1]
    assert found[-1][0] is MLIRTokenKind.EOF


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('  "open', 3, "expected '\"' in string literal"),
        ('@"open', 1, "expected '\"' in string literal"),
        ("% x", 1, "invalid identifier after '%'"),
        ("~", 1, "unexpected character '~'"),
        ("\x00", 1, "unexpected character '\\x00'"),
        ("é", 1, "unexpected character 'é'"),
    ],
)
def test_not_a_token(text, column, message):
    with pytest.raises(ParseError) as caught:
        SourceLexer(Input(text, "t")).lex()
    assert caught.value.msg == message
    assert caught.value.span.start == column - 1


@pytest.mark.parametrize("text", ['"' + "a" * 10_000_000, "x" * 10_000_000, " " * 10_000_000 + "~"])
def test_ten_megabyte_line_takes_one_pass(text):
    start = time.process_time()
    lexer = SourceLexer(Input(text, "t"))
    try:
        lexer.lex()
    except ParseError as error:
        assert error.msg
    assert time.process_time() - start < 2.0
