"""An op that has no text, reported at the user's line."""

from __future__ import annotations

from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine

NO_TEXT = "TW9050"
"""An op that passes should have lowered reached the emitter."""


class CannotEmit(CompileError):
    """An op reached the emitter that it has no text for."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        engine = DiagnosticEngine()
        engine.emit(diagnostic)
        super().__init__(engine)
