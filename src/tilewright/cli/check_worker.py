"""A part of the schedules of ``tilewright check``, on a worker: see `check_parts`."""

from __future__ import annotations

import io
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

from tilewright.cli import execution
from tilewright.cli.check_parts import Part
from tilewright.cli.commands import CHECK
from tilewright.cli.placed_script import placed

_PROGRAM = "tilewright check"


def checked(value: Mapping[str, Any]) -> dict[str, Any]:
    """Check a script under some schedules."""
    part = Part(tuple(value["seeds"]))
    output, errors = io.StringIO(), io.StringIO()
    with placed(value) as file, redirect_stdout(output), redirect_stderr(errors):
        arguments = [*value["flags"], file, "--", *value["arguments"]]
        execution.execute(CHECK, arguments, _PROGRAM, checking=True, part=part)
    if part.log is None or part.orders is None:
        raise RuntimeError(errors.getvalue().strip() or "the script was not run")
    return {
        "has_failed": part.has_failed,
        "has_choice": part.log.has_choice,
        "launches": part.log.launches,
        "text": errors.getvalue(),
        "unread": part.orders.unread_log.state(),
        "orders_not_analysed": list(part.orders.not_analysed),
        "not_analysed": part.log.not_analysed,
    }
