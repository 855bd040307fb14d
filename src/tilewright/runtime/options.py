"""How kernels run on this machine: set by the environment, or by a ``with`` around launches."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from tilewright.runtime.progress import progress_bar
from tilewright.targets.numpy.api import Buffer, RunOptions

_stack: list[RunOptions] = []


def _from_environment() -> RunOptions:
    batch = os.environ.get("TILEWRIGHT_BATCH")
    return RunOptions(
        batch=int(batch) if batch else None,
        check_races=os.environ.get("TILEWRIGHT_CHECK_RACES", "0") not in ("", "0"),
    )


@contextmanager
def running(**changes: Any) -> Generator[RunOptions]:
    """Run kernels inside the ``with`` with other options, for instance ``check_races=True``."""
    _stack.append(replace(current_run_options(), **changes))
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
