"""Run a program whose `T` kernels are traced and checked against their arguments, and not run,
or are run on this machine and observed.

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
Observer = Callable[[CompiledTileKernel, Sequence[Any]], None]


@contextmanager
def observing_launches(notify: Observer, *, run: bool) -> Generator[None]:
    """Inside the ``with``, `notify` is called for every launch before it runs, or instead.

    Kernels for a GPU run on this machine, too: what they compute is not needed.
    """
    launch, given, build = CompiledTileKernel.launch, GpuArguments.given, CompiledTileKernel.build

    def launched(self: CompiledTileKernel, values: Sequence[Any]) -> None:
        notify(self, values)
        if run:
            launch(self, values)

    def never(self: GpuArguments, arguments: Sequence[Any]) -> list[Any] | None:
        return None

    def nothing(self: CompiledTileKernel) -> None:
        """The program's target does not matter here."""

    CompiledTileKernel.launch = launched
    GpuArguments.given = never
    if not run:
        CompiledTileKernel.build = nothing
    try:
        yield
    finally:
        CompiledTileKernel.launch = launch
        GpuArguments.given = given
        CompiledTileKernel.build = build


@contextmanager
def tracing_only(notify: Callback) -> Generator[None]:
    """Inside the ``with``, a call of a `T` kernel records it instead of launching it."""

    def record(kernel: CompiledTileKernel, values: Sequence[Any]) -> None:
        if kernel.tenstorrent is not None:
            kernel.tenstorrent.called_with = values
        notify(kernel)

    with observing_launches(record, run=False):
        yield
