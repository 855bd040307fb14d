"""Diagnostics as SARIF 2.1.0, the format that code review tools and editors read.

One run of one tool: a rule for each code that occurs, with what `tilewright explain` shows of it,
and a result for each diagnostic. Notes with a position are related locations, the others follow the
message. Columns count characters. Files below `root` have names relative to it, so that a log made
on one machine fits a checkout on another.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from tilewright.ir.codes.registry import CODES
from tilewright.ir.diagnostics import Diagnostic, Severity, SourcePosition

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION = "2.1.0"
_ROOT = "SRCROOT"
_LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.REMARK: "note",
    Severity.NOTE: "note",
}


def sarif_text(
    diagnostics: Sequence[Diagnostic],
    *,
    version: str,
    root: Path,
    command: str,
    failure: str | None = None,
) -> str:
    """The log of one run of `command`; `failure` is why it did not check everything."""
    codes = sorted({each.code for each in diagnostics if each.code})
    indices = {code: index for index, code in enumerate(codes)}
    invocation: dict[str, Any] = {
        "executionSuccessful": failure is None,
        "commandLine": command,
    }
    if failure is not None:
        notification = {"level": "error", "message": {"text": failure}}
        invocation["toolExecutionNotifications"] = [notification]
    run = {
        "tool": {
            "driver": {
                "name": "tilewright",
                "semanticVersion": version,
                "rules": [_rule(code) for code in codes],
            }
        },
        "invocations": [invocation],
        "originalUriBaseIds": {_ROOT: {"uri": f"{root.absolute().as_uri()}/"}},
        "columnKind": "unicodeCodePoints",
        "results": [_result(each, indices, root) for each in diagnostics],
    }
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code}
    entry = CODES.get(code)
    if entry is not None:
        rule["shortDescription"] = {"text": entry.title}
        rule["fullDescription"] = {"text": entry.meaning}
        rule["help"] = {"text": entry.fix}
    return rule


def _result(diagnostic: Diagnostic, rules: Mapping[str, int], root: Path) -> dict[str, Any]:
    trail = diagnostic.trail
    placed = [note for note in diagnostic.notes if note.trail.primary is not None]
    others = [note.message for note in diagnostic.notes if note.trail.primary is None]
    result: dict[str, Any] = {
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": "\n".join([diagnostic.message, *others])},
        "locations": [] if trail.primary is None else [_location(trail.primary, root)],
    }
    if diagnostic.code:
        result["ruleId"] = diagnostic.code
        result["ruleIndex"] = rules[diagnostic.code]
    related = [
        _location(note.trail.primary, root, note.message)
        for note in placed
        if note.trail.primary is not None
    ]
    related += [_location(frame.position, root, "called from here") for frame in trail.callers]
    if related:
        result["relatedLocations"] = [
            {"id": index, **each} for index, each in enumerate(related, start=1)
        ]
    return result


def _location(position: SourcePosition, root: Path, message: str = "") -> dict[str, Any]:
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(position.file, root),
            "region": _region(position),
        }
    }
    if message:
        location["message"] = {"text": message}
    return location


def _artifact(file: str, root: Path) -> dict[str, str]:
    path = Path(file).absolute()
    base = root.absolute()
    if path.is_relative_to(base):
        return {"uri": _relative_uri(path.relative_to(base)), "uriBaseId": _ROOT}
    return {"uri": path.as_uri()}


def _relative_uri(path: PurePath) -> str:
    # Spaces and the like are escaped as in an absolute name.
    return Path("/", path).as_uri().removeprefix("file:///")


def _region(position: SourcePosition) -> dict[str, int]:
    region = {"startLine": max(position.line, 1)}
    if position.column > 0:
        region["startColumn"] = position.column
        if position.end_line is not None and position.end_column:
            region["endLine"] = position.end_line
            region["endColumn"] = position.end_column
    return region
