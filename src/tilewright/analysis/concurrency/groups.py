"""Groups of asynchronous operations that are waited for by counting.

This is the scheme of `cp.async` and `wgmma`: operations are issued, `commit` closes a group, and
`wait n` lasts until at most the n youngest groups are in flight. Groups of one task complete in
order as far as the task can observe: a wait for the second includes the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from tilewright.analysis.concurrency.engine import Operation
from tilewright.analysis.concurrency.tasks import Wait

OperationT = TypeVar("OperationT", bound=Operation)


@dataclass(eq=False)
class Groups(Generic[OperationT]):
    """The groups of one task."""

    open: list[OperationT] = field(default_factory=list[OperationT])
    """Issued since the last commit: no wait covers them."""
    committed: list[list[OperationT]] = field(default_factory=list[list[OperationT]])
    """Oldest first."""

    def issue(self, operation: OperationT) -> None:
        self.open.append(operation)

    def issue_alone(self, operation: OperationT) -> None:
        """Issue an operation as a group of its own."""
        self.issue(operation)
        self.commit()

    def commit(self) -> None:
        """Close a group, which may be empty."""
        self.committed.append(self.open)
        self.open = []

    def older(self, leave: int) -> list[OperationT]:
        """Operations of all groups but the `leave` youngest."""
        count = max(len(self.committed) - leave, 0)
        return [operation for group in self.committed[:count] for operation in group]

    def all(self) -> list[OperationT]:
        """Operations of all groups, then those that no group has yet."""
        return [*self.older(0), *self.open]

    def is_done(self, leave: int) -> bool:
        """Whether at most `leave` groups are in flight."""
        return all(operation.is_done for operation in self.older(leave))

    def wait(self, leave: int, what: str, site: object) -> Wait:
        """Until at most `leave` groups are in flight."""
        return Wait(what, lambda: self.is_done(leave), site=site)

    def forget(self, leave: int) -> list[OperationT]:
        """After a wait: the operations it covers, which are complete from now on."""
        found = self.older(leave)
        count = max(len(self.committed) - leave, 0)
        del self.committed[:count]
        return found
