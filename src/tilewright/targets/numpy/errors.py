"""Errors for what the NumPy target cannot run, reported at the source line before execution."""

from __future__ import annotations

from tilewright.ir.diagnostics import CompileError, Diagnostic, DiagnosticEngine, SourceManager


class Unsupported(CompileError):
    """The kernel uses something that has no meaning on a CPU."""

    def __init__(self, diagnostic: Diagnostic, sources: SourceManager | None = None) -> None:
        engine = DiagnosticEngine(sources=sources)
        engine.emit(diagnostic)
        super().__init__(engine)
