"""A studio page: one file, with nothing to fetch.

The data are JSON in the page, and `page.js` draws them. Lines of stages are stored once, however
many passes leave them as they are, so that sixty stages of a kernel take little more than one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from tilewright.analysis.ordering.timeline import Timeline
from tilewright.memory.map import MemoryMap
from tilewright.report import address_json, layout_svg, memory_json
from tilewright.report.layout_document import KernelLayouts
from tilewright.report.memory_svg import FILLS
from tilewright.report.studio.document import (
    Document,
    Finding,
    Kernel,
    Line,
    Message,
    SourceLine,
    Sources,
    Stage,
    Tuning,
)

_NOWHERE = -1
_SITE = re.compile(r"(<[^<>]+>|\S+\.\w+):(\d+)\)?$")


def render(document: Document) -> str:
    """The page."""
    title = escape(document.title)
    # Inside a script element only this character could end it.
    data = json.dumps(_document(document), separators=(",", ":")).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
{_asset("page.css")}</style>
</head>
<body>
<noscript>This page draws its data with a script, which is off.</noscript>
<script type="application/json" id="data">{data}</script>
<script>
{_asset("page.js")}</script>
</body>
</html>
"""


@cache
def _asset(name: str) -> str:
    return (files("tilewright.report.studio") / name).read_text(encoding="utf-8")


@dataclass
class _Pool:
    """Lines of stages, each once."""

    texts: list[str] = field(default_factory=list[str])
    origins: list[str] = field(default_factory=list[str])
    _found: dict[Line, int] = field(default_factory=dict[Line, int])

    def index(self, line: Line) -> int:
        found = self._found.get(line)
        if found is None:
            found = self._found[line] = len(self.texts)
            self.texts.append(line.text)
            self.origins.append(_key(line.origin))
        return found


def _key(origin: SourceLine | None) -> str:
    """``0:25``: a file and a line; empty if there is none."""
    return "" if origin is None else f"{origin.file}:{origin.line}"


def _document(document: Document) -> dict[str, Any]:
    pool = _Pool()
    sources = document.sources
    kernels = [_kernel(each, pool) for each in document.kernels]
    return {
        "title": document.title,
        "command": document.command,
        "version": document.version,
        "verdict": document.verdict,
        "failed": document.has_failed,
        "fills": FILLS,
        "files": [
            {
                "name": each.name,
                "short": each.title or PurePath(each.name).name,
                "lines": each.text.split("\n"),
            }
            for each in sources.files
        ],
        "findings": [_finding(each) for each in document.findings],
        "timeline": None if document.timeline is None else _timeline(document.timeline, sources),
        "kernels": kernels,
        "texts": pool.texts,
        "places": pool.origins,
        "addresses": [_addresses(each, sources) for each in document.addresses],
        "tuning": [_tuning(each) for each in document.tuning],
        "absent": document.absent,
    }


def _message(message: Message) -> dict[str, Any]:
    return {
        "severity": message.severity,
        "code": message.code,
        "text": message.text,
        "place": _key(message.origin),
        "notes": [_message(each) for each in message.notes],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "message": _message(finding.message),
        "bytes": finding.size_bytes,
        "accesses": [
            {"buffer": each.buffer, "access": each.access, "place": _key(each.origin)}
            for each in finding.accesses
        ],
    }


def _kernel(kernel: Kernel, pool: _Pool) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "target": kernel.target,
        "properties": kernel.properties,
        "stages": [_stage(each, pool) for each in kernel.stages],
        "memory": [
            *_memory(kernel.written_memory, "as written"),
            *_memory(kernel.memory, "as placed" if kernel.written_memory else ""),
        ],
        "layouts": [_layouts(each) for each in kernel.layouts],
        "remarks": [_message(each) for each in kernel.remarks],
        "absent": dict(kernel.absent),
    }


def _memory(maps: Sequence[MemoryMap], title: str) -> list[dict[str, Any]]:
    memories: Any = json.loads(memory_json.render(maps))["memories"]
    return [{**each, "title": title} for each in memories]


def _stage(stage: Stage, pool: _Pool) -> dict[str, Any]:
    return {
        "name": stage.name,
        "kind": stage.kind,
        "lines": [pool.index(line) for line in stage.lines],
    }


def _layouts(layouts: KernelLayouts) -> dict[str, Any]:
    return {
        "kernel": layouts.kernel,
        "threads": layouts.threads,
        "gemms": layouts.gemms,
        "drawings": [
            {
                "heading": each.heading,
                "source": each.source,
                "properties": each.properties,
                "like": each.like,
                "svg": layout_svg.panel(each),
            }
            for each in layouts.drawings
        ],
    }


def _addresses(document: Any, sources: Sources) -> dict[str, Any]:
    made: Any = address_json.kernel_object(document)
    for each in (*made["accesses"], *made["not_analysed"]):
        each["place"] = _key(_located(each["loc"], sources))
    made["title"] = document.launch or made["kernel"]
    return made


def _located(loc: str | None, sources: Sources) -> SourceLine | None:
    """The origin of ``file.py:12:3``."""
    found = re.match(r"(.*?):(\d+)(?::\d+)?$", loc or "")
    if found is None:
        return None
    return sources.named(found[1], int(found[2]))


def _timeline(timeline: Timeline, sources: Sources) -> dict[str, Any]:
    lanes = {(lane.kind, lane.name): index for index, lane in enumerate(timeline.lanes)}

    def point(at: Any) -> list[int]:
        return [lanes.get((at.kind, at.lane), _NOWHERE), at.at]

    return {
        "title": timeline.title,
        "length": timeline.length,
        "cut": timeline.is_cut,
        "notes": timeline.notes,
        "lanes": [
            {
                "kind": lane.kind,
                "name": lane.name,
                "spans": [
                    [each.start, each.end, each.label, each.style, _site(each.label, sources)]
                    for each in lane.spans
                ],
                "marks": [
                    [each.at, each.label, each.style, _site(each.label, sources)]
                    for each in lane.marks
                ],
            }
            for lane in timeline.lanes
        ],
        "missing": [
            {"from": point(each.first), "to": point(each.second), "label": each.label}
            for each in timeline.missing
        ],
    }


def _site(label: str, sources: Sources) -> str:
    """The source line that a label ends with."""
    found = _SITE.search(label)
    return "" if found is None else _key(sources.named(found[1], int(found[2])))


def _tuning(tuning: Tuning) -> dict[str, Any]:
    return {
        "kernel": tuning.kernel,
        "trials": [
            [each.configuration, each.milliseconds, each.is_chosen] for each in tuning.trials
        ],
    }


def size_text(pages: Iterable[str] | Sequence[str]) -> str:
    """The size of a page, for a message."""
    count = sum(len(each.encode()) for each in pages)
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"
