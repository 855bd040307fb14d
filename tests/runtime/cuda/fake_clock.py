"""A driver with a clock of its own: what its events tell."""

from tests.runtime.cuda.fake_driver import FakeDriver


class Clock(FakeDriver):
    """Time passes only where the test says so."""

    now = 0.0
    host = 0.0
    """Seconds of the host."""
    flushes = 0
    flushed_bytes = 0
    freed = 0

    def _cuMemAlloc_v2(self, address, size):
        self._set(address, 0x9000)
        self.flushed_bytes = size.value

    def _cuMemFree_v2(self, address):
        self.freed += 1

    def _cuMemsetD8Async(self, address, value, size, stream):
        assert (address.value, size.value) == (0x9000, self.flushed_bytes)
        self.flushes += 1
        self.now += 1000.0  # would show if it counted

    def _cuEventCreate(self, event, flags):
        self.events = getattr(self, "events", 0) + 1
        self.alive = getattr(self, "alive", 0) + 1
        self._set(event, self.events)

    def _cuEventDestroy_v2(self, event):
        self.alive -= 1

    def _cuEventRecord(self, event, stream):
        self.at = {**getattr(self, "at", {}), event.value: self.now}

    def _cuEventElapsedTime(self, time, before, after):
        self._set(time, self.at[after.value] - self.at[before.value])
