"""Findings of a run as diagnostics, at the lines of the kernels' sources or of the user.

Emitted kernels have the user's line in a comment before its statements; a note repeats it.
"""

from __future__ import annotations

import re

from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition
from tilewright.targets.tenstorrent.execution import Finding, RunResult
from tilewright.targets.tenstorrent.program import KernelSource, Program

_ORIGIN = re.compile(r"^\s*// (\S+\.py:\d+)$")


def origin(kernel: KernelSource, line: int) -> str | None:
    """The user's file and line that an emitted line implements, if a comment has it."""
    for text in reversed(kernel.source.splitlines()[:line]):
        found = _ORIGIN.match(text)
        if found is not None:
            return found[1]
    return None


def diagnostic_of(finding: Finding, program: Program) -> Diagnostic:
    """One finding; the notes of a deadlock are the blocked kernels."""
    headline, *details = finding.message.split("\n")
    position, implements = None, None
    for kernel in program.kernels:
        if kernel.name == finding.kernel and finding.line is not None:
            file = finding.file or str(kernel.path or f"{kernel.name}.cpp")
            position = SourcePosition(file, finding.line, finding.column)
            implements = None if finding.file else origin(kernel, finding.line)
    if finding.core is not None:
        headline = f"core ({finding.core[0]},{finding.core[1]}): {headline}"
    diagnostic = Diagnostic(Severity.ERROR, headline, position, finding.check.code)
    if implements is not None:
        diagnostic.note(None, f"emitted for {implements}")
    for detail in details:
        diagnostic.note(None, detail)
    return diagnostic


def diagnostics_of(result: RunResult, program: Program) -> tuple[Diagnostic, ...]:
    """All findings of a run."""
    return tuple(diagnostic_of(finding, program) for finding in result.findings)
