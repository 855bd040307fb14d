"""Scripts as items of work: their text and where they are, and that on a worker."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tilewright.cli.command_line import CommandLine, UsageError
from tilewright.runtime.executors.pools import Where, where_of


def described_script(line: CommandLine) -> dict[str, Any]:
    """What a worker has to know of a script, to run it as it is run here."""
    return {
        "file": line.file,
        "text": Path(line.file).read_text(encoding="utf-8", errors="surrogateescape"),
        "directory": os.getcwd(),  # noqa: PTH109
        "arguments": line.script_arguments,
    }


def where_in(line: CommandLine) -> Where:
    """The executor that ``--jobs`` and ``--cluster`` name; one process without them."""
    jobs = line.values.get("jobs", "1" if "cluster" not in line.values else None)
    if jobs is not None and not jobs.isdigit():
        raise UsageError(f"--jobs: '{jobs}' is not an integer >= 1")
    try:
        return where_of(None if jobs is None else int(jobs), line.values.get("cluster"))
    except ValueError as error:
        raise UsageError(str(error)) from None


@contextmanager
def placed(value: Mapping[str, Any]) -> Generator[str]:
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
