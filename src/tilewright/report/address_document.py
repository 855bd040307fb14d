"""What a report on addresses is built from: the analysis of one kernel and what checks found."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.analysis.pid_address import AddressReport, MemoryOp
from tilewright.analysis.pid_address.checks import Finding


@dataclass(frozen=True)
class SourceText:
    """The source of the kernel: a function of a script, or the IR."""

    file: str
    first_line: int
    text: str


@dataclass(frozen=True)
class Document:
    """One kernel, for one launch of it if there was one."""

    report: AddressReport
    findings: tuple[Finding, ...] = ()
    launch: str = ""
    """``add[8, 1, 1](n=1000)``: what was launched; nothing for a file that was only read."""
    source: SourceText | None = None


def accesses_of(document: Document, finding: Finding) -> list[MemoryOp]:
    """The accesses a finding is about: an op has several if several calls lead to it."""
    found = [access for access in document.report.accesses if access.index in finding.accesses]
    named = [access for access in found if access.name in finding.message]
    return named or found


def source_locations(document: Document, finding: Finding) -> list[str]:
    """The source locations of a finding, each once."""
    found = [access.loc for access in accesses_of(document, finding)]
    if finding.assumption is not None:
        found = [document.report.assumptions[finding.assumption].loc]
    return [location for location in dict.fromkeys(found) if location is not None]
