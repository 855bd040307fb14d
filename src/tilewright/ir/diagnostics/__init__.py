"""Errors, warnings and remarks: collected, placed in the source, shown, and tested.

Stages report to a `DiagnosticEngine`; `pretty` shows the result to people, `one_line` to tools;
`parse_expectations` and `match` compare it with the `expected-…` comments of a test file.
"""

from tilewright.ir.diagnostics.diagnostic import Diagnostic, Severity, Where, locate
from tilewright.ir.diagnostics.engine import (
    DEFAULT_MAX_ERRORS,
    CompileError,
    DiagnosticEngine,
    DiagnosticLog,
    Handler,
)
from tilewright.ir.diagnostics.expect import (
    BadExpectation,
    Expectation,
    Expectations,
    parse_expectations,
)
from tilewright.ir.diagnostics.matching import Mismatch, MismatchKind, match
from tilewright.ir.diagnostics.position import (
    Frame,
    Location,
    SourcePosition,
    Trail,
    resolve,
)
from tilewright.ir.diagnostics.render import one_line, pretty, pretty_all
from tilewright.ir.diagnostics.sources import SourceManager

__all__ = [
    "DEFAULT_MAX_ERRORS",
    "BadExpectation",
    "CompileError",
    "Diagnostic",
    "DiagnosticEngine",
    "DiagnosticLog",
    "Expectation",
    "Expectations",
    "Frame",
    "Handler",
    "Location",
    "Mismatch",
    "MismatchKind",
    "Severity",
    "SourceManager",
    "SourcePosition",
    "Trail",
    "Where",
    "locate",
    "match",
    "one_line",
    "parse_expectations",
    "pretty",
    "pretty_all",
    "resolve",
]
