"""Run a program whose kernels are compiled and not launched.

A script decides about its kernels as it goes: which arguments they get, with which options. So to
compile them for a GPU that is not here, the script is run, and each launch stops after compiling.
Arrays keep what they held.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from tilewright.runtime.compiled import CompiledKernel
from tilewright.runtime.jit import JITFunction

Callback = Callable[[CompiledKernel], None]


@contextmanager
def compiling_only(notify: Callback) -> Generator[None]:
    """Inside the ``with``, every launch of a ``tl`` kernel ends with its `CompiledKernel`."""
    run = JITFunction.run

    def compile_only(
        self: JITFunction, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any
    ) -> CompiledKernel:
        compiled = run(self, *args, grid=grid, warmup=True, **kwargs)
        notify(compiled)
        return compiled

    JITFunction.run = compile_only
    try:
        yield
    finally:
        JITFunction.run = run
