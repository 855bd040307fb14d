"""Reader and writer kernels: NoC transfers that are performed later, and barriers for them.

A transfer is queued at issue and performed at a time that the schedule chooses, at the latest at
the kernel's barrier. Reads complete in any order, writes of a kernel in the order of issue; a
barrier covers its own kind, so that one for writes does not cover atomics. A read poisons its
destination at issue. A write reads its source when it is performed, so that reusing the source too
early changes the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from typing_extensions import override

from tilewright.analysis.concurrency import Operation as Transfer
from tilewright.analysis.concurrency import Wait
from tilewright.dialects.tensix.formats import Format
from tilewright.targets.tenstorrent.execution import Check
from tilewright.targets.tenstorrent.machine.circular import CircularBuffer
from tilewright.targets.tenstorrent.machine.memory import DramBuffer
from tilewright.targets.tenstorrent.machine.recorder import Recorder
from tilewright.targets.tenstorrent.machine.thread import Thread
from tilewright.targets.tenstorrent.machine.tiles import encode, float_of

_DRAM_FLAG = 2
QUEUES = ("reads", "writes", "atomics")
QUEUES_OF = {"read": "reads", "write": "writes", "flush": "writes", "atomic": "atomics"}
"""What each barrier waits for."""


@dataclass(eq=False)
class _Queued:
    """A transfer in flight, and the bytes of the own L1 that it uses."""

    transfer: Transfer
    address: int
    size: int

    def overlaps(self, address: int, size: int) -> bool:
        return self.address < address + size and address < self.address + self.size


class DataThread(Thread):
    """A reader or writer kernel on one core."""

    pending: dict[str, list[_Queued]]
    """What is in flight, by queue: reads, writes, atomics."""

    def start(self) -> None:
        """Nothing is in flight."""
        self.pending = {queue: [] for queue in QUEUES}

    @property
    def reads(self) -> list[_Queued]:
        return self.pending["reads"]

    @property
    def writes(self) -> list[_Queued]:
        return self.pending["writes"]

    # -- addresses ---------------------------------------------------------------------------

    def cb_write_ptr(self, cb: CircularBuffer, site: int) -> int:
        del site
        return cb.window_address(cb.writer(self.kernel), 0)

    def cb_read_ptr(self, cb: CircularBuffer, site: int) -> int:
        del site
        return cb.window_address(cb.reader(self.kernel), 0)

    def accessor(self, address: int, ct_offset: int, format: Format, site: int) -> DramBuffer:
        """The buffer at an address, if the compile-time arguments describe it."""
        if ct_offset + 2 > len(self.compile_args):
            self.stop(
                Check.ARGUMENT_RANGE,
                f"accessor at compile-time argument {ct_offset}: the kernel has "
                f"{len(self.compile_args)}",
                site,
            )
        in_dram = bool(self.compile_args[ct_offset] & _DRAM_FLAG)
        found = self.run.dram.get((in_dram, address))
        if found is None:
            space = "DRAM" if in_dram else "L1"
            self.stop(
                Check.BAD_ADDRESS, f"no buffer is allocated at {space} address {address}", site
            )
        words = tuple(self.run.allocation.accessor_words(found.buffer))
        if tuple(self.compile_args[ct_offset : ct_offset + len(words)]) != words:
            last = ct_offset + len(words) - 1
            self.stop(
                Check.BAD_ADDRESS,
                f"compile-time arguments {ct_offset} {'and' if len(words) == 2 else 'to'} {last} "
                f"do not describe buffer '{found.buffer.name}'",
                site,
            )
        if format.tile_bytes != found.buffer.page_bytes:
            self.report(
                Check.BAD_ADDRESS,
                f"accessor of {format.value} tiles on buffer '{found.buffer.name}' with pages of "
                f"{found.buffer.page_bytes} B",
                site,
            )
        return found

    def _page(self, buffer: DramBuffer, page: int, site: int) -> int:
        if not 0 <= page < buffer.buffer.pages:
            self.stop(
                Check.PAGE_RANGE,
                f"page {page} of '{buffer.buffer.name}', which has {buffer.buffer.pages} pages",
                site,
            )
        return page

    def _aligned(self, address: int, site: int) -> None:
        alignment = self.run.program.chip.l1_alignment
        if address % alignment:
            self.report(
                Check.MISALIGNED,
                f"L1 address {address} of a NoC transfer is not a multiple of {alignment} B",
                site,
            )

    def _writable(self, address: int, size: int, site: int) -> None:
        """Whether bytes are inside pages that this kernel has reserved."""
        cb = self.core.cb_at(address)
        if cb is None:
            self.stop(Check.BAD_ADDRESS, f"L1 address {address} is in no circular buffer", site)
        window = cb.writer(self.kernel)
        first = cb.window_address(window, 0)
        last = min(cb.window_address(window, window.pages), cb.address + cb.size_bytes)
        if not first <= address <= address + size <= last:
            self.report(
                Check.OUTSIDE_WINDOW,
                f"writes {size} B at byte {address - cb.address} of {cb.name}, reserved are bytes "
                f"{first - cb.address} to {last - cb.address}",
                site,
            )
        if address + size > cb.address + cb.size_bytes:
            self.stop(Check.STRADDLING_WRAP, f"writes past the end of {cb.name} at {address}", site)

    def source(self, address: int, size: int, site: int) -> None:
        """Whether bytes are inside pages that this kernel waited for, and hold data."""
        cb = self.core.cb_at(address)
        if cb is None:
            self.stop(Check.BAD_ADDRESS, f"L1 address {address} is in no circular buffer", site)
        window, own = cb.reader(self.kernel), cb.writer(self.kernel)
        ends = [
            (cb.window_address(each, 0), cb.window_address(each, each.pages))
            for each in (window, own)
        ]
        if not any(first <= address <= address + size <= last for first, last in ends):
            self.report(
                Check.UNPUSHED_READ,
                f"reads {size} B at byte {address - cb.address} of {cb.name}, {window.pages} pages "
                f"from byte {window.pointer * cb.page_bytes} on were waited for",
                site,
            )
        self.check_valid(address, size, f"byte {address - cb.address} of {cb.name}", site)

    # -- transfers ---------------------------------------------------------------------------

    def noc_read_tile(self, page: int, buffer: DramBuffer, l1: int, site: int) -> None:
        """Queue a page of a tensor to L1."""
        page = self._page(buffer, page, site)
        size = buffer.buffer.page_bytes
        self._aligned(l1, site)
        self._writable(l1, size, site)
        self.core.l1.poison(l1, size)
        if buffer.is_l1:
            self.run.count(l1_page_reads=1, noc_bytes=size)
            if not buffer.is_written(page):
                self.report(
                    Check.UNPUSHED_READ,
                    f"reads page {page} of '{buffer.buffer.name}': no kernel has written it",
                    site,
                )
        else:
            self.run.count(dram_page_reads=1, dram_read_bytes=size)
        self._read_of(buffer, page, site)
        buffer.page_reads += 1

        def perform() -> None:
            self.core.l1.write(l1, buffer.load(page))

        self._queue("reads", f"read of {buffer.buffer.name}[{page}]", perform, l1, size, site)

    def noc_write_tile(self, page: int, buffer: DramBuffer, l1: int, site: int) -> None:
        """Queue L1 to a page of a tensor."""
        page = self._page(buffer, page, site)
        size = buffer.buffer.page_bytes
        self._aligned(l1, site)
        self.source(l1, size, site)
        if buffer.is_l1:
            self.run.count(l1_page_writes=1, noc_bytes=size)
        else:
            self.run.count(dram_page_writes=1, dram_write_bytes=size)
        buffer.writes[page] += 1
        self._write_of(buffer, page, site)

        def perform() -> None:
            buffer.store(page, self.core.l1.read(l1, size))

        self._queue("writes", f"write of {buffer.buffer.name}[{page}]", perform, l1, size, site)

    def _read_of(self, buffer: DramBuffer, page: int, site: int) -> None:
        """A page that is read may not be written in the same run by another kernel before."""
        writer = buffer.writers.get(page, self.name)
        if writer != self.name:
            self.report(
                Check.UNORDERED_ACCESS,
                f"reads page {page} of '{buffer.buffer.name}', which {writer} writes in the same "
                "run: nothing orders the two",
                site,
            )
        core = self.core.core
        if buffer.readers.setdefault(page, core) != core:
            buffer.readers[page] = None

    def _write_of(self, buffer: DramBuffer, page: int, site: int) -> None:
        """A page has one writer, and no reader on another core."""
        what = f"page {page} of '{buffer.buffer.name}'"
        writer = buffer.writers.setdefault(page, self.name)
        if writer != self.name:
            self.report(Check.TWO_WRITERS, f"{what} is written by {writer} too", site)
        core = self.core.core
        if buffer.readers.get(page, core) != core:
            self.report(
                Check.UNORDERED_ACCESS,
                f"writes {what}, which another core reads in the same run: nothing orders the two",
                site,
            )

    def _queue(
        self, queue: str, what: str, perform: Callable[[], None], l1: int, size: int, site: int
    ) -> None:
        self.issue(queue, queue, what, perform, l1, size, site)

    def issue(
        self,
        queue: str,
        engine: str,
        what: str,
        perform: Callable[[], None],
        l1: int,
        size: int,
        site: int,
    ) -> None:
        """A transfer that a barrier of `queue` waits for; those of one `engine` stay in order."""
        transfer = Transfer(what, perform, self.ops[site], self.name)
        if self.run.recorder is not None:
            self._record(self.run.recorder, transfer, site)
        self.run.machine.issue(f"{self.name} {engine}", transfer, in_order=engine != "reads")
        self.pending[queue].append(_Queued(transfer, l1, size))

    def _record(self, recorder: Recorder, transfer: Transfer, site: int) -> None:
        perform, core, op = transfer.finish, self.core.core, self.ops[site]
        key = recorder.issued(core, self.kernel, op, transfer.what)

        def recorded() -> None:
            perform()
            recorder.completed(core, self.kernel, op, key, transfer.what)

        transfer.finish = recorded

    def noc_barrier(self, kind: str, site: int) -> Wait:
        """Wait for the transfers of this kernel: reads, writes or atomics."""
        pending = self.pending[QUEUES_OF[kind]]
        awaited = [each.transfer for each in pending]
        pending.clear()
        return Wait(
            f"noc_barrier {kind}",
            lambda: all(each.is_done for each in awaited),
            lambda: f"{sum(not each.is_done for each in awaited)} transfers in flight",
            None,
            self.ops[site],
        )

    @override
    def check_sources(self, address: int, size: int, cb: CircularBuffer, site: int) -> None:
        # Even a write that happens to be performed already is not covered by a barrier.
        for queued in self.writes:
            if queued.overlaps(address, size):
                self.report(
                    Check.POP_BEFORE_WRITE,
                    f"pops pages of {cb.name} while a {queued.transfer.what} from them is in "
                    "flight: noc_barrier write or flush is missing before it",
                    site,
                )
                return

    @override
    def cb_push(self, cb: CircularBuffer, pages: int, site: int) -> None:
        window = cb.writer(self.kernel)
        address, size = cb.window_address(window, 0), pages * cb.page_bytes
        if any(queued.overlaps(address, size) for queued in self.reads):
            self.report(
                Check.PUSH_BEFORE_BARRIER,
                f"pushes pages of {cb.name} while a NoC read into them is in flight: "
                "noc_barrier read is missing before it",
                site,
            )
        super().cb_push(cb, pages, site)

    def fill_page(
        self, l1: int, limit: int, pattern: str, format: Format, bits: int, site: int
    ) -> None:
        """Store a tile of known contents."""
        self._writable(l1, format.tile_bytes, site)
        value = float_of(bits)
        if pattern in ("row_index", "column_index"):
            signed = limit - (1 << 32) if limit >> 31 else limit
            indices = np.indices((32, 32))[0 if pattern == "row_index" else 1]
            self.core.l1.write(l1, encode((indices + signed).astype(np.int32), format))
            return
        tile = np.zeros((32, 32), np.float32)
        if pattern == "constant":
            tile[:, :] = value
        elif pattern == "scaler":
            tile[::16, :] = value
        elif pattern == "columns_below":
            tile[:, :limit] = value
        elif pattern == "triangle_below":
            signed = limit - (1 << 32) if limit >> 31 else limit
            rows, columns = np.indices(tile.shape)
            tile[columns < rows + signed] = value
        else:
            tile[:limit, :] = value
        self.core.l1.write(l1, encode(tile, format))
