"""Messages of Triton and the assembler, as diagnostics of ours.

MLIR writes its diagnostics to standard error, as ``loc("file":line:column): error: text`` or as
``file:line:column: error: text``; LLVM writes ``error: text``, and goes on. The locations are those
we passed, so they name the user's line. Lines that are no diagnostics are retained: the user may
have made Triton print.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition

REFUSED = "TW6202"
ASSEMBLER = "TW6203"

_SEVERITIES = {
    "error": Severity.ERROR,
    "warning": Severity.WARNING,
    "remark": Severity.REMARK,
    "note": Severity.NOTE,
}
_MESSAGE = re.compile(
    r"""^(?: loc \( (?:callsite\()? (?:"[^"]*"\()?
             "(?P<quoted>[^"]+)":(?P<ql>\d+):(?P<qc>\d+) [^\n]*? \)
          | (?P<plain>[^\s:][^:\n]*):(?P<pl>\d+):(?P<pc>\d+)
          | (?P<nowhere>(?:loc\(unknown\)|<unknown>:0))
        )?(?:(?<=[\d\)]):\s|^) (?P<severity>error|warning|remark|note):\s (?P<text>.*)$""",
    re.VERBOSE,
)
_QUOTED_OP = re.compile(r"(?<=marked illegal): .*$")


@dataclass(frozen=True)
class TritonMessage:
    """What came over standard error while a stage ran."""

    diagnostics: tuple[Diagnostic, ...] = ()
    other: str = ""


def parse(text: str) -> TritonMessage:
    """The diagnostics in `text`, notes attached, and the lines that are none."""
    found: list[Diagnostic] = []
    other: list[str] = []
    quoting = False
    for line in text.splitlines():
        match = _MESSAGE.match(line)
        if match is None:
            # An excerpt of the source follows a message; ours is better.
            if not quoting:
                other.append(line)
            continue
        quoting = True
        severity = _SEVERITIES[match["severity"]]
        # Some end with the whole op, regions and all.
        message = _QUOTED_OP.sub("", match["text"])
        diagnostic = Diagnostic(severity, message, _position(match), REFUSED)
        if severity is not Severity.NOTE:
            found.append(diagnostic)
        elif found and not match["text"].startswith("see current operation"):
            found[-1].note(diagnostic.location, match["text"])
    return TritonMessage(tuple(found), "\n".join(other))


def _position(match: re.Match[str]) -> SourcePosition | None:
    if match["quoted"]:
        return SourcePosition(match["quoted"], int(match["ql"]), int(match["qc"]))
    if match["plain"]:
        return SourcePosition(match["plain"], int(match["pl"]), int(match["pc"]))
    return None
