"""What a kernel of any role does on one core: its arguments and the four calls of circular buffers.

A `Thread` is the context of one kernel on one core. Translated kernels call its methods, one an op,
and yield the `Wait` that blocking calls return. Each method checks first and acts then; what the
hardware would not survive ends the run, the rest is recorded and the run continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from xdsl.ir import Operation

from tilewright.analysis.concurrency import Steps, Wait
from tilewright.targets.tenstorrent.execution import Check, EventKind
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer, Window
from tilewright.targets.tenstorrent.machine.memory import ByteState
from tilewright.targets.tenstorrent.machine.state import CoreState, RunState, StopRun
from tilewright.targets.tenstorrent.program import Core

INVALID_READ = {
    ByteState.POISONED: (
        Check.POISONED_READ,
        "a NoC read into it is in flight: noc_barrier read is missing",
    ),
    ByteState.UNWRITTEN: (Check.UNPUSHED_READ, "no kernel has written it"),
}


def task_name(kernel: str, core: Core) -> str:
    """The name of a kernel on a core, as the schedule and reports show it."""
    return f"{kernel} on core ({core[0]},{core[1]})"


class Thread:
    """One kernel on one core."""

    def __init__(
        self,
        run: RunState,
        core: CoreState,
        kernel: str,
        ops: Sequence[Operation],
        runtime_args: Sequence[int],
        compile_args: Sequence[int],
    ) -> None:
        self.run = run
        self.core = core
        self.kernel = kernel
        self.ops = ops
        self.runtime_args = runtime_args
        self.compile_args = compile_args

    @property
    def name(self) -> str:
        return task_name(self.kernel, self.core.core)

    # -- findings ----------------------------------------------------------------------------

    def report(self, check: Check, message: str, site: int) -> None:
        """Record a finding at an op of the kernel; the run continues."""
        self.run.report(check, message, self.core.core, self.kernel, self.ops[site])

    def stop(self, check: Check, message: str, site: int) -> NoReturn:
        """Record a finding after which the hardware's behaviour is undefined."""
        self.report(check, message, site)
        raise StopRun

    # -- arguments ---------------------------------------------------------------------------

    def arg(self, position: int, site: int) -> int:
        return self._argument(self.runtime_args, position, "run-time", site)

    def ct_arg(self, position: int, site: int) -> int:
        return self._argument(self.compile_args, position, "compile-time", site)

    def _argument(self, values: Sequence[int], position: int, what: str, site: int) -> int:
        if position >= len(values):
            self.stop(
                Check.ARGUMENT_RANGE,
                f"{what} argument {position} does not exist: the kernel has {len(values)}",
                site,
            )
        return values[position]

    # -- circular buffers --------------------------------------------------------------------

    def cb(self, index: int, site: int) -> CircularBuffer:
        """A circular buffer of this core."""
        found = self.core.cbs.get(index)
        if found is None:
            self.stop(Check.BAD_ADDRESS, f"c_{index} is not configured on this core", site)
        return found

    def cb_reserve(self, cb: CircularBuffer, pages: int, site: int) -> Steps:
        """Wait for free pages, which may be written from then on."""
        if pages > cb.pages:
            self.stop(
                Check.OVER_RESERVE,
                f"reserves {pages} pages of {cb.name}, which has {cb.pages}",
                site,
            )
        yield Wait(
            f"{pages} free pages of {cb.name}",
            lambda: cb.free >= pages,
            cb.describe,
            cb,
            self.ops[site],
        )
        window = cb.writer(self.kernel)
        # A shard holds its tensor before pages of it are reserved.
        first = cb.pages if cb.on_buffer else window.pages
        for page in range(first, min(pages, cb.pages - window.pointer)):
            self.core.l1.forget(cb.window_address(window, page), cb.page_bytes)
        window.pages = max(window.pages, pages)

    def cb_push(self, cb: CircularBuffer, pages: int, site: int) -> None:
        """Hand written pages to the consumer."""
        window = cb.writer(self.kernel)
        if pages > window.pages:
            self.report(
                Check.PUSH_WITHOUT_RESERVE,
                f"pushes {pages} pages of {cb.name}, {window.pages} are reserved",
                site,
            )
        self._check_wrap(cb, window, pages, "push", site)
        address = cb.window_address(window, 0)
        state = self.core.l1.worst_state(address, pages * cb.page_bytes)
        if state is ByteState.UNWRITTEN and not cb.on_buffer:
            self.report(
                Check.UNWRITTEN_PAGE,
                f"pushes {pages} pages of {cb.name}, not all of which were written",
                site,
            )
        if state is ByteState.POISONED:
            self.report(
                Check.PUSH_BEFORE_BARRIER,
                f"pushes pages of {cb.name} while a NoC read into them is in flight: "
                "noc_barrier read is missing before it",
                site,
            )
        self._advance(cb, window, pages)
        window.packed = max(0, window.packed - pages)
        cb.received += pages
        cb.high_water = max(cb.high_water, cb.ready)
        self._record_pages(EventKind.PUSH, cb, pages, site)
        if cb.ready > cb.pages:
            self.stop(
                Check.PUSH_WITHOUT_RESERVE,
                f"{cb.name} holds {cb.ready} pages after the push, its capacity is {cb.pages}",
                site,
            )

    def cb_wait(self, cb: CircularBuffer, pages: int, site: int) -> Wait:
        """Wait for pushed pages, which may be read from then on."""
        if pages > cb.pages:
            self.stop(
                Check.OVER_WAIT,
                f"waits for {pages} pages of {cb.name}, which has {cb.pages}",
                site,
            )
        window = cb.reader(self.kernel)
        window.pages = max(window.pages, pages)
        return Wait(
            f"{pages} pushed pages of {cb.name}",
            lambda: cb.ready >= pages,
            cb.describe,
            cb,
            self.ops[site],
        )

    def cb_pop(self, cb: CircularBuffer, pages: int, site: int) -> None:
        """Free the oldest pages."""
        window = cb.reader(self.kernel)
        if pages > window.pages:
            self.report(
                Check.POP_WITHOUT_WAIT,
                f"pops {pages} pages of {cb.name}, {window.pages} were waited for",
                site,
            )
        self._check_wrap(cb, window, pages, "pop", site)
        self.check_sources(cb.window_address(window, 0), pages * cb.page_bytes, cb, site)
        self._advance(cb, window, pages)
        cb.acked += pages
        self._record_pages(EventKind.POP, cb, pages, site)
        if cb.ready < 0:
            self.stop(
                Check.POP_WITHOUT_WAIT,
                f"{cb.name} has {cb.acked} pages popped and {cb.received} pushed",
                site,
            )

    def _record_pages(self, kind: EventKind, cb: CircularBuffer, pages: int, site: int) -> None:
        recorder = self.run.recorder
        if recorder is not None:
            op = self.ops[site]
            recorder.pages(kind, self.core.core, self.kernel, op, cb.index, pages)

    def check_sources(self, address: int, size: int, cb: CircularBuffer, site: int) -> None:
        """Whether a write from bytes that are popped is in flight; data movement overrides it."""

    def _check_wrap(
        self, cb: CircularBuffer, window: Window, pages: int, what: str, site: int
    ) -> None:
        if window.pointer + pages > cb.pages:
            self.stop(
                Check.STRADDLING_WRAP,
                f"{what} of {pages} pages at page {window.pointer} of {cb.name} straddles its end: "
                f"{cb.pages} pages are not a multiple of the block",
                site,
            )

    def _advance(self, cb: CircularBuffer, window: Window, pages: int) -> None:
        window.pages = max(0, window.pages - pages)
        window.pointer += pages
        if window.pointer == cb.pages:
            window.pointer = 0

    def readable(self, cb: CircularBuffer, index: int, site: int) -> int:
        """The address of a page that the kernel reads, after all checks."""
        window = cb.reader(self.kernel)
        if not 0 <= index < window.pages:
            self.report(
                Check.UNPUSHED_READ,
                f"reads page {index} of {cb.name}, {window.pages} pages were waited for",
                site,
            )
        if window.pointer + index >= cb.pages:
            self.stop(
                Check.STRADDLING_WRAP,
                f"page {index} from page {window.pointer} of {cb.name} on is past its end",
                site,
            )
        address = cb.window_address(window, index)
        self.check_valid(address, cb.page_bytes, f"page {index} of {cb.name}", site)
        return address

    def check_valid(self, address: int, size: int, what: str, site: int) -> None:
        """Whether bytes of L1 hold data."""
        state = self.core.l1.worst_state(address, size)
        if state is not ByteState.VALID:
            check, why = INVALID_READ[state]
            self.report(check, f"reads {what}: {why}", site)
