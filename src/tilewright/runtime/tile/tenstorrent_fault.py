"""What the sanitizers of a run on Tenstorrent reported, as one error with the user's lines.

Cores execute the same kernels, so most faults are found on many of them: findings of one check at
one line are one diagnostic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import Diagnostic, pretty_all
from tilewright.targets.numpy.api import NumpyFault
from tilewright.targets.tenstorrent.diagnostics import diagnostic_of
from tilewright.targets.tenstorrent.execution import Finding
from tilewright.targets.tenstorrent.program import Program


class TenstorrentFault(NumpyFault):
    """A run in which sanitizers reported."""

    def __init__(
        self, findings: Sequence[Finding], program: Program, function: FuncOp, seed: int
    ) -> None:
        self.findings = tuple(findings)
        self.seed = seed
        """Of the schedule it happened in."""
        diagnostics = [
            each if each.location is not None else replace(each, location=function.location)
            for each in _diagnostics(findings, program)
        ]
        super().__init__(diagnostics[0])
        self.args = (pretty_all(diagnostics),)


def _diagnostics(findings: Sequence[Finding], program: Program) -> Iterator[Diagnostic]:
    groups: dict[object, list[Finding]] = {}
    for each in findings:
        groups.setdefault((each.check, each.kernel, each.file, each.line), []).append(each)
    for first, *others in groups.values():
        diagnostic = diagnostic_of(first, program)
        cores = dict.fromkeys(each.core for each in others if each.core not in (None, first.core))
        if cores:
            shown = ", ".join(f"({core[0]},{core[1]})" for core in list(cores)[:4] if core)
            rest = f" and {len(cores) - 4} more" if len(cores) > 4 else ""
            diagnostic.note(None, f"also on core {shown}{rest}")
        yield diagnostic
