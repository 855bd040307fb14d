"""Run a program whose kernels are compiled and not launched.

A script decides about its kernels as it goes: which arguments they get, with which options. So to
compile them for a GPU that is not here, the script is run, and each launch stops after compiling.
Arrays keep what they held.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tilewright.runtime.options import running
from tilewright.runtime.pointer.compiled import CompiledKernel, Grid, launches_to
from tilewright.runtime.pointer.jit import JITFunction

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel

Callback = Callable[[CompiledKernel], None]
RaisedCallback = Callable[["CompiledTileKernel", float], None]


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


@contextmanager
def raising_for(
    target: str, is_requested: Callable[[str], bool], notify: RaisedCallback
) -> Generator[None]:
    """Inside the ``with``, a launch of a ``tl`` kernel raises it to tiles for `target`.

    It is recorded with the seconds that this took, and not run. Kernels whose names are not
    requested are left out.
    """

    def record(
        compiled: CompiledKernel, grid: Grid, values: Sequence[object], _launch: object
    ) -> None:
        if not is_requested(compiled.name):
            return
        start = perf_counter()
        kernel = compiled.raised
        seconds = perf_counter() - start
        if kernel.tenstorrent is None:
            notify(kernel, seconds)
            return
        given = kernel.flat_values(grid, values)
        fixed = kernel.fixed(given)
        assert fixed.kernel.tenstorrent is not None
        fixed.kernel.tenstorrent.called_with = fixed.values(given)
        notify(fixed.kernel, seconds)

    with launches_to(record), running(target=target):
        yield
