"""The event protocol: the events of a run, one call each, in the order in which they happen.

An *actor* is a task, or an asynchronous operation while it completes: what a copy writes is written
by the copy, not by the task that issued it. Operations of an `in_order` unit are ordered among each
other; others are ordered after their issuer only.

==============================  ==================================================================
event                           orders
==============================  ==================================================================
``spawn``, ``join``             what the parent did before -> the tasks -> what it does after
``issue`` -> ``complete``       what the issuer did before -> what the operation does
``arrive``/``deliver`` ->       what the actor did before -> the tasks that wait for the phase it
``phase`` -> ``waited``         completes
``waited_group``                the operations -> what the task does after
``named`` -> ``named_waited``   all arrivals of one generation -> the tasks that waited for it
``fence``                       accesses of one proxy -> accesses of another
==============================  ==================================================================

Arguments are positional. Regions are views in executions with data, ranges of bytes in checks
without: the types of regions, barriers and operations are parameters. A site is the index of an op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import isfunction
from typing import Generic, Literal, TypeAlias, TypeVar

from tilewright.analysis.concurrency.engine import Operation
from tilewright.analysis.concurrency.mbarrier import MBarrier
from tilewright.analysis.concurrency.named_barrier import NamedBarrier
from tilewright.analysis.concurrency.tasks import Task

AccessKind: TypeAlias = Literal["read", "write"]
Proxy: TypeAlias = Literal["generic", "async", "tensor"]
"""The path of an access to memory: by threads, by TMA and the shared-memory side of tensor cores,
by the tensor-memory side of tensor cores and its loads and stores."""
GroupKind: TypeAlias = Literal["cp.async", "TMA store", "wgmma", "tensor copy"]
"""What is waited for by counting: cp.async groups, TMA stores, wgmma, AMD's tensor copies."""

RegionT = TypeVar("RegionT", contravariant=True)
BarrierT = TypeVar("BarrierT", bound=MBarrier, contravariant=True)
OperationT = TypeVar("OperationT", bound=Operation, contravariant=True)


class SyncEvents(Generic[RegionT, BarrierT, OperationT]):
    """Receives every event; does nothing."""

    # -- tasks -------------------------------------------------------------------------------

    def spawn(self, task: Task, parent: Task | None, /) -> None:
        """A task starts; a CTA's first one has no parent."""

    def join(self, task: Task, others: Sequence[Task], /) -> None:
        """`task` goes on after `others` have ended."""

    # -- memory ------------------------------------------------------------------------------

    def access(
        self,
        actor: Task | OperationT,
        kind: AccessKind,
        region: RegionT,
        proxy: Proxy,
        site: int,
        /,
    ) -> None:
        """Bytes are read or written."""

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, actor: Task | OperationT, barrier: BarrierT, site: int, /) -> None:
        """A barrier is made."""

    def invalidate(self, actor: Task | OperationT, barrier: BarrierT, site: int, /) -> None:
        """A barrier ends."""

    def arrive(self, actor: Task | OperationT, barrier: BarrierT, count: int, site: int, /) -> None:
        """`count` arrivals, just before they count."""

    def expect(
        self,
        actor: Task | OperationT,
        barrier: BarrierT,
        size_bytes: int,
        site: int,
        /,
    ) -> None:
        """An expect-tx, just before the arrival that belongs to it."""

    def deliver(
        self, operation: OperationT, barrier: BarrierT, size_bytes: int, site: int, /
    ) -> None:
        """An operation has delivered bytes, just before they count."""

    def phase(self, barrier: BarrierT, phase: int, /) -> None:
        """Phase number `phase` (from 0) is complete, by the last arrival or delivery."""

    def waiting(self, task: Task, barrier: BarrierT, parity: int, site: int, /) -> None:
        """A task comes to a wait."""

    def waited(self, task: Task, barrier: BarrierT, parity: int, site: int, /) -> None:
        """It goes on; `barrier.phase` phases are complete."""

    # -- asynchronous operations -------------------------------------------------------------

    def issue(self, operation: OperationT, /) -> None:
        """An operation is in flight."""

    def complete(self, operation: OperationT, /) -> None:
        """It is done; what it did came right before, with the operation as actor."""

    def commit(self, task: Task, kind: GroupKind, site: int, /) -> None:
        """Operations issued since the last time are a group."""

    def waited_group(
        self, task: Task, kind: GroupKind, operations: Sequence[OperationT], site: int, /
    ) -> None:
        """From here on `task` is ordered after the operations."""

    # -- barriers of threads, fences ---------------------------------------------------------

    def named(self, task: Task, barrier: NamedBarrier, generation: int, site: int, /) -> None:
        """Threads come to a named, or the cluster's, barrier; it opens as `generation`."""

    def named_waited(
        self, task: Task, barrier: NamedBarrier, generation: int, site: int, /
    ) -> None:
        """They go on."""

    def fence(self, task: Task, kind: str, site: int, /) -> None:
        """A fence: `async_shared`, `gpu`, `sys` or `mbarrier_init`."""


EVENTS = tuple(name for name, value in vars(SyncEvents).items() if isfunction(value))
"""The names of all events."""


class Relay(SyncEvents[RegionT, BarrierT, OperationT]):
    """Passes every event on to those of its receivers that handle it, in order."""

    def __init__(self, *receivers: SyncEvents[RegionT, BarrierT, OperationT]) -> None:
        for name in EVENTS:
            ignored = getattr(SyncEvents, name)
            handlers = [getattr(receiver, name) for receiver in receivers]
            handlers = [each for each in handlers if getattr(each, "__func__", None) is not ignored]
            if handlers:
                setattr(self, name, handlers[0] if len(handlers) == 1 else _each(handlers))


def _each(handlers: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def handle(*arguments: object) -> None:
        for handler in handlers:
            handler(*arguments)

    return handle
