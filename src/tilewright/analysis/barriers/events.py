"""Events of concurrent roles, as far as their order matters, and the findings about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

BarrierId: TypeAlias = tuple[SSAValue, int]
"""One barrier: the array and the index in it."""

Box: TypeAlias = tuple[tuple[int, int], ...]
"""First element and end, for each dimension."""


@dataclass(frozen=True)
class BoxAccess:
    """A box of a buffer that is read or written; without a box the part is unknown."""

    base: SSAValue
    box: Box | None
    is_write: bool

    def conflicts_with(self, other: BoxAccess) -> bool:
        """Whether both certainly access one element, and one of them writes it."""
        if not (self.is_write or other.is_write) or self.base is not other.base:
            return False
        if self.box is None or other.box is None:
            return False
        pairs = zip(self.box, other.box, strict=True)
        return all(max(a, c) < min(b, d) for (a, b), (c, d) in pairs)

    def hides(self, other: BoxAccess) -> bool:
        """Whether this is a write of all that the other accesses."""
        if not self.is_write or self.box is None or other.box is None:
            return False
        pairs = zip(self.box, other.box, strict=True)
        return all(a <= c and d <= b for (a, b), (c, d) in pairs)


@dataclass(frozen=True)
class Arrive:
    """Threads arrive on a barrier, with an expect-tx of some bytes."""

    op: Operation
    barrier_id: BarrierId
    threads: int
    bytes: int = 0


@dataclass(frozen=True)
class WaitEvent:
    """The threads continue when the phase of a parity has completed."""

    op: Operation
    barrier_id: BarrierId
    parity: int


@dataclass(frozen=True)
class AccessEvent:
    """Memory is accessed, immediately or, with a `group` or a `barrier_id`, some time later."""

    op: Operation
    accesses: tuple[BoxAccess, ...]
    group: str = ""
    barrier_id: BarrierId | None = None
    bytes: int = 0
    expects: bool = False
    """Whether the copy itself issues the expect-tx of its bytes."""


@dataclass(frozen=True)
class Commit:
    """Asynchronous accesses since the last commit become a group."""

    op: Operation
    group: str


@dataclass(frozen=True)
class TensorCommit:
    """One arrival, when everything that the member has issued to the tensor core is complete."""

    op: Operation
    barrier_id: BarrierId


@dataclass(frozen=True)
class WaitGroup:
    """All groups but the last so many are done."""

    op: Operation
    group: str
    left: int


@dataclass(frozen=True)
class NamedBarrierEvent:
    """A named barrier and its thread count; `waits` or only arrives."""

    op: Operation
    id: int
    threads: int
    count: int
    waits: bool = True


Event: TypeAlias = (
    Arrive | WaitEvent | AccessEvent | Commit | TensorCommit | WaitGroup | NamedBarrierEvent
)

TENSOR_CORE = "tensor core"
"""The group of accesses by the tensor core, which works in the order of issue."""


class FaultKind(Enum):
    """What is wrong."""

    DEADLOCK = "deadlock"
    BYTES = "bytes"
    COUNT = "count"
    OUTSIDE = "outside"
    UNORDERED = "unordered"
    OVERRUN = "overrun"


@dataclass(frozen=True)
class SyncFinding:
    """A finding, its op, and the other ops involved."""

    kind: FaultKind
    op: Operation
    message: str
    notes: tuple[tuple[Operation, str], ...] = ()
    help: str = ""
    """The change that orders the events, for the user of `T.ws`."""
