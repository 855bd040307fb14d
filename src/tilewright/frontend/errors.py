"""From an exception raised while a kernel runs to an error that points into the user's source.

The frames of kernel functions on the traceback give the location: the innermost is that of the
error, the others are the calls that led there. Frames of language code are left out; what they have
to caller is in the exception's message and in the notes added to it (`BaseException.add_note`).

    kernel.py:12:9: error[TW1010]: shapes (64,) and (32,) do not broadcast
      12 |     y = a + b
         |         ^~~~~
      kernel.py:20:5: note: called from here, in softmax
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from functools import cache
from types import FrameType, TracebackType
from typing import NamedTuple

from tilewright.frontend.locations import SourceMap, source_map_of
from tilewright.frontend.variables import (
    hint_for_attribute,
    hint_for_call,
    source_text,
    variables_in,
)
from tilewright.ir.diagnostics import (
    CompileError,
    Diagnostic,
    DiagnosticEngine,
    Severity,
    SourcePosition,
)

UNSUPPORTED = "TW1001"
"""Python that a kernel cannot use."""
UNDEFINED = "TW1002"
"""A name without a value."""
MISMATCH = "TW1003"
"""Values that do not agree where control flow joins."""
BAD_CALL = "TW1004"
"""Arguments that do not fit the parameters of a kernel function."""
RECURSION = "TW1005"
BAD_RETURN = "TW1006"
SOURCE = "TW1007"
"""A function whose source cannot be read."""
RAISED = "TW1010"
"""An error raised by a function of the language, or by Python."""

Note = tuple[SourcePosition | None, str]


class FrontendError(Exception):
    """An error with more than a message: a location, a code, notes at other source positions."""

    def __init__(
        self,
        message: str,
        position: SourcePosition | None = None,
        *,
        code: str = RAISED,
        notes: Sequence[Note] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.code = code
        self.notes = tuple(notes)


class KernelFrame(NamedTuple):
    """A frame of a kernel function on a traceback."""

    position: SourcePosition
    function: str
    is_library: bool
    text: str
    """The source range at `position`."""
    frame: FrameType


def kernel_frames(traceback: TracebackType | None) -> Iterator[KernelFrame]:
    """The kernel functions on `traceback`, outermost first; a comprehension is its function."""
    previous: SourceMap | None = None
    frames: list[KernelFrame] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        source_map = source_map_of(code)
        if source_map is not None:
            source_range = source_map.source_range(code, traceback.tb_lasti)
            frame = KernelFrame(
                source_map.position(source_range.caret),
                source_map.code.co_name,
                source_map.library,
                source_text(source_map.file, source_range.caret),
                traceback.tb_frame,
            )
            if code is not source_map.code and source_map is previous:
                frames[-1] = frame
            else:
                frames.append(frame)
            previous = source_map
        traceback = traceback.tb_next
    yield from frames


def compile_error(exception: Exception, *, also: type[Exception] | None = None) -> CompileError:
    """`exception`, raised while a kernel was traced, as an error in the user's source.

    It is an error of the class `also` besides, which a caller may expect.
    """
    frames = list(kernel_frames(exception.__traceback__))
    shown = [frame for frame in frames if not frame.is_library] or frames
    known = exception if isinstance(exception, FrontendError) else None
    position = known.position if known is not None else None
    if position is None and shown:
        position = shown[-1].position
    engine = DiagnosticEngine()
    diagnostic = engine.error(position, message_of(exception), code_of(exception))
    for where, text in known.notes if known is not None else ():
        diagnostic.notes.append(Diagnostic(Severity.NOTE, text, where))
    notes: list[str] = list(getattr(exception, "__notes__", ()))
    if shown and code_of(exception) == RAISED:
        notes += _findings(exception, shown[-1])
    diagnostic.notes.extend(Diagnostic(Severity.NOTE, text) for text in notes)
    for frame in shown[-2::-1]:
        diagnostic.note(frame.position, f"called from here, in {frame.function}")
    for each in (diagnostic, *diagnostic.notes):
        _supply_text(engine, each.location)
    return (CompileError if also is None else _class_of(also))(engine)


@cache
def _class_of(also: type[Exception]) -> type[CompileError]:
    return type(
        CompileError.__name__, (CompileError, also), {"__module__": CompileError.__module__}
    )


def raised_in_kernel(exception: Exception) -> bool:
    """Whether an expression of a kernel function raised, and not a function that it called."""
    traceback = exception.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and source_map_of(traceback.tb_frame.f_code) is not None


def _findings(exception: Exception, stopped: KernelFrame) -> list[str]:
    """The values in the frame in which the kernel stopped."""
    hint: str | None = None
    if isinstance(exception, AttributeError):
        hint = hint_for_attribute(exception)
    elif raised_in_kernel(exception):
        hint = hint_for_call(exception, stopped.text, stopped.frame)
    if hint is not None:
        return [hint]
    variables = variables_in(stopped.text, stopped.frame)
    return [variables] if variables else []


def _supply_text(engine: DiagnosticEngine, location: object) -> None:
    """The text that Python read; that of a notebook is not in any file."""
    if isinstance(location, SourcePosition):
        lines = linecache.getlines(location.file)
        if lines:
            engine.sources.add(location.file, "".join(lines))


_SELF_EXPLANATORY = (
    AssertionError,
    AttributeError,
    NameError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)


def message_of(exception: Exception) -> str:
    """What happened; the exception's type is added where the message alone is unclear."""
    text = exception.message if isinstance(exception, FrontendError) else str(exception)
    if isinstance(exception, FrontendError):
        return text
    name = type(exception).__name__
    if not text:
        return name
    return text if isinstance(exception, _SELF_EXPLANATORY) else f"{name}: {text}"


def code_of(exception: Exception) -> str:
    if isinstance(exception, FrontendError):
        return exception.code
    return UNDEFINED if isinstance(exception, NameError) else RAISED
