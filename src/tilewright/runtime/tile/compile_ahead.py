"""Kernels, each as soon as it can be run: those for a GPU are compiled in processes of their own.

with closing(as_compiled(enumerate(kernels), len(kernels))) as ready:
    for number, fault in ready: ...
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from typing import Any

from tilewright.runtime.tile.kernel import CompiledTileKernel, GpuSide
from tilewright.targets.compilers import Compilers, worker_count

Ready = Generator[tuple[int, Exception | None]]


def as_compiled(
    kernels: Iterable[tuple[int, CompiledTileKernel]],
    maximum: int,
    num_workers: int | None = None,
    timeout_seconds: float | None = None,
) -> Ready:
    """The numbers of kernels, of which there are `most` at most, as they can be run.

    With them comes what is wrong with those that cannot be compiled. `kernels` may take time to
    make: what is there is compiled meanwhile. To stop, close the generator: processes that compile
    are ended.
    """
    count = worker_count(maximum, num_workers)
    if count > 1:
        yield from _beside(kernels, count, timeout_seconds)
        return
    for index, kernel in kernels:
        gpu = _to_compile(kernel)
        yield index, None if gpu is None else _fault(gpu)


def compile_together(
    kernels: Iterable[Callable[[], CompiledTileKernel]],
    num_workers: int | None = None,
    *,
    ignore_error: bool = False,
) -> list[CompiledTileKernel | None]:
    """What `kernels` make, in their order and compiled; None for what fails, if that is ignored."""
    listed = list(kernels)
    found: dict[int, CompiledTileKernel] = {}

    def traced() -> Iterator[tuple[int, CompiledTileKernel]]:
        for index, kernel in enumerate(listed):
            try:
                found[index] = kernel()
            except Exception:
                if not ignore_error:
                    raise
                continue
            yield index, found[index]

    with closing(as_compiled(traced(), len(listed), num_workers)) as ready:
        for index, fault in ready:
            if fault is not None:
                if not ignore_error:
                    raise fault
                del found[index]
    return [found.get(index) for index in range(len(listed))]


def _to_compile(kernel: CompiledTileKernel) -> GpuSide | None:
    """The part of a kernel that is still to be compiled; that needs no GPU."""
    gpu = kernel.gpu
    return None if gpu is None or gpu.is_compiled() else gpu


def _fault(gpu: GpuSide) -> Exception | None:
    """Compile here; what is wrong."""
    try:
        assert gpu.program
    except Exception as error:
        return error
    return None


def _beside(
    kernels: Iterable[tuple[int, CompiledTileKernel]], count: int, timeout_seconds: float | None
) -> Ready:
    """Those that need no compilation first, then the others; of several at a time the first."""
    with Compilers(count, timeout_seconds) as compilers:
        jobs: dict[Future[Any], tuple[int, GpuSide]] = {}
        others: list[int] = []
        for index, kernel in kernels:
            gpu = _to_compile(kernel)
            if gpu is None:
                others.append(index)
            else:
                jobs[compilers.compile(gpu.module, gpu.settings)] = index, gpu
        yield from ((index, None) for index in others)
        while jobs:
            done, _ = wait(jobs, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda each: jobs[each][0]):
                index, gpu = jobs.pop(future)
                yield index, _adopted(gpu, future)


def _adopted(gpu: GpuSide, future: Future[Any]) -> Exception | None:
    try:
        gpu.adopt(future.result())
    except Exception as error:
        return error
    return None
