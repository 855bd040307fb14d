"""Errors of the Tenstorrent passes: raised where they are found, reported by the pass."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from xdsl.ir import Operation

from tilewright.ir.diagnostics import DiagnosticEngine

NO_INTRINSIC = "TW7070"
"""An op without a tile intrinsic."""
PARTIAL_BLOCK = "TW7071"
"""An op on a part of an on-chip buffer."""
UNBOUNDED = "TW7062"
"""A position that the compiler cannot bound."""
DATA_DEPENDENT = "TW7110"
"""Control flow or addresses that depend on data."""


class NotSupported(Exception):
    """An op that the target cannot execute, and the smallest change that works."""

    def __init__(self, op: Operation, message: str, code: str = NO_INTRINSIC) -> None:
        super().__init__(message)
        self.op, self.code = op, code


@contextmanager
def reporting(engine: DiagnosticEngine) -> Generator[None]:
    """Report `NotSupported` as an error of the engine."""
    try:
        yield
    except NotSupported as error:
        engine.error(error.op, str(error), error.code)
