"""What members of a team do, as far as their order matters, and what can be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

Place: TypeAlias = tuple[SSAValue, int]
"""One barrier: the row and the number in it."""

Box: TypeAlias = tuple[tuple[int, int], ...]
"""First element and end, for each dimension."""


@dataclass(frozen=True)
class BoxAccess:
    """A part of a buffer that is read or written; without a box nobody knows which part."""

    base: SSAValue
    box: Box | None
    is_write: bool

    def meets(self, other: BoxAccess) -> bool:
        """Whether both certainly touch one element, and one of them writes it."""
        if not (self.is_write or other.is_write) or self.base is not other.base:
            return False
        if self.box is None or other.box is None:
            return False
        pairs = zip(self.box, other.box, strict=True)
        return all(max(a, c) < min(b, d) for (a, b), (c, d) in pairs)

    def hides(self, other: BoxAccess) -> bool:
        """Whether this is a write of all that the other touches."""
        if not self.is_write or self.box is None or other.box is None:
            return False
        pairs = zip(self.box, other.box, strict=True)
        return all(a <= c and d <= b for (a, b), (c, d) in pairs)


@dataclass(frozen=True)
class Arrive:
    """Threads arrive at a barrier, announcing bytes."""

    op: Operation
    place: Place
    threads: int
    bytes: int = 0


@dataclass(frozen=True)
class WaitEvent:
    """Nobody goes on before the phase of a parity has ended."""

    op: Operation
    place: Place
    parity: int


@dataclass(frozen=True)
class AccessEvent:
    """Memory is touched, at once or, with a `group` or a `place`, some time later."""

    op: Operation
    touches: tuple[BoxAccess, ...]
    group: str = ""
    place: Place | None = None
    bytes: int = 0
    announces: bool = False
    """Whether the copy itself says how many bytes it brings."""


@dataclass(frozen=True)
class Commit:
    """Asynchronous accesses since the last commit become a group."""

    op: Operation
    group: str


@dataclass(frozen=True)
class WaitGroup:
    """All groups but the last so many are done."""

    op: Operation
    group: str
    left: int


@dataclass(frozen=True)
class NamedBarrierEvent:
    """A named barrier: as many threads as it is for; `waits` or only arrives."""

    op: Operation
    number: int
    threads: int
    count: int
    waits: bool = True


Event: TypeAlias = Arrive | WaitEvent | AccessEvent | Commit | WaitGroup | NamedBarrierEvent


class FaultKind(Enum):
    """What is wrong."""

    DEADLOCK = "deadlock"
    BYTES = "bytes"
    COUNT = "count"
    UNORDERED = "unordered"
    OVERRUN = "overrun"


@dataclass(frozen=True)
class SyncFinding:
    """Something wrong, where, and what else takes part in it."""

    kind: FaultKind
    op: Operation
    message: str
    notes: tuple[tuple[Operation, str], ...] = ()
