"""Addresses for a terminal: one line a value, an address or an access, then what checks found.

The lines are those of the report itself. ``verbose`` adds to an access what a compiler would need
next (vector width, alignment, order of dimensions, guard, virtual coordinates), and lists the
assumptions under which the polynomials are true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tilewright.analysis.pid_address import AddressReport, MemoryOp, ValueInfo, Virtual
from tilewright.analysis.pid_address.checks import Finding
from tilewright.report.address_document import Document, source_locations


def render(documents: Sequence[Document], *, verbose: bool = False) -> str:
    """The text; kernels that were launched have a first line of their own."""
    return "\n".join(
        "".join(f"{line}\n" for line in _document(document, verbose=verbose))
        for document in documents
    )


def _document(document: Document, *, verbose: bool) -> Iterator[str]:
    report = document.report
    if document.launch:
        yield document.launch
    for line in report.lines:
        yield _verbose_line(line) if verbose else str(line)
    if not report.accesses and not report.not_analysed:
        yield f"@{report.kernel} accesses no memory"
    yield from map(str, report.not_analysed)
    if verbose and report.assumptions:
        yield ""
        yield from _assumptions(report)
    if document.findings:
        yield ""
    for finding in document.findings:
        yield from _finding(document, finding)


def _verbose_line(line: ValueInfo | MemoryOp) -> str:
    if isinstance(line, ValueInfo):
        return str(line)
    return str(line).removesuffix(")") + "".join(f", {part}" for part in _details(line)) + ")"


def _details(access: MemoryOp) -> Iterator[str]:
    yield f"vec={_or_dash(access.vector_bits)}"
    yield f"align={_or_dash(access.align_bytes)}"
    yield f"order=[{', '.join(map(str, access.order))}]"
    if access.guard.truth is not True:
        yield f"guard={access.guard}"
    if access.virtual is not None:
        yield f"virtual={virtual_text(access.virtual)}"


def virtual_text(virtual: Virtual) -> str:
    """``PID_MULTI_AXIS[%pid_m:256*stride_cm, %pid_n:512]``."""
    strides = ", ".join(f"{name}:{stride}" for name, stride in virtual.strides.items())
    return f"{virtual.pattern}[{strides}]"


def _or_dash(value: int | None) -> str:
    return "-" if value is None else str(value)


def _assumptions(report: AddressReport) -> Iterator[str]:
    yield "true as long as"
    for index, assumption in enumerate(report.assumptions):
        where = f" at {assumption.loc}" if assumption.loc else ""
        yield f"  {index}: {assumption}{where}"


def _finding(document: Document, finding: Finding) -> Iterator[str]:
    yield str(finding)
    for location in source_locations(document, finding):
        yield f"  at {location}"
