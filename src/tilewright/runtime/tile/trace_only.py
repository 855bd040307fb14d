"""Run a program whose `T` kernels are traced and checked against their arguments, and not run.

A script decides about its kernels as it goes: which sizes they get, which options. So tools that
look at kernels run the script; each call stops where it would launch. Results are arrays that hold
nothing in particular.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from tilewright.runtime.tile.gpu import GpuArguments
from tilewright.runtime.tile.kernel import CompiledTileKernel

Callback = Callable[[CompiledTileKernel], None]


@contextmanager
def tracing_only(notify: Callback) -> Generator[None]:
    """Inside the ``with``, a call of a `T` kernel records it instead of launching it."""
    # The two points where a call leaves for a device; a tool may replace both.
    launch = CompiledTileKernel.launch
    given = GpuArguments.given
    build = CompiledTileKernel.build

    def record(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        if self.tenstorrent is not None:
            self.tenstorrent.called_with = values
        notify(self)

    def never(self: GpuArguments, arguments: Sequence[Any]) -> list[Any] | None:
        return None

    def nothing(self: CompiledTileKernel) -> None:
        """The program's target does not matter here."""

    CompiledTileKernel.launch = record
    CompiledTileKernel.build = nothing
    GpuArguments.given = never
    try:
        yield
    finally:
        CompiledTileKernel.launch = launch
        CompiledTileKernel.build = build
        GpuArguments.given = given
