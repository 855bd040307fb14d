"""Asynchronous engines: operations that were issued and are not done yet.

An engine that works *in order* (a tensor core, a store queue) finishes its oldest operation first;
others (copy engines) finish in any order, each operation at any time after it was issued. What an
operation does happens in one go when it finishes: nothing it writes can be relied on before, and
nothing it reads may change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Operation:
    """Something under way."""

    what: str
    """For people: `copy A -> A_shared`."""
    finish: Callable[[], None]
    place: object = None
    """Where it was issued."""
    task: str = ""
    """Who issued it."""
    is_done: bool = False

    def complete(self) -> None:
        """Do what it does; once."""
        if self.is_done:
            return
        self.is_done = True
        self.finish()


@dataclass(eq=False)
class Engine:
    """A unit that works by itself."""

    name: str
    in_order: bool = False
    pending: list[Operation] = field(default_factory=list[Operation])

    def issue(self, operation: Operation) -> None:
        self.pending.append(operation)

    def candidates(self) -> list[Operation]:
        """What may finish next."""
        self.pending = [each for each in self.pending if not each.is_done]
        return self.pending[:1] if self.in_order else list(self.pending)

    def drain(self) -> None:
        """Finish everything, oldest first."""
        for operation in self.pending:
            operation.complete()
        self.pending.clear()
