"""Hooks on accesses, for checks beyond bounds.

A block of memory may be watched: by `owners` (is the batch equivalent to running its programs
sequentially), by `initialised` (was the element ever written), by `races` (did another program
access it without an order). Most blocks have no watcher and pay nothing.

A `CellAccess` is what they receive: the granules of the block, and the range of programs (in launch
order, counted from 1) of each lane. Where all programs access the same lanes, a lane belongs to all
of them; else to exactly one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol, TypeAlias

from tilewright.targets.numpy.api import Array, Site
from tilewright.targets.numpy.selections import Selection

ProgramIds: TypeAlias = Array | int


@dataclass(frozen=True, slots=True)
class CellAccess:
    """One access to granules that are known to exist."""

    site: Site
    selection: Selection
    """In the tables of the block. Axis 0 counts programs, or lanes if it is the only one; a last
    axis of granules follows where a lane has several."""
    first: ProgramIds
    """The first program that a lane stands for: its linear id plus one, along axis 0."""
    last: ProgramIds
    """The last program that a lane stands for."""

    def along(self, programs: ProgramIds) -> ProgramIds:
        """`first` or `last` in a shape that broadcasts to the selection's."""
        if isinstance(programs, int):
            return programs
        return programs.reshape((-1,) + (1,) * (len(self.selection.shape) - 1))

    @property
    def is_shared(self) -> bool:
        """Whether lanes stand for several programs each."""
        return isinstance(self.first, int) and self.first != self.last


class Watcher(Protocol):
    """Called for every access to a block, before it is carried out; may raise to prevent it."""

    def begin(self, programs: Array) -> None:
        """A batch of these linear ids, in ascending order, starts."""
        ...

    def read(self, access: CellAccess) -> None: ...

    def write(self, access: CellAccess) -> None: ...

    def update(self, access: CellAccess) -> None:
        """An atomic read-modify-write."""
        ...


Record: TypeAlias = Callable[[Array, Selection], None]
"""Remembers what a table holds, so that the batch can be undone."""

Verdict: TypeAlias = Callable[[CellAccess], Array]
"""Which granules of an access are at fault."""

Report: TypeAlias = Callable[[Verdict], NoReturn]
"""Raises the fault of the access at hand, naming the first lane that the verdict finds."""
