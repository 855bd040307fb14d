"""Kernels of `T` compiled in other processes, several at a time, for NVIDIA and AMD GPUs alike.

    with Compilers(8) as compilers:
        futures = [compilers.compile(module, settings) for module in modules]

`compile_text` is one of these calls. Its arguments and what it returns or raises can be pickled,
and it writes nothing to the disk, so it may be stopped at any time and submitted to any
`concurrent.futures.Executor`.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from tilewright.ir.text import print_module
from tilewright.targets.cuda.settings import Settings
from tilewright.targets.hip.settings import HipSettings
from tilewright.targets.worker_pool import WorkerPool, is_inline

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from tilewright.ir.diagnostics import DiagnosticEngine
    from tilewright.targets.cuda.artefact import Program
    from tilewright.targets.hip.artefact import HipProgram

AnySettings: TypeAlias = Settings | HipSettings

WORKERS = "TILEWRIGHT_COMPILE_WORKERS"
"""The environment variable with the number of processes that compile in parallel."""
_MAX_WORKERS = 32
"""Each of them takes some hundred megabytes."""
_NICENESS = 10
"""Work of the process that started them goes first: it may be timing a kernel."""
_NAME = "kernel.mlir"


def worker_count(jobs: int, requested: int | None = None) -> int:
    """How many processes to start for `jobs`: the requested number, or one for each core.

    A process takes as long to start as two kernels take to compile, so each gets two at least.
    """
    given = os.environ.get(WORKERS, "")
    if requested is None and given:
        if not given.isdecimal() or int(given) == 0:
            raise ValueError(f"{WORKERS} must be at least 1, got {given!r}")
        requested = int(given)
    if requested is not None and requested < 1:
        raise ValueError(f"num_workers must be at least 1, got {requested}")
    if is_inline():
        return 1
    return max(1, min(requested or _cores(), _MAX_WORKERS, jobs // 2))


def _cores() -> int:
    """Those that this process may use."""
    with contextlib.suppress(AttributeError):  # not available on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Compilers(WorkerPool):
    """Up to `count` processes that compile; a kernel that takes longer than the timeout fails."""

    def __init__(self, count: int, timeout_seconds: float | None = None) -> None:
        super().__init__(
            count, name="compiler", timeout_seconds=timeout_seconds, niceness=_NICENESS
        )

    def compile(self, module: ModuleOp, settings: AnySettings) -> Future[Any]:
        """What `compile_as` of the target makes of a module, or raises."""
        return submit_compilation(self, module, settings)


def submit_compilation(
    executor: Executor, module: ModuleOp, settings: AnySettings
) -> Future[Program | HipProgram]:
    """Have a module compiled by a process of `executor`."""
    text = print_module(module, generic=True, locations=True)
    return executor.submit(compile_text, text, settings)


def compile_text(text: str, settings: AnySettings) -> Program | HipProgram:
    """Compile one kernel: the tile level in generic form, which has all locations.

    Raises:
        CompileError, CompilerError, HipCompilerMissing: as `compile_as` of the target.
    """
    from tilewright.ir.diagnostics import DiagnosticEngine

    engine = DiagnosticEngine()
    module = received(text, engine)
    if isinstance(settings, HipSettings):
        from tilewright.targets.hip.compile import compile_as as compile_for_hip

        return replace(compile_for_hip(module, settings, engine), module=None)
    from tilewright.targets.cuda.compile import compile_as

    return replace(compile_as(module, settings, engine), module=None)


def received(text: str, engine: DiagnosticEngine) -> ModuleOp:
    """The module that another process has sent as text; raises CompileError if it is damaged."""
    # A process that only sends modules parses none.
    from tilewright.dialects import make_context
    from tilewright.ir.text import parse_source

    parsed = parse_source(make_context(), text, _NAME, engine)
    engine.raise_if_errors()
    assert parsed is not None, "a module without errors was parsed"
    return parsed.module
