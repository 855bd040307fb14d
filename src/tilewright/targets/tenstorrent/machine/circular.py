"""Circular buffers of a core: shared page counters, pointers private to each processor.

    free pages   = pages - (received - acked)       what a reserve waits for
    ready pages  = received - acked                 what a wait waits for

`received` and `acked` are shared; a push moves only the write pointer of the kernel that pushes, a
pop only the read pointer of the kernel that pops. `Window` is such a pointer with the pages from it
on that the kernel may access: those it reserved, or those it waited for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.dialects.tensix.formats import Format


@dataclass(eq=False)
class Window:
    """The pages that one kernel may access at one end of a circular buffer."""

    pointer: int = 0
    """Position of the first page, in pages from the start of the buffer."""
    pages: int = 0
    """How many pages from the pointer on are granted."""
    packed: int = 0
    """Pages packed since the last push."""


@dataclass(eq=False)
class CircularBuffer:
    """One circular buffer on one core."""

    index: int
    address: int
    pages: int
    page_bytes: int
    format: Format
    received: int = 0
    acked: int = 0
    producer: str | None = None
    consumer: str | None = None
    writers: dict[str, Window] = field(default_factory=dict[str, Window])
    """The write window of each kernel."""
    readers: dict[str, Window] = field(default_factory=dict[str, Window])
    """The read window of each kernel."""
    on_buffer: bool = False
    """Whether the pages are the core's shard of a tensor."""
    high_water: int = 0
    """The most pages that were ready at a time."""

    @property
    def name(self) -> str:
        return f"c_{self.index}"

    @property
    def ready(self) -> int:
        return self.received - self.acked

    @property
    def free(self) -> int:
        return self.pages - self.ready

    @property
    def size_bytes(self) -> int:
        return self.pages * self.page_bytes

    def writer(self, kernel: str) -> Window:
        return self.writers.setdefault(kernel, Window())

    def reader(self, kernel: str) -> Window:
        return self.readers.setdefault(kernel, Window())

    def page_address(self, page: int) -> int:
        """The L1 address of a page, by position in the buffer."""
        return self.address + page * self.page_bytes

    def window_address(self, window: Window, index: int) -> int:
        """The L1 address of a page, by position from a window's pointer on."""
        return self.page_address(window.pointer + index)

    def describe(self) -> str:
        """State for a deadlock report."""
        return f"{self.name}: {self.ready} of {self.pages} pages ready"
