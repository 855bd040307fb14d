"""Convergent groups of threads, and how they diverge where some threads block the others.

All threads of a block run in lockstep: that is fast, and it is right as long as no thread waits in
a branch that other threads do not take. Those are blocked then, although they may be the ones that
would end the wait; on a GPU every warp makes progress independently. So on a deadlock, the warps
that wait in a branch become a convergent group of their own, and the block is run again from its
beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def one_group(threads: int) -> list[Any]:
    """All threads of a block as one convergent group."""
    return [np.arange(threads)]


def divided(groups: Sequence[Any], waiting: Iterable[Any], unit: int) -> list[Any] | None:
    """The groups with the waiting threads split off; None if that changes nothing.

    `waiting` are the threads of each wait that blocks other threads, too; `unit` is how many
    threads cannot diverge: those of a warp, or of a warp group.
    """
    found = list(groups)
    for threads in waiting:
        parts: list[Any] = []
        for group in found:
            is_here = np.isin(group // unit, threads // unit)
            parts.extend(each for each in (group[~is_here], group[is_here]) if len(each))
        found = parts
    return found if len(found) > len(groups) else None


def name_of_group(group: Any, groups: Sequence[Any], whole: str) -> str:
    """The name of a group in reports; `whole` if it is all of the block."""
    return whole if len(groups) == 1 else f"threads {int(group[0])} to {int(group[-1])}"
