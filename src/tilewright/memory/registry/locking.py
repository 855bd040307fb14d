"""One lock for all groups and registries, so that threads see a change whole or not at all.

Without it a layout that one thread works out from old entries could be published after another has
changed them, and stay. A change affects the groups of a parent and its children together, so locks
of their own would have to be taken in an order; one lock has none. It belongs to the module rather
than to the objects, which stay copyable.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import ParamSpec, TypeVar

_LOCK = RLock()

P = ParamSpec("P")
R = TypeVar("R")


def locked(method: Callable[P, R]) -> Callable[P, R]:
    """`method`, by one thread at a time. It may call others that are locked."""

    @wraps(method)
    def alone(*args: P.args, **kwargs: P.kwargs) -> R:
        with _LOCK:
            return method(*args, **kwargs)

    return alone
