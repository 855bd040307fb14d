"""One launch: the blocks of each kernel sequentially, and run-time faults as diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from types import TracebackType
from typing import Any, Protocol

import numpy as np
from xdsl.ir import Attribute

from tilewright.analysis.concurrency import BlockedTask, Deadlock, MBarrier
from tilewright.dialects.tile.attributes import Raster
from tilewright.ir.codes.shared import NUMPY_CODE_FAILED
from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Grid, Progress
from tilewright.targets.numpy.source import GeneratedSource
from tilewright.targets.numpy.support.batch import SourceSite
from tilewright.targets.numpy.tile.api import CODES, FaultKind, TileFault
from tilewright.targets.numpy.tile.support.block import Runtime
from tilewright.targets.numpy.tile.support.block_races import BlockLog
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.concurrent import ConcurrentRuntime
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text
from tilewright.targets.numpy.tile.support.tensor_core import TensorCoreRuntime


class Launch:
    """The state of one run of a function under one schedule."""

    def __init__(
        self,
        seed: int,
        *,
        is_concurrent: bool,
        checked: bool,
        output: Callable[[str], None],
        progress: Progress | None,
        arena_bytes: int,
    ) -> None:
        self.runtime: Runtime
        if is_concurrent:
            self.runtime = TensorCoreRuntime(
                seed, checked=checked, output=output, arena_bytes=arena_bytes
            )
        else:
            self.runtime = Runtime(checked=checked, output=output, arena_bytes=arena_bytes)
        self.runtime.launcher = self.launch
        self.progress = progress
        self.blocks = 0
        self.is_running = False

    @property
    def block(self) -> Grid | None:
        """The block that runs, or in which something went wrong."""
        if not self.is_running:
            return None
        block = self.runtime.block
        return block[0], block[1], block[2]

    def launch(
        self,
        kernel: Callable[..., Any],
        grid: Sequence[Any],
        threads: tuple[int, ...],
        raster: tuple[str, int] | None = None,
        cluster: tuple[int, ...] = (),
        together: bool = False,
        pairs: bool = False,
        written: Sequence[TileBuffer] = (),
    ) -> None:
        """Run every block of a grid, x fastest; all `together` if they wait for each other.

        With `pairs` those of a cluster reach into each other, and run together.

        `written` are the global tensors that the kernel writes.
        """
        runtime = self.runtime
        extents = tuple(int(extent) for extent in grid)
        if min(extents, default=0) < 0:
            shown = ", ".join(map(str, extents))
            fix = "check the sizes that the extent is computed from, or use T.max(..., 0)"
            raise RuntimeFault("shape", f"negative grid extent: ({shown})", [fix])
        runtime.grid = (*extents, 1, 1)[:3]
        runtime.cluster = (*cluster, 1, 1, 1)[:3]
        runtime.threads = threads
        order = _order(extents, raster)
        self.is_running = True
        log = runtime.log
        if log is not None:
            log.begin_kernel()
        _follow(written, log if prod(extents) > 1 else None)
        if isinstance(runtime, ConcurrentRuntime) and together:
            blocks = [(_padded(block), kernel(*_ids(block))) for block in order]
            self.blocks += len(blocks)
            runtime.run(blocks, prod(threads))
        elif isinstance(runtime, ConcurrentRuntime) and pairs:
            self._by_cluster(runtime, kernel, order, prod(threads))
        else:
            self._one_by_one(kernel, order, prod(extents), prod(threads))
        self.is_running = False
        _follow(written, None)

    def _by_cluster(
        self,
        runtime: ConcurrentRuntime,
        kernel: Callable[..., Any],
        order: Iterable[tuple[int, ...]],
        threads: int,
    ) -> None:
        """The clusters in turn, in the order of their first blocks."""
        clusters: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for block in order:
            corner = tuple(
                index // extent for index, extent in zip(block, runtime.cluster, strict=False)
            )
            clusters.setdefault(corner, []).append(block)
        waiting = list(clusters.values())

        def take() -> tuple[int, ...] | None:
            return _padded(min(waiting.pop(0))) if waiting else None

        if isinstance(runtime, TensorCoreRuntime):
            runtime.take_cluster = take
        while waiting:
            blocks = waiting.pop(0)
            self.blocks += len(blocks)
            runtime.begin(_padded(blocks[0]))
            runtime.run([(_padded(block), kernel(*_ids(block))) for block in blocks], threads)

    def _one_by_one(
        self,
        kernel: Callable[..., Any],
        order: Iterable[tuple[int, ...]],
        total: int,
        threads: int,
    ) -> None:
        runtime = self.runtime
        for count, block in enumerate(order):
            self.blocks += 1
            runtime.begin(_padded(block))
            if runtime.log is not None:
                runtime.log.begin_block()
            if isinstance(runtime, ConcurrentRuntime):
                runtime.run([(_padded(block), kernel(*_ids(block)))], threads)
            else:
                kernel(*_ids(block))
            if self.progress is not None:
                self.progress(count + 1, total)


def _follow(written: Sequence[TileBuffer], log: BlockLog | None) -> None:
    for buffer in written:
        if buffer.seen is not None:
            buffer.seen.trace.log = log


def _padded(block: tuple[int, ...]) -> tuple[int, ...]:
    return (*block, 0, 0)[:3]


def _ids(block: tuple[int, ...]) -> list[Any]:
    return [np.int64(each) for each in block]


def _order(extents: Sequence[int], raster: tuple[str, int] | None) -> Iterator[tuple[int, ...]]:
    """Blocks in the order they start, one at a time: a grid can have more than memory can list."""
    walk = None if raster is None or len(extents) < 2 else Raster(*raster)
    for position in range(prod(extents)):
        block: list[int] = []
        rest = position
        for extent in extents:
            rest, index = divmod(rest, extent)
            block.append(index)
        if walk is not None:
            block[:2] = walk.block_at(block[0], block[1], extents[0], extents[1])
        yield tuple(block)


# Faults.


class Compiled(Protocol):
    """What is needed of a kernel to place a fault."""

    name: str
    source_sites: Sequence[SourceSite]
    generated: GeneratedSource
    filename: str


def fault_of(
    error: Exception, kernel: Compiled, launch: Launch, sources: SourceManager | None, seed: int
) -> TileFault:
    """The report on an exception in generated code."""
    schedule = seed if isinstance(launch.runtime, ConcurrentRuntime) else None
    if isinstance(error, Deadlock):
        diagnostic = _deadlock(error, kernel)
        kind: FaultKind = "deadlock"
    elif isinstance(error, RuntimeFault):
        diagnostic = _problem(error, kernel)
        kind = error.kind
    else:
        message = f"the NumPy code of '{kernel.name}' failed: {type(error).__name__}: {error}"
        location = _location(error.__traceback__, kernel)
        diagnostic = Diagnostic(Severity.ERROR, message, location, NUMPY_CODE_FAILED)
        kind = "shape"
    where: list[str] = []
    if launch.block is not None:
        where.append(f"block {launch.block}")
    if schedule is not None:
        where.append(f"schedule with seed {schedule}")
    if where:
        diagnostic.notes.insert(0, Diagnostic(Severity.NOTE, ", ".join(where)))
    return TileFault(kind, diagnostic, launch.block, sources, schedule)


def _location(trace: TracebackType | None, kernel: Compiled) -> Attribute | None:
    """Where the innermost line of generated code comes from."""
    location = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == kernel.filename:
            location = kernel.generated.locations.get(trace.tb_lineno, location)
        trace = trace.tb_next
    return location


def _note(note: Note, kernel: Compiled) -> Diagnostic:
    location = None if note.site is None else kernel.source_sites[note.site].location
    if note.line is not None:
        location = kernel.generated.locations.get(note.line)
    return Diagnostic(Severity.NOTE, note.text, location)


def _problem(problem: RuntimeFault, kernel: Compiled) -> Diagnostic:
    if problem.site is not None:
        location = kernel.source_sites[problem.site].location
    else:
        location = _location(problem.__traceback__, kernel)
    diagnostic = Diagnostic(Severity.ERROR, problem.message, location, CODES[problem.kind])
    diagnostic.notes.extend(_note(note, kernel) for note in problem.notes)
    return diagnostic


def _deadlock(error: Deadlock, kernel: Compiled) -> Diagnostic:
    waiting = [each for each in error.blocked if each.wait.site is not None] or list(error.blocked)
    first = waiting[0]
    message = f"deadlock: {first}"
    location = _site_location(first.wait.site, kernel)
    diagnostic = Diagnostic(Severity.ERROR, message, location, CODES["deadlock"])
    for each in waiting[1:]:
        diagnostic.notes.append(
            Diagnostic(Severity.NOTE, str(each), _site_location(each.wait.site, kernel))
        )
    if error.over:
        ended = ", ".join(error.over)
        diagnostic.notes.append(Diagnostic(Severity.NOTE, f"already terminated: {ended}"))
    text, site = _remedy(waiting)
    diagnostic.notes.append(Diagnostic(Severity.NOTE, text, _site_location(site, kernel)))
    return diagnostic


def _remedy(waiting: Sequence[BlockedTask]) -> tuple[str, object]:
    """What to change, from what the barriers lack, and where."""
    barriers = {
        each.wait.subject: None for each in waiting if isinstance(each.wait.subject, MBarrier)
    }
    if any(each.tx_count for each in barriers):
        return "make the expect-tx byte count equal to the bytes that the copies complete", None
    is_complete = all(isinstance(each.wait.subject, MBarrier) for each in waiting)
    if is_complete and len(barriers) == 1:
        (barrier,) = barriers
        missing = barrier.count - barrier.arrived
        if barrier.arrived > 0:
            return (
                f"no role is left that could arrive on {barrier.name}: set its arrive count to "
                f"{barrier.arrived} here, or make {count_text(missing, 'more thread')} arrive",
                barrier.site,
            )
    if is_complete and len(barriers) > 1 and not any(b.phase or b.arrived for b in barriers):
        return (
            "every role waits before the first arrival: the role that fills a buffer first has to "
            "wait for parity 1, which passes at once on a newly initialised barrier",
            None,
        )
    return "an arrival is missing, an arrive count is too high, or a parity is wrong", None


def _site_location(site: object, kernel: Compiled) -> Attribute | None:
    return kernel.source_sites[site].location if isinstance(site, int) else None
