"""From text to a module or to diagnostics: never to an exception.

``parse_source`` is the entry point of everything that reads IR. Whatever the text holds, the
answer is a module, or None with at least one error that has a position.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import ParseError, VerifyException

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
) -> ParsedSource | None:
    """Parse `text`; `line_offset` lines of file `name` come before it."""
    engine.sources.add(name, text, line_offset + 1)
    if sys.getrecursionlimit() < RECURSION_LIMIT:
        sys.setrecursionlimit(RECURSION_LIMIT)
    parser = None
    try:
        parser = IRParser(context, text, name, line_offset=line_offset, keep_names=keep_names)
        module = parser.parse_module()
        return ParsedSource(module, parser.resources)
    except ParseError as error:
        start, end = error.span.start, error.span.end
        _report(engine, text, name, line_offset, start, end, error.msg)
    except VerifyException as error:
        _report_here(engine, parser, text, name, line_offset, _message(error))
    except RecursionError:
        _report_here(engine, parser, text, name, line_offset, "nested too deeply")
    except _INPUT_FAULTS as e:
        _report_here(engine, parser, text, name, line_offset, f"invalid input: {_message(e)}")
    return None


def _report_here(
    engine: DiagnosticEngine,
    parser: IRParser | None,
    text: str,
    name: str,
    line_offset: int,
    message: str,
) -> None:
    start = parser.pos if parser is not None else 0
    _report(engine, text, name, line_offset, start, start, message)


def _report(
    engine: DiagnosticEngine,
    text: str,
    name: str,
    line_offset: int,
    start: int,
    end: int,
    message: str,
) -> None:
    start = min(start, len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line = text.count("\n", 0, start) + 1 + line_offset
    column = start - line_start + 1
    line_end = text.find("\n", start)
    stop = min(end, len(text) if line_end < 0 else line_end)
    position = SourcePosition(name, line, column, line, max(column + stop - start, column + 1))
    engine.error(position, _shortened(message))


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
