"""How kernels run on this machine: set by the environment, or by a ``with`` around launches."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import fields, replace
from typing import Any, cast

from tilewright.language.tl.options import Target
from tilewright.runtime.choice import AUTO, Spec, TargetChoice, choose, spec_named
from tilewright.runtime.grid import reachable_arrays
from tilewright.runtime.progress import progress_bar
from tilewright.targets.numpy.api import Buffer, RunOptions

# Per thread and per task: a ``with`` in one of them must not change launches of another.
_current: ContextVar[RunOptions | None] = ContextVar("run options", default=None)
_debug: ContextVar[bool] = ContextVar("debug", default=False)
_target: ContextVar[Spec | None] = ContextVar("target", default=None)


# For launches, which only want to see that nothing has changed, as quickly as can be.
spec_in_force = _target.get
debug_in_force = _debug.get


def _check_batch(batch: object, name: str) -> None:
    if batch is not None and (not isinstance(batch, int) or batch < 1):
        raise ValueError(
            f"{name} is {batch!r}, expected the number of programs to run concurrently, 1 or more"
        )


def _from_environment() -> RunOptions:
    given = os.environ.get("TILEWRIGHT_BATCH")
    batch = int(given) if given and given.isdecimal() else given or None
    _check_batch(batch, "TILEWRIGHT_BATCH")
    return RunOptions(
        batch=cast("int | None", batch),
        check_races=os.environ.get("TILEWRIGHT_CHECK_RACES", "0") not in ("", "0"),
        check_uninitialised=os.environ.get("TILEWRIGHT_CHECK_UNINITIALISED", "1") != "0",
    )


@contextmanager
def running(
    *, debug: bool | None = None, target: str | None = None, **changes: Any
) -> Generator[RunOptions]:
    """Run kernels inside the ``with`` with other options, for instance ``check_races=True``.

    `debug` compiles them with their ``tl.device_assert`` in force, as ``debug=True`` in each launch
    would. `target` selects the target (`runtime.choice`): ``triton:sm_90`` makes
    machine code for a GPU; with ``cuda:90`` they run on the host with that GPU's instructions.
    """
    known = [each.name for each in fields(RunOptions)]
    unknown = [name for name in changes if name not in known]
    if unknown:
        raise TypeError(
            f"running(): unknown option {unknown[0]!r}; expected debug, {', '.join(known)}, target"
        )
    options = replace(current_run_options(), **changes)
    _check_batch(options.batch, "batch")
    before = _current.set(options)
    before_debug = _debug.set(is_debugging() if debug is None else debug)
    around = _target.get() or AUTO
    before_target = _target.set(around if target is None else spec_named(target).over(around))
    try:
        yield options
    finally:
        _target.reset(before_target)
        _current.reset(before)
        _debug.reset(before_debug)


def use_target(name: str) -> None:
    """Select the target of all launches from here on, outside of any ``with running()``."""
    _target.set(spec_named(name))


def current_run_options() -> RunOptions:
    return _current.get() or _from_environment()


def current_target() -> Target:
    """The architecture whose instructions kernels may use, by the options in force."""
    return (_target.get() or AUTO).machine or Target()


def target_for(option: str | None = None, device: int | None = None) -> TargetChoice:
    """The target of a launch: its own option, else that of the ``with`` around, else "auto".

    `device` is the number of the GPU that holds the arrays, None where they are in host memory.
    """
    return choose(spec_for(option), device)


def spec_for(option: str | None = None) -> Spec:
    """The target that a launch requests: by its own option, else by the ``with`` around it."""
    around = _target.get() or AUTO
    return around if option is None else spec_named(option).over(around)


def is_debugging() -> bool:
    """Whether kernels are compiled with their asserts."""
    return _debug.get()


def reachable_buffers() -> tuple[Buffer, ...]:
    """The arrays that kernels may find by addresses that they read from memory."""
    return tuple(
        Buffer(f"reachable[{index}]", array) for index, array in enumerate(reachable_arrays())
    )


def run_options(kernel_name: str, reachable: tuple[Buffer, ...]) -> RunOptions:
    """The options for one launch: those in force, with a progress bar on a terminal."""
    options = current_run_options()
    if options.progress is None and sys.stderr.isatty():
        options = replace(options, progress=progress_bar(kernel_name))
    return replace(options, reachable=reachable) if reachable else options
