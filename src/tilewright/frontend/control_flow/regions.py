"""``with``: a context of Python's, or a region that decides itself how its body is traced.

The rewritten function iterates over one of these. `state` is what the variables that the body
assigns hold at the beginning of an iteration, and after the statement in the end; `leave` gets
what they hold at the end of an iteration; `context` is what Python enters around the body.

    PlainWith    any context manager: the body is executed once, and its variables stay
    RegionWith   a `TracedRegion`: as many times as it yields, each time from the same
                 variables, and none of them is visible after it
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from tilewright.frontend.merging import State

if TYPE_CHECKING:
    from tilewright.frontend.control_flow.control import Control


class TracedRegion(ABC):
    """What a ``with`` of a kernel may stand for besides Python's contexts."""

    @abstractmethod
    def traces(self, control: Control, before: Mapping[str, Any]) -> Iterator[object]:
        """Yield what ``as`` names once for every time that the body is to be traced.

        `before` is what the variables that the body assigns hold before the statement. Between two
        traces the builder may be moved; when the iterator ends it is after the region.
        """


class With(Protocol):
    """A ``with`` while it is executed."""

    state: State

    def __iter__(self) -> Iterator[None]: ...

    def context(self) -> AbstractContextManager[Any]: ...

    def leave(self, state: State) -> None: ...


class PlainWith:
    """A context manager of Python's."""

    __slots__ = ("_manager", "state")

    def __init__(self, manager: AbstractContextManager[Any], state: State) -> None:
        self._manager = manager
        self.state = state

    def __iter__(self) -> Iterator[None]:
        return iter((None,))

    def context(self) -> AbstractContextManager[Any]:
        return self._manager

    def leave(self, state: State) -> None:
        self.state = state


class RegionWith:
    """A region: what its body assigns ends with it."""

    def __init__(
        self, control: Control, region: TracedRegion, names: tuple[str, ...], state: State
    ) -> None:
        self._control = control
        self._region = region
        self._before = dict(zip(names, state, strict=True))
        self._entered: object = None
        self.state = state

    def __iter__(self) -> Iterator[None]:
        control = self._control
        definitions, assignments = control.definitions, control.assignments
        for entered in self._region.traces(control, self._before):
            self._entered = entered
            control.definitions, control.assignments = dict(definitions), dict(assignments)
            yield None
        control.definitions, control.assignments = definitions, assignments

    def context(self) -> AbstractContextManager[Any]:
        return nullcontext(self._entered)

    def leave(self, state: State) -> None:
        """What the body left is not seen by anyone."""
