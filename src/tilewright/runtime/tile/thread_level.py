"""Run the code of a GPU's threads on this machine, instead of the kernel as it is written.

    with running_threads() as runs: kernel(a, b)

A kernel whose target is a GPU is lowered by the passes of that GPU, and the result is executed
lane by lane: waves of 64 or 32 lanes, matrix instructions by their layouts, races, barriers and
bytes in flight checked under every schedule. With `compare` the kernel also runs as written first,
with the checks of that level, and the largest difference between the two results is recorded.
Memory without values is filled with bytes of ones (NaN), so that an element that no thread writes
differs.

The code is that of the first attempt of a compilation: if its registers spill, `tilewright
compile` may choose another one.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from tilewright.runtime.tile.kernel import CompiledTileKernel
    from tilewright.targets.numpy.api import Buffer
    from tilewright.targets.numpy.simt import SimtProgram
    from tilewright.targets.numpy.tile import TileOptions, TileReport

_FINFO: Callable[[Any], Any] = ml_dtypes.finfo
_ONES = 0xFF
_ROUNDING = 2e-2
"""Of the largest value of a result."""


@dataclass
class ThreadLaunches:
    """What was executed of one kernel."""

    target: str
    level: str = "tile level"
    """What the results are compared with."""
    blocks: int = 0
    schedules: int = 0
    difference: float | None = None
    """The largest one from the kernel as written, relative to the largest value of its result."""

    wrong: list[str] = field(default_factory=list[str])
    """Results that differ by more than another order of the same sums can explain."""

    def __str__(self) -> str:
        blocks = f"{self.blocks} block{'s' if self.blocks != 1 else ''}"
        schedules = f"{self.schedules} schedule{'s' if self.schedules != 1 else ''}"
        what = f"thread code of {self.target}: {blocks} in {schedules}"
        if self.difference is None:
            return what
        return f"{what}, largest difference from the {self.level} {self.difference:.1e}"


@dataclass
class ThreadRuns:
    """Launches inside a `with`, by the name of the kernel."""

    compare: bool = False
    """Run each kernel as written first."""
    launches: dict[str, ThreadLaunches] = field(default_factory=dict[str, ThreadLaunches])
    _programs: dict[CompiledTileKernel, SimtProgram] = field(
        default_factory=lambda: dict["CompiledTileKernel", "SimtProgram"]()
    )

    def count_schedules(self, schedules: int) -> None:
        """Each schedule of a launch was one of `schedules`, the others of which ran elsewhere."""
        for each in self.launches.values():
            each.blocks *= schedules
            each.schedules *= schedules

    def launch(
        self,
        kernel: CompiledTileKernel,
        arguments: Sequence[Any],
        options: TileOptions,
        as_written: Callable[[], object] | None = None,
    ) -> TileReport:
        """Run one kernel; arrays are changed in place, by its threads.

        `as_written` runs a kernel that was written on pointers; others run at the tile level.
        """
        from tilewright.targets.numpy.api import Buffer
        from tilewright.targets.numpy.simt import SimtOptions
        from tilewright.targets.numpy.tile import TileReport

        if kernel.gpu is None:
            return kernel.program.launch(arguments, options)
        buffers = [each for each in (*arguments, *options.reachable) if isinstance(each, Buffer)]
        before = [each.array.copy() for each in buffers]
        report = None
        if self.compare and as_written is not None:
            as_written()
        elif self.compare:
            report = kernel.program.launch(arguments, options)
        expected = [each.array.copy() for each in buffers] if self.compare else None
        for buffer, values in zip(buffers, before, strict=True):
            _reset(buffer, values)
        settings = SimtOptions(
            checked=options.checked,
            reachable=options.reachable,
            schedules=options.schedules,
            seed=options.seed,
            seeds=options.seeds,
            output=None if self.compare else options.output or print,
            sources=options.sources,
        )
        done = self._program(kernel).launch(arguments, settings)
        level = "tile level" if as_written is None else "pointer level"
        log = self.launches.setdefault(kernel.name, ThreadLaunches(kernel.target, level))
        log.blocks += done.blocks
        log.schedules = done.schedules
        if expected is not None:
            for buffer, reference in zip(buffers, expected, strict=True):
                found = _difference(buffer.array, reference)
                log.difference = max(log.difference or 0.0, found)
                if found > _limit(buffer.array.dtype):
                    log.wrong.append(_described(buffer, reference, found, level))
        if report is None:
            report = TileReport(done.blocks, done.schedules, is_concurrent=True)
        report.seconds += done.seconds
        return report

    def _program(self, kernel: CompiledTileKernel) -> SimtProgram:
        """The kernel after all passes of its GPU; raises what they report as errors."""
        if kernel not in self._programs:
            from tilewright.runtime.tile.pipelines import thread_module
            from tilewright.targets.numpy.simt import compile_simt

            self._programs[kernel] = compile_simt(thread_module(kernel))
        return self._programs[kernel]


def _reset(buffer: Buffer, values: Any) -> None:
    """The values from before, or none where the kernel is to write every element."""
    if not buffer.array.flags.writeable:
        return
    if buffer.initialised:
        buffer.array[...] = values
    else:
        poison = np.full(buffer.array.dtype.itemsize, _ONES, np.uint8).view(buffer.array.dtype)
        buffer.array[...] = poison[0]


def _difference(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest finite value; infinite where kinds differ."""
    if not found.size:
        return 0.0
    one, other = (np.asarray(each).astype(np.float64) for each in (found, expected))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    if same.all():
        return 0.0
    if not (np.isfinite(one[~same]).all() and np.isfinite(other[~same]).all()):
        return float("inf")
    scale = np.abs(other[np.isfinite(other)]).max(initial=0.0) or 1.0
    return float(np.abs(one[~same] - other[~same]).max() / scale)


def _limit(dtype: np.dtype[Any]) -> float:
    """How far results may be apart whose sums were added up in another order.

    Integers may be positions of almost equal values: their difference is printed, and no finding.
    """
    if np.issubdtype(dtype, np.integer) or dtype == np.bool_:
        return float("inf")
    return max(_ROUNDING, 2 * float(_FINFO(dtype).eps))


def _described(buffer: Buffer, expected: Any, difference: float, level: str) -> str:
    """``C[3, 5] is nan, 1.5 at the tile level``, with the element that is furthest off."""
    one, other = (np.asarray(each).astype(np.float64) for each in (buffer.array, expected))
    with np.errstate(invalid="ignore"):
        gap = np.nan_to_num(np.abs(one - other), nan=np.inf, posinf=np.inf)
    gap[(one == other) | (np.isnan(one) & np.isnan(other))] = 0
    at = np.unravel_index(int(gap.argmax()), gap.shape)
    index = ", ".join(map(str, at))
    return (
        f"wrong result: {buffer.name}[{index}] is {one[at]:g}, {other[at]:g} at the {level} "
        f"({difference:.1e} of the largest value)"
    )


_current: ContextVar[ThreadRuns | None] = ContextVar("thread-level runs", default=None)


def thread_runs() -> ThreadRuns | None:
    """Where launches are executed by threads at the moment, if they are."""
    return _current.get()


@contextmanager
def running_threads(*, compare: bool = False) -> Generator[ThreadRuns]:
    """Inside the ``with``, kernels for a GPU run as the code of its threads."""
    runs = ThreadRuns(compare)
    before = _current.set(runs)
    try:
        yield runs
    finally:
        _current.reset(before)
