"""Collects what goes wrong instead of stopping at the first exception.

Every stage reports to one `DiagnosticEngine` and goes on while that makes sense; the driver of the
stages checks `has_errors` in between. The engine

- drops what is below `minimum`, and everything after `max_errors` errors (one closing
  diagnostic reports it), because the twenty-first error is noise;
- hands each diagnostic to the handlers once, complete with its notes. Notes are attached after
  the call that reports, so delivery happens when the next diagnostic arrives or at `flush`
  (also done by `raise_if_errors` and at the end of `with engine:`);
- supports `capture`: inside the block it behaves as a fresh engine without handlers,
  and the diagnostics are the caller's to inspect, drop or `emit` again.

Users of the Python API get a `CompileError` from `raise_if_errors`, at the outermost call only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TypeAlias

from tilewright._notebook import NotebookError
from tilewright.ir.diagnostics.diagnostic import Diagnostic, Severity, Where, locate
from tilewright.ir.diagnostics.render import pretty_all
from tilewright.ir.diagnostics.sources import SourceManager

Handler: TypeAlias = Callable[[Diagnostic], None]

DEFAULT_MAX_ERRORS = 20


class DiagnosticLog:
    """What was reported in one scope. Counts include what the error limit suppressed."""

    def __init__(self) -> None:
        self.diagnostics: list[Diagnostic] = []
        self.suppressed: int = 0
        self._counts: Counter[Severity] = Counter()

    def count(self, severity: Severity) -> int:
        """How many diagnostics of exactly this severity were reported."""
        return self._counts[severity]

    @property
    def has_errors(self) -> bool:
        return self._counts[Severity.ERROR] > 0

    def admit(self, diagnostic: Diagnostic, max_errors: int | None) -> Diagnostic | None:
        """Count `diagnostic`; return what to show for it: itself, the closing one or nothing."""
        self._counts[diagnostic.severity] += 1
        if max_errors is not None and self.count(Severity.ERROR) > max_errors:
            self.suppressed += 1
            if self.suppressed > 1:
                return None
            text = f"too many errors: only the first {max_errors} are shown"
            diagnostic = Diagnostic(Severity.ERROR, text)
        self.diagnostics.append(diagnostic)
        return diagnostic


class CompileError(NotebookError, Exception):
    """Compilation failed; the text shows every diagnostic with its source line."""

    def __init__(self, engine: DiagnosticEngine) -> None:
        self.diagnostics: tuple[Diagnostic, ...] = tuple(engine.diagnostics)
        super().__init__(pretty_all(self.diagnostics, engine.sources))

    def __reduce__(self) -> tuple[object, ...]:
        return _compile_error, (self.diagnostics,)


def _compile_error(diagnostics: Iterable[Diagnostic]) -> CompileError:
    """The error in another process, which reads the sources itself."""
    engine = DiagnosticEngine(max_errors=None)
    for each in diagnostics:
        engine.emit(each)
    return CompileError(engine)


class DiagnosticEngine:
    """The sink of all stages' diagnostics. See the module's documentation for the rules."""

    def __init__(
        self,
        *,
        minimum: Severity = Severity.REMARK,
        max_errors: int | None = DEFAULT_MAX_ERRORS,
        handlers: Iterable[Handler] = (),
        sources: SourceManager | None = None,
    ) -> None:
        self.minimum = minimum
        self.max_errors = max_errors
        self.handlers: list[Handler] = list(handlers)
        self.sources = SourceManager() if sources is None else sources
        self._log = DiagnosticLog()
        self._captures = 0
        self._pending: Diagnostic | None = None

    def error(self, where: Where, message: str, code: str | None = None) -> Diagnostic:
        """Report that the input is wrong; compilation cannot give a result."""
        return self.emit(Diagnostic(Severity.ERROR, message, locate(where), code))

    def warning(self, where: Where, message: str, code: str | None = None) -> Diagnostic:
        """Report something that is probably not meant."""
        return self.emit(Diagnostic(Severity.WARNING, message, locate(where), code))

    def remark(self, where: Where, message: str, code: str | None = None) -> Diagnostic:
        """Report what the compiler did or did not do, and why."""
        return self.emit(Diagnostic(Severity.REMARK, message, locate(where), code))

    def emit(self, diagnostic: Diagnostic) -> Diagnostic:
        """Report a ready-made diagnostic, for example a captured one."""
        if diagnostic.severity is Severity.NOTE:
            raise ValueError("a note is attached with Diagnostic.note, not reported alone")
        if diagnostic.severity < self.minimum:
            return diagnostic
        shown = self._log.admit(diagnostic, self.max_errors)
        if shown is not None and not self._captures:
            self.flush()
            self._pending = shown
        return diagnostic

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was reported and not filtered, in order."""
        return list(self._log.diagnostics)

    @property
    def has_errors(self) -> bool:
        return self._log.has_errors

    @property
    def error_count(self) -> int:
        return self._log.count(Severity.ERROR)

    @property
    def warning_count(self) -> int:
        return self._log.count(Severity.WARNING)

    @property
    def remark_count(self) -> int:
        return self._log.count(Severity.REMARK)

    @property
    def suppressed(self) -> int:
        """How many diagnostics the error limit hid."""
        return self._log.suppressed

    def flush(self) -> None:
        """Hand the last diagnostic, now with all its notes, to the handlers."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        for handler in tuple(self.handlers):
            handler(pending)

    def raise_if_errors(self) -> None:
        """Raise `CompileError` if any error was reported."""
        self.flush()
        if self.has_errors:
            raise CompileError(self)

    @contextmanager
    def capture(self) -> Generator[DiagnosticLog]:
        """Divert everything reported inside the block into the log that is yielded."""
        outer, captured = self._log, DiagnosticLog()
        self._log = captured
        self._captures += 1
        try:
            yield captured
        finally:
            self._log = outer
            self._captures -= 1

    def __enter__(self) -> DiagnosticEngine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.flush()
