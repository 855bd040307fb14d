"""``tilewright run``: a script with kernels, or a kernel as IR text, run on this machine."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.cli import execution
from tilewright.cli.commands import RUN


def run(arguments: Sequence[str], program: str) -> int:
    """Run the command with `arguments`; returns the exit code."""
    return execution.execute(RUN, arguments, program, checking=False)
