"""Run a program whose `T` kernels are traced for a GPU that need not be there, and not run.

The kernels get the requested target, whatever GPU the machine has and the program selects; their
own settings (``pass_configs``, ``compile_flags``) stay. How long each took to trace is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from time import perf_counter
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from tilewright.language.T.prim_func import TracedFunction, trace_into_module
from tilewright.runtime.tile.forced_target import targeting
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trace_only import tracing_only

Callback = Callable[[CompiledTileKernel, float], None]

# By name: the package has a function that is called like the first one.
_TRACERS = [import_module(f"tilewright.language.T.{name}") for name in ("prim_func", "eager")]


@contextmanager
def compiling_for(target: str | None, notify: Callback) -> Generator[None]:
    """Inside the ``with``, a call of a `T` kernel records it and the seconds it took to trace.

    A function that was traced before the ``with`` took none. Without a `target` kernels have those
    that they name.
    """
    seconds: dict[ModuleOp, float] = {}

    def timed(*args: Any, **kwargs: Any) -> TracedFunction:
        start = perf_counter()
        traced = trace_into_module(*args, **kwargs)
        seconds[traced.module] = perf_counter() - start
        return traced

    def record(kernel: CompiledTileKernel) -> None:
        notify(kernel, seconds.get(kernel.prim_func.module, 0.0))

    for each in _TRACERS:
        vars(each)["trace_into_module"] = timed
    try:
        with nullcontext() if target is None else targeting(target), tracing_only(record):
            yield
    finally:
        for each in _TRACERS:
            vars(each)["trace_into_module"] = trace_into_module
