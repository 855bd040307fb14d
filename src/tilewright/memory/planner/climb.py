"""Better quick plans: the order of a good one, changed a little, again and again.

A greedy plan is decided by its order. The blocks that reach the top came too late, so one of them
moves to the position of an earlier adjacent block; a change that does not raise the plan stays.
Going sideways is allowed, or the climb would end on the first flat stretch. Random values are the
same every time, so the same number of trials always leads to the same plan.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from tilewright.memory.planner.decompose import SubProblem
from tilewright.memory.planner.greedy import Quick, assign_in_order, order_by

_SEED = 1999
_BLOCKS_A_NODE = 32
_SHARE_OF_ADJACENT = 0.5


class Climb:
    """One climb over the orders of a part, from the order by offset of a plan."""

    def __init__(self, part: SubProblem, start: Quick) -> None:
        self.best = start
        self._part = part
        self._rng = random.Random(_SEED)
        rank = {index: position for position, index in enumerate(order_by(part, "size"))}
        self._order = sorted(part.movable, key=lambda n: (start.offsets[n], rank[n]))
        self._offsets: Sequence[int] = start.offsets
        self._height = start.height

    @property
    def nodes_a_trial(self) -> int:
        """What one trial costs, in decisions of the exact search."""
        return 1 + len(self._order) // _BLOCKS_A_NODE

    def trial(self) -> None:
        """Try one other order."""
        order = self._changed()
        offsets = assign_in_order(self._part, order)
        height = self._part.height(offsets)
        if height > self._height:
            return
        self._order, self._offsets, self._height = order, offsets, height
        if height < self.best.height:
            self.best = Quick(tuple(offsets), height, "hill climb over orders")

    def _changed(self) -> list[int]:
        """The order with a block from the top, or one in its way, moved to an earlier place."""
        part, order = self._part, [*self._order]
        top = [n for n in order if self._offsets[n] + part.blocks[n].size == self._height]
        late = self._rng.choice(top or order)
        if self._rng.random() < _SHARE_OF_ADJACENT:
            movable = [n for n in part.adjacent[late] if part.blocks[n].fixed is None]
            late = self._rng.choice(movable or [late])
        position = order.index(late)
        order.insert(self._rng.randrange(position + 1), order.pop(position))
        return order
