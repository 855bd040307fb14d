"""What ``--json`` prints of diagnostics, the same for all commands."""

from __future__ import annotations

import json
import sys
from typing import Any

from tilewright.ir.diagnostics import Diagnostic, SourcePosition


def described_diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    """Severity, code, position, message and notes."""
    return {
        "severity": diagnostic.severity.label,
        "code": diagnostic.code,
        **_position(diagnostic.trail.primary),
        "message": diagnostic.message,
        "notes": [
            {**_position(note.trail.primary), "message": note.message} for note in diagnostic.notes
        ],
    }


def _position(position: SourcePosition | None) -> dict[str, Any]:
    if position is None:
        return {}
    return {"file": position.file, "line": position.line, "column": position.column}


def write_json(value: object) -> None:
    """Print a value."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()
