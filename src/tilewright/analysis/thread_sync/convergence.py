"""Threads that run in step, and how they part where some of them hold up the others.

All threads of a block run in step: that is quick, and it is right as long as nobody waits in a
branch that others do not take. Those others are held up then, though they may be who would end the
wait; on a GPU every warp goes on by itself. So where everything stands still, the warps that wait
in a branch become a team of their own, and the block is run again from its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np


def one_team(threads: int) -> list[Any]:
    """All threads of a block in step."""
    return [np.arange(threads)]


def divided(teams: Sequence[Any], waiting: Iterable[Any], unit: int) -> list[Any] | None:
    """The teams with those apart that wait; None if that changes nothing.

    `waiting` are the threads of each wait that does not hold up them alone; `unit` is how many
    threads cannot part: those of a warp, or of a warp group.
    """
    found = list(teams)
    for threads in waiting:
        parts: list[Any] = []
        for team in found:
            is_here = np.isin(team // unit, threads // unit)
            parts.extend(each for each in (team[~is_here], team[is_here]) if len(each))
        found = parts
    return found if len(found) > len(teams) else None


def name_of_team(team: Any, teams: Sequence[Any], whole: str) -> str:
    """What a team is called in reports; `whole` if it is all of the block."""
    return whole if len(teams) == 1 else f"threads {int(team[0])} to {int(team[-1])}"
