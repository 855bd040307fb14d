"""The source location that is being executed.

A kernel function runs as ordinary Python, compiled from its rewritten syntax tree under the
user's file name and with the user's positions. The location of an op is therefore the position of
the instruction that is executing in the innermost frame of a kernel function, however many frames
of language code are above it:

    frame of kernel.py (instruction at 12:9 - 12:31)     <- the location
      tl.load -> emit -> Builder.insert -> current_location

An op made inside a kernel function that was called by another one gets a call site location; the
caller's part is taken once, when the call begins (`Activation.caller`). Functions of a language's
own library are not the user's business: what they emit is placed where the user called them.

A value given a name, ``x = a + b``, names the ops it is built from: ``"x"(file:3:9)``.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from inspect import currentframe
from types import CodeType, FrameType
from weakref import WeakValueDictionary

from xdsl.dialects.builtin import CallSiteLoc, LocationAttr, UnknownLoc

from tilewright.ir.diagnostics import SourcePosition
from tilewright.ir.text.locations import file_location, name_location

Instruction = tuple[CodeType, int]
"""Code and byte offset."""

Span = tuple[int, int, int, int]
"""First line, last line, first column, column after the last: as `co_positions` orders them.

Lines count from 1, columns from 0 and in bytes of UTF-8."""


@dataclass(frozen=True)
class SourceRange:
    """A range of a kernel's source: `at` is where an op comes from, `caret` what to point at."""

    at: Span
    caret: Span
    name: str | None = None
    """The variable that the expression is assigned to."""


class SourceMap:
    """The source ranges of one kernel function, by the executing instruction."""

    def __init__(
        self,
        file: str,
        code: CodeType,
        ranges: Mapping[Span, SourceRange],
        *,
        library: bool = False,
    ) -> None:
        self.file = file
        self.code = code
        self.library = library
        self._ranges = ranges
        self.spans: dict[int, list[Span]] = {}
        """By the id of a code object, the position of every instruction."""
        self._locations: dict[tuple[int, int], LocationAttr] = {}
        self._fallback = (code.co_firstlineno, code.co_firstlineno, 0, 0)
        self._add(code)

    def _add(self, code: CodeType) -> None:
        """Read the positions of `code` and of the comprehensions inside it."""
        first, last, start, end = self._fallback
        self.spans[id(code)] = [
            (a or first, b or last, c or start, d or end) for a, b, c, d in code.co_positions()
        ]
        _source_maps[id(code)] = self
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self._add(constant)

    def executing(self) -> Instruction:
        """The instruction that runs in the innermost frame of this function."""
        frame = currentframe()
        while frame is not None and id(frame.f_code) not in self.spans:
            frame = frame.f_back
        assert frame is not None  # called only by functions that it calls
        return frame.f_code, frame.f_lasti

    def source_range(self, code: CodeType, instruction: int) -> SourceRange:
        """The location of the instruction at byte offset `instruction` of `code`."""
        span = self.spans[id(code)][instruction >> 1 if instruction >= 0 else 0]
        return self._ranges.get(span) or SourceRange(span, span)

    def location(self, code: CodeType, instruction: int) -> LocationAttr:
        """The location of the instruction, without the calls that led to it."""
        key = (id(code), instruction)
        found = self._locations.get(key)
        if found is None:
            source_range = self.source_range(code, instruction)
            found = file_location(self.file, source_range.at[0], source_range.at[2] + 1)
            if source_range.name is not None:
                found = name_location(source_range.name, found)
            self._locations[key] = found
        return found

    def position(self, span: Span) -> SourcePosition:
        """`span` as a location to point at, with columns that count characters."""
        first, last, start, end = span
        return SourcePosition(
            self.file, first, self._column(first, start), last, self._column(last, end)
        )

    def _column(self, line: int, offset: int) -> int:
        text = linecache.getline(self.file, line)
        return len(text.encode()[:offset].decode(errors="replace")) + 1 if text else offset + 1


# Ids stay valid while the entry lives: a source map holds its code objects.
_source_maps: WeakValueDictionary[int, SourceMap] = WeakValueDictionary()


def source_map_of(code: CodeType) -> SourceMap | None:
    """The source map of a rewritten kernel function's code; None for any other code."""
    return _source_maps.get(id(code))


class Activation:
    """One execution of a kernel function."""

    __slots__ = ("_locations", "caller", "owner", "source_map")

    def __init__(self, source_map: SourceMap, owner: object, caller: LocationAttr | None) -> None:
        self.source_map = source_map
        self.owner = owner
        self.caller = caller
        self._locations: dict[tuple[int, int], LocationAttr] = {}

    def location(self, frame: FrameType | None) -> LocationAttr:
        """Where this activation is, seen from `frame` or any frame that it called."""
        if self.source_map.library and self.caller is not None:
            return self.caller
        spans = self.source_map.spans
        while frame is not None and id(frame.f_code) not in spans:
            frame = frame.f_back
        assert frame is not None  # called only by functions that it calls
        if self.caller is None:
            return self.source_map.location(frame.f_code, frame.f_lasti)
        key = (id(frame.f_code), frame.f_lasti)
        found = self._locations.get(key)
        if found is None:
            callee = self.source_map.location(frame.f_code, frame.f_lasti)
            found = self._locations[key] = CallSiteLoc(callee, self.caller)
        return found


class _Stack(threading.local):
    def __init__(self) -> None:
        self.activations: list[Activation] = []


_stack = _Stack()


def current_location() -> LocationAttr:
    """The location being executed, with the calls that led there; unknown outside kernels."""
    activations = _stack.activations
    return activations[-1].location(currentframe()) if activations else UnknownLoc()


def is_made_here(location: LocationAttr) -> bool:
    """Whether an op at `location` comes from the kernel function being executed: not from one that
    called it, and not from one that it called."""
    caller = location.caller if isinstance(location, CallSiteLoc) else None
    for activation in reversed(_stack.activations):
        if not activation.source_map.library:
            return caller == activation.caller
    return True


def activations() -> list[Activation]:
    """The kernel functions being executed in this thread, outermost first."""
    return _stack.activations


@contextmanager
def activated(activation: Activation) -> Generator[Activation]:
    """Execute a kernel function: locations are those of its source inside the ``with``."""
    _stack.activations.append(activation)
    try:
        yield activation
    finally:
        _stack.activations.pop()
