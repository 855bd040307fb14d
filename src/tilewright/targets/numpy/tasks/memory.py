"""Global memory as one CTA sees it: the launch's, which is told whose turn it is."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.targets.numpy.api import Array, Memory, Terms


class Turn:
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

    def __init__(self, turn: Turn, program: int) -> None:
        self._turn = turn
        self._program = program
        self.active: Array | None = None
        self.is_tracked = False
        self.serial_reason: str | None = None

    @property
    def _memory(self) -> Memory:
        return self._turn.of(self._program)

    def load(self, site: int, address: Terms, mask: Terms, other: Array | np.generic | None) -> Any:
        return self._memory.load(site, address, mask, other)

    def store(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> None:
        self._memory.store(site, address, value, mask)

    def atomic_rmw(self, site: int, address: Terms, value: Array | np.generic, mask: Terms) -> Any:
        return self._memory.atomic_rmw(site, address, value, mask)

    def atomic_cas(
        self, site: int, address: Terms, compare: Array | np.generic, value: Array | np.generic
    ) -> Any:
        return self._memory.atomic_cas(site, address, compare, value)

    def address_of(self, argument: int) -> np.int64:
        return self._turn.memory.address_of(argument)

    def begin(self, programs: Array) -> None:
        """Turns are taken access by access."""

    def finish(self) -> str | None:
        return None

    def rollback(self) -> bool:
        return False

    def close(self) -> None:
        """The launch closes its own memory."""
