"""How kernels run on this machine: set by the environment, or by a ``with`` around launches."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

from tilewright.runtime.progress import progress_bar
from tilewright.targets.numpy.api import Buffer, RunOptions

_stack: list[RunOptions] = []


def _check_batch(batch: object, name: str) -> None:
    if batch is not None and (not isinstance(batch, int) or batch < 1):
        raise ValueError(
            f"{name} is {batch!r}; it is the number of programs run at once, 1 or more"
        )


def _from_environment() -> RunOptions:
    given = os.environ.get("TILEWRIGHT_BATCH")
    batch = int(given) if given and given.isdecimal() else given or None
    _check_batch(batch, "TILEWRIGHT_BATCH")
    return RunOptions(
        batch=cast("int | None", batch),
        check_races=os.environ.get("TILEWRIGHT_CHECK_RACES", "0") not in ("", "0"),
    )


@contextmanager
def running(**changes: Any) -> Generator[RunOptions]:
    """Run kernels inside the ``with`` with other options, for instance ``check_races=True``."""
    options = replace(current_run_options(), **changes)
    _check_batch(options.batch, "batch")
    _stack.append(options)
    try:
        yield _stack[-1]
    finally:
        _stack.pop()


def current_run_options() -> RunOptions:
    return _stack[-1] if _stack else _from_environment()


def run_options(kernel_name: str, reachable: tuple[Buffer, ...]) -> RunOptions:
    """The options for one launch: those in force, with a progress bar on a terminal."""
    options = current_run_options()
    if options.progress is None and sys.stderr.isatty():
        options = replace(options, progress=progress_bar(kernel_name))
    return replace(options, reachable=reachable) if reachable else options
