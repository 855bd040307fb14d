"""Do the barriers of a kernel order what they have to order?

``all_concurrent_roles`` finds the roles that run concurrently, ``trace`` records what each of them
does for given trip counts, and ``order`` derives happens-before from the barriers alone: which role
may wait forever, which accesses may race, whether expected bytes arrive.

    for roles in all_concurrent_roles(kernel):
        for trip_counts, members in traces(roles, roles.trip_counts()):
            check(members)      ->  a SyncFinding, or None

The result does not depend on a schedule: a wait guarantees only what follows from the order of
events, never what happened to be done already. It holds for the trip counts that were tried, 0 to
twice the number of slots and one more, after which slots and parities repeat.
"""

from tilewright.analysis.barriers.concurrent_roles import (
    ConcurrentRoles,
    LaunchedBlock,
    TripCounts,
    all_concurrent_roles,
)
from tilewright.analysis.barriers.events import FaultKind, SyncFinding
from tilewright.analysis.barriers.order import check
from tilewright.analysis.barriers.trace import NotAnalysed, Trace, traces

__all__ = [
    "ConcurrentRoles",
    "FaultKind",
    "LaunchedBlock",
    "NotAnalysed",
    "SyncFinding",
    "Trace",
    "TripCounts",
    "all_concurrent_roles",
    "check",
    "traces",
]
