"""All configurations of a workload compiled in parallel, before the first of them is called."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

from benchmarks.h200 import tile_kernels
from benchmarks.h200.peers import tile_example
from benchmarks.workloads.sources import KERNELS, ours
from benchmarks.workloads.switches import Switchboard
from tilewright.runtime.tile.compile_ahead import compile_together


def kernel_modules() -> Iterator[ModuleType]:
    """The modules with the kernels of all workloads."""
    yield from (ours(path.stem) for path in sorted(KERNELS.glob("[!_]*.py")))
    yield tile_example("persistent_gemm")
    yield tile_kernels


def installed_board() -> Switchboard:
    """A board through which the kernels of all workloads are called from now on."""
    board = Switchboard()
    for module in kernel_modules():
        board.install(module)
    return board


def compile_calls(
    board: Switchboard, calls: Iterable[Callable[[], Any]], log: Callable[[str], None]
) -> None:
    """Compile the kernels of these calls; a fault is reported where the call is made again."""
    with board.recording() as kernels:
        for call in calls:
            try:
                call()
            except Exception as problem:
                log(f"{type(problem).__name__}: {problem}".splitlines()[0])
    makers = [lambda kernel=kernel: kernel for kernel in kernels]
    compile_together(makers, ignore_error=True)


__all__ = ["compile_calls", "installed_board", "kernel_modules"]
