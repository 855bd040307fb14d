"""From text to a module or to diagnostics: never to an exception.

``parse_source`` is the entry point of everything that reads IR. Whatever the text holds, the
result is a module, or None with at least one error that has a position.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import MultipleSpansParseError, ParseError, VerifyException

from tilewright.ir.diagnostics import DiagnosticEngine, SourcePosition
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.resources import Resources

RECURSION_LIMIT = 10_000
"""Python frames for the deepest nesting the parser admits (``MAX_NESTING``) and its printing."""


MAX_MESSAGE = 600
"""Characters of an error; names in it come from the input and may be megabytes long."""

_INPUT_FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    TypeError,
    ValueError,
)
"""How attribute parsers of xDSL fail on nonsense such as a number of 5000 digits."""


@dataclass(frozen=True)
class ParsedSource:
    """A module and the file metadata it came with."""

    module: ModuleOp
    resources: Resources


def parse_source(
    context: Context,
    text: str,
    name: str,
    engine: DiagnosticEngine,
    *,
    line_offset: int = 0,
    keep_names: bool = True,
    parser_class: type[IRParser] = IRParser,
) -> ParsedSource | None:
    """Parse `text`; `line_offset` lines of file `name` come before it."""
    engine.sources.add(name, text, line_offset + 1)
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
    positions = _PositionMap(text, name, line_offset)
    parser = None
    try:
        parser = parser_class(context, text, name, line_offset=line_offset, keep_names=keep_names)
        module = parser.parse_module()
        return ParsedSource(module, parser.resources)
    except ParseError as error:
        position = positions.of(error.span.start, error.span.end)
        diagnostic = engine.error(position, _shortened(error.msg))
        if isinstance(error, MultipleSpansParseError):
            for span, note in error.refs:
                diagnostic.note(
                    positions.of(span.start, span.end), note or (error.ref_text or "here")
                )
    except VerifyException as error:
        engine.error(positions.here(parser), _shortened(_message(error)))
    except RecursionError:
        engine.error(positions.here(parser), "nested too deeply")
    except _INPUT_FAULTS as error:
        engine.error(positions.here(parser), _shortened(f"invalid input: {_message(error)}"))
    return None


@dataclass(frozen=True)
class _PositionMap:
    """Maps offsets in a text to positions in its file."""

    text: str
    name: str
    line_offset: int

    def here(self, parser: IRParser | None) -> SourcePosition:
        """Where `parser` stands; None if it did not get past the first token."""
        start = parser.pos if parser is not None else 0
        return self.of(start, start)

    def of(self, start: int, end: int) -> SourcePosition:
        text = self.text
        start = min(start, len(text))
        line = text.count("\n", 0, start) + 1 + self.line_offset
        column = start - text.rfind("\n", 0, start)
        line_end = text.find("\n", start)
        stop = min(end, len(text) if line_end < 0 else line_end)
        end_column = max(column + stop - start, column + 1)
        return SourcePosition(self.name, line, column, line, end_column)


def _shortened(message: str) -> str:
    """`message` without the middle of a name that is as long as a file."""
    if len(message) <= MAX_MESSAGE:
        return message
    half = MAX_MESSAGE // 2
    return f"{message[:half]} … {message[-half:]}"


def _message(error: Exception) -> str:
    """The first line of an exception's text, or its class."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__
