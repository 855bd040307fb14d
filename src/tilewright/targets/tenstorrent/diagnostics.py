"""Findings of a run as diagnostics, at the lines of the kernels' sources."""

from __future__ import annotations

from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition
from tilewright.targets.tenstorrent.execution import Finding, RunResult
from tilewright.targets.tenstorrent.program import Program


def diagnostic_of(finding: Finding, program: Program) -> Diagnostic:
    """One finding; the notes of a deadlock are the blocked kernels."""
    headline, *details = finding.message.split("\n")
    position = None
    for kernel in program.kernels:
        if kernel.name == finding.kernel and finding.line is not None:
            file = str(kernel.path) if kernel.path is not None else f"{kernel.name}.cpp"
            position = SourcePosition(file, finding.line, 1)
    if finding.core is not None:
        headline = f"core ({finding.core[0]},{finding.core[1]}): {headline}"
    diagnostic = Diagnostic(Severity.ERROR, headline, position, finding.check.code)
    for detail in details:
        diagnostic.note(None, detail)
    return diagnostic


def diagnostics_of(result: RunResult, program: Program) -> tuple[Diagnostic, ...]:
    """All findings of a run."""
    return tuple(diagnostic_of(finding, program) for finding in result.findings)
