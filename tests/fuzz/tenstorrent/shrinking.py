"""Remove statements of a failing kernel as long as it fails in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.fuzz.device.pool import Verdict
from tests.fuzz.tenstorrent.generator import Case


def shrunk(case: Case, judge: Callable[[Case], Verdict]) -> Case:
    """The case with as few statements as still give the same verdict."""
    kind = _kind(judge(case))
    lines = case.source.splitlines()
    position = len(lines) - 1
    while position > 0:
        end = _end(lines, position)
        if lines[position].startswith("        "):
            fewer = replace(case, source="\n".join([*lines[:position], *lines[end:], ""]))
            if _kind(judge(fewer)) == kind:
                case, lines = fewer, fewer.source.splitlines()
                position = min(position, len(lines))
        position -= 1
    return case


def _kind(verdict: Verdict) -> tuple[str, str]:
    return verdict.outcome, re.split(r"[:\d]", verdict.reason, maxsplit=1)[0]


def _end(lines: list[str], position: int) -> int:
    """The line after the body of a statement."""
    depth = _depth(lines[position])
    end = position + 1
    while end < len(lines) and _depth(lines[end]) > depth:
        end += 1
    return end


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
