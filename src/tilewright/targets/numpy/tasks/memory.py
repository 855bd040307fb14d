"""Global memory as one CTA sees it: that of the launch, switched to the current program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.targets.numpy.api import Array, Memory, Terms

if TYPE_CHECKING:
    from tilewright.targets.numpy.tasks.global_order import GlobalOrder


class TaskCursor:
    """Whose turn it is."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self._program = -1

    def of(self, program: int) -> Memory:
        """The memory, for accesses of `program`."""
        if program != self._program:
            self._program = program
            self.memory.begin(np.array([program], np.int64))
        return self.memory


class CtaMemory:
    """The memory of a launch, for one program."""

    def __init__(self, cursor: TaskCursor, program: int, order: GlobalOrder | None = None) -> None:
        self._cursor = cursor
        self._order = order
        """Receives every access, if there is one."""
        self._program = program
        self.active: Array | None = None
        self.is_tracked = False
        self.serial_reason: str | None = None

    @property
    def _memory(self) -> Memory:
        return self._cursor.of(self._program)

    def load(self, site: int, address: Terms, mask: Terms, other: Array | np.generic | None) -> Any:
        found = self._memory.load(site, address, mask, other)
        if self._order is not None:
            self._order.record_access("read", site, address, mask)
        return found

    def store(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> None:
        self._memory.store(site, address, value, mask)
        if self._order is not None:
            self._order.record_access("write", site, address, mask)

    def atomic_rmw(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> Any:
        if self._order is not None:
            self._order.atomic()
        return self._memory.atomic_rmw(site, address, value, mask)

    def atomic_cas(
        self, site: int, address: Terms, compare: Array | np.generic, value: Array | np.generic
    ) -> Any:
        if self._order is not None:
            self._order.atomic()
        return self._memory.atomic_cas(site, address, compare, value)

    def address_of(self, argument: int) -> np.int64:
        return self._cursor.memory.address_of(argument)

    def begin(self, programs: Array) -> None:
        """The current program is set for each access."""

    def finish(self) -> str | None:
        return None

    def rollback(self) -> bool:
        return False

    def close(self) -> None:
        """The launch closes its own memory."""
