"""The cost of converting a tensor from one register layout to another.

============  =======================================================================
``NOTHING``   every thread already holds what it needs: registers change their names
``LANES``     elements cross lanes of a warp: shuffles
``WARPS``     elements cross warps: through shared memory, with barriers
``BLOCKS``    elements cross CTAs: through distributed shared memory
============  =======================================================================

Copies count: of several copies of an element the closest one is taken. Over bits this is a question
about spans. A thread (lane, warp) needs the points ``target(register, lane, warp)`` and has
``source(any register, lane, warp)``. That is enough for all threads exactly when every register
basis of `target`, and the sum of both layouts' bases for every bit of lane and warp, is a sum of
register bases of `source`; likewise for whole warps and whole CTAs.
"""

from __future__ import annotations

from enum import IntEnum

from tilewright.layouts.bits import Echelon
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.linear import BLOCK, LANE, REGISTER, WARP, LinearLayout
from tilewright.layouts.vectors import WARP_LANES

_LEVELS = (REGISTER, LANE, WARP, BLOCK)


class Crossing(IntEnum):
    """The widest boundary that some element has to cross."""

    NOTHING = 0
    LANES = 1
    WARPS = 2
    BLOCKS = 3

    @property
    def needs_shared_memory(self) -> bool:
        return self >= Crossing.WARPS


def crossing(source: LinearLayout, target: LinearLayout) -> Crossing:
    """How far elements travel from the one layout to the other."""
    if dict(source.out_dims) != dict(target.out_dims):
        raise ValueError(f"{source.out_dims} and {target.out_dims} are different tensors")
    for name in (LANE, WARP, BLOCK):
        if source.in_size(name) != target.in_size(name):
            sizes = f"{source.in_size(name)} and {target.in_size(name)}"
            raise ValueError(f"the layouts are for different threads: {name} counts to {sizes}")
    goal = target.reordered(outs=source.out_names)
    return next(level for level in Crossing if _stays_within(source, goal, level))


def _stays_within(source: LinearLayout, target: LinearLayout, level: Crossing) -> bool:
    """Whether each group of threads of this level already holds what it needs together."""
    if level == Crossing.BLOCKS:
        return True
    inside, outside = _LEVELS[: level + 1], _LEVELS[level + 1 :]
    reach = Echelon.of(source.columns(inside))
    needed = list(target.columns(inside))
    for name in outside:
        both = zip(source.columns([name]), target.columns([name]), strict=True)
        needed += [a ^ b for a, b in both]
    return all(reach.preimage(column) is not None for column in needed)


def fragment_crossing(source: Fragment, target: Fragment, warp_size: int = WARP_LANES) -> Crossing:
    """The same for fragments of any size, element by element."""
    if source.shape != target.shape:
        raise ValueError(f"{list(source.shape)} and {list(target.shape)} are different tiles")
    worst = Crossing.NOTHING
    for own, needed in zip(source.threads, target.threads, strict=True):
        held = set(own)
        warps = {thread // warp_size for thread in held}
        for thread in needed:
            if thread in held:
                continue
            found = Crossing.LANES if thread // warp_size in warps else Crossing.WARPS
            worst = max(worst, found)
    return worst
