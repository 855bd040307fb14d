"""Address reports in a notebook: a table of accesses, and the lines that `print` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tilewright.report.notebook import html
from tilewright.report.notebook.cells import named

if TYPE_CHECKING:
    from tilewright.analysis.pid_address import AddressReport

_COALESCED = {True: "yes", False: "no", None: "unknown"}


def address_report_html(report: AddressReport) -> str:
    """All accesses of one kernel, and what checks found."""
    rows = [
        (
            access.name,
            access.op,
            named(access.loc or ""),
            access.base,
            access.pattern.value,
            ", ".join(
                f"{axis}: {'?' if stride is None else stride}"
                for axis, stride in access.pid_strides.items()
            ),
            access.block_size,
            _COALESCED[access.coalesced],
            "" if access.vector_bits is None else f"{access.vector_bits} bits",
        )
        for access in report.accesses
    ]
    heads = (
        *("access", "op", "source", "base", "pattern", "stride by axis", "block", "coalesced"),
        "vector",
    )
    notes = (*report.notes, *map(str, report.not_analysed))
    findings: tuple[object, ...] = getattr(report, "findings", ())
    return html.block(
        html.title(f"@{report.kernel}", f"{len(report.accesses)} accesses"),
        *map(html.paragraph, notes),
        html.table(heads, rows),
        html.preformatted("\n".join(map(str, findings))) if findings else "",
        html.details("all values", html.preformatted(str(report))),
    )
