"""``tilewright check``: run kernels with every check on, and fail on the first fault."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution
from tilewright.cli.commands import CHECK


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    return execution.execute(CHECK, arguments, program, checking=True)
