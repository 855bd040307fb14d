"""The parity rule: what a wait on an mbarrier guarantees, whatever the schedule.

A wait with parity p returns when the phase of that parity has completed. Which phase that is
depends on how far the barrier has advanced, so a run in which a wait saw a later phase than it had
to proves nothing. With k phases that the waiting agent has observed to be complete, it guarantees

    k        if p passes with k complete phases: it may return at once, and observes nothing new
    k + 1    otherwise

complete phases, and no more (docs/design/concurrency.md#parity-rule).
"""

from __future__ import annotations


def passes(completed: int, parity: int) -> bool:
    """Whether a wait returns when so many phases have completed: the current one has the other
    parity."""
    return (completed & 1) != (parity & 1)


def guaranteed_phases(observed: int, parity: int) -> int:
    """How many phases are complete for certain after a wait whose agent had observed `observed`."""
    return observed if passes(observed, parity) else observed + 1
