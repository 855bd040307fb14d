"""The machine's report as values."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.targets.tenstorrent.execution import Check, Event, EventKind, Finding, Traffic
from tilewright.targets.tenstorrent.source.toolchain import SourceExecutorUnavailable


@dataclass
class Report:
    """What a run reported."""

    findings: list[Finding] = field(default_factory=list[Finding])
    traffic: Traffic = field(default_factory=Traffic)
    page_reads: dict[str, int] = field(default_factory=dict[str, int])
    prints: list[str] = field(default_factory=list[str])
    switches: int = 0
    events: list[Event] = field(default_factory=list[Event])
    complete: bool = False


def _text(field_text: str) -> str:
    out: list[str] = []
    escaped = False
    for character in field_text:
        if escaped:
            out.append({"n": "\n", "t": "\t"}.get(character, character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            out.append(character)
    return "".join(out)


def _finding(check: str, x: str, y: str, kernel: str, line: str, message: str) -> Finding:
    core = (int(x), int(y)) if int(x) >= 0 else None
    return Finding(Check(check), _text(message), core, _text(kernel) or None, int(line) or None)


def parse_report(text: str) -> Report:
    """The report of a run.

    Raises:
        SourceExecutorUnavailable: if L1 cannot be mapped at device addresses on this host.
        RuntimeError: if the machine itself failed.
    """
    report = Report()
    partial: dict[str, str] = {}
    for line in text.splitlines():
        key, *fields = line.split("\t")
        if key == "finding":
            report.findings.append(_finding(*fields))
        elif key == "traffic":
            report.traffic = Traffic(*(int(each) for each in fields))
        elif key == "reads":
            report.page_reads[_text(fields[0])] = int(fields[1])
        elif key == "switches":
            report.switches = int(fields[0])
        elif key == "print":
            core = f"({fields[0]},{fields[1]})"
            *lines, rest = (partial.get(core, "") + _text(fields[2])).split("\n")
            report.prints += [f"{core} {each}" for each in lines]
            partial[core] = rest
        elif key == "event":
            kind, x, y, kernel, at, id_, text_ = fields
            report.events.append(
                Event(
                    *(EventKind(kind), (int(x), int(y)), _text(kernel)),
                    *(int(at), int(id_), _text(text_)),
                )
            )
        elif key == "unavailable":
            raise SourceExecutorUnavailable(_text(fields[0]))
        elif key == "failed":
            raise RuntimeError(f"source executor: {_text(fields[0])}")
        elif key == "end":
            report.complete = True
    report.prints += [f"{core} {rest}" for core, rest in partial.items() if rest]
    return report
