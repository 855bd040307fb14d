"""A part of the schedules of ``tilewright check``, on a worker: see `check_parts`."""

from __future__ import annotations

import hashlib
import io
import os
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

from tilewright.cli import execution
from tilewright.cli.check_parts import Part
from tilewright.cli.commands import CHECK

_PROGRAM = "tilewright check"


def checked(value: Mapping[str, Any]) -> dict[str, Any]:
    """Check a script under some schedules."""
    part = Part(tuple(value["seeds"]))
    output, errors = io.StringIO(), io.StringIO()
    with _placed(value) as file, redirect_stdout(output), redirect_stderr(errors):
        arguments = [*value["flags"], file, "--", *value["arguments"]]
        execution.execute(CHECK, arguments, _PROGRAM, checking=True, part=part)
    if part.log is None or part.orders is None:
        raise RuntimeError(errors.getvalue().strip() or "the script was not run")
    return {
        "has_failed": part.has_failed,
        "launches": part.log.launches,
        "text": errors.getvalue(),
        "unread": part.orders.unread_log.state(),
        "orders_not_analysed": list(part.orders.not_analysed),
        "not_analysed": part.log.not_analysed,
    }


@contextmanager
def _placed(value: Mapping[str, Any]) -> Generator[str]:
    """The script where it is on the driver's machine, or a copy of it."""
    before, modules, path = os.getcwd(), set(sys.modules), list(sys.path)  # noqa: PTH109
    name = value["file"]
    with tempfile.TemporaryDirectory(prefix="tilewright-check-") as directory:
        there = Path(value["directory"])
        if _digest(there / name) == _of(value["text"]):
            os.chdir(there)
        else:
            name = Path(name).name
            copy = Path(directory) / name
            copy.write_text(value["text"], encoding="utf-8", errors="surrogateescape")
            os.chdir(directory)
        try:
            yield name
        finally:
            os.chdir(before)
            sys.path[:] = path
            _forget(set(sys.modules) - modules, Path(name).absolute().parent)


def _digest(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()


def _forget(names: set[str], directory: Path) -> None:
    """Modules beside the script are the next script's own."""
    for name in names:
        origin = getattr(sys.modules[name], "__file__", None)
        if origin is not None and Path(origin).is_relative_to(directory):
            del sys.modules[name]
