"""Why a search cannot go on, and which decision to go back to.

When a load does not fit, the lower bounds that made it fail are traced back, bound by bound, to the
decisions they rest on, always requiring as little as the contradiction needs::

    "why is b at 12 or higher?"      a, placed below b at level 3, ends at 12 or higher:
                                     level 3 is to blame, and "why is a at 12 - size or higher?"
                                     no placed block is that high, but b was postponed at level 5:
                                     level 5 is to blame, and the same question for all that could
                                     still go below b

The search returns to the latest of these decisions and leaves alone all that happened since in
other corners of the part. A decision whose both sides fail hands the union of its reasons upwards.
A set of levels is a row of 62-bit masks, one bit per level.
"""

from __future__ import annotations

from tilewright.memory.planner.state import (
    ABSENT,
    FIXED,
    LIMIT,
    MARK,
    MASK_BITS,
    UNPLACED,
    WORK,
    State,
    Tables,
    undo,
)


def clear_blame(s: State) -> None:
    """Start a new explanation."""
    for mask in range(len(s.blame)):
        s.blame[mask] = 0
    s.at[WORK] = 0
    s.at[MARK] += 1


def blame_level(s: State, level: int) -> None:
    s.blame[level // MASK_BITS] |= 1 << (level % MASK_BITS)


def require(s: State, block: int, need: int) -> None:
    """Queue "why is this block at `need` or higher?", the strongest bound only."""
    if need <= 0 or s.level[block] == FIXED:
        return
    if s.need_mark[block] == s.at[MARK] and s.need[block] >= need:
        return
    if s.need_mark[block] != s.at[MARK]:
        s.need_mark[block] = s.at[MARK]
        s.is_waiting[block] = 0
    s.need[block] = need
    if not s.is_waiting[block]:
        s.is_waiting[block] = 1
        s.work[s.at[WORK]] = block
        s.at[WORK] += 1


def blame_load(t: Tables, s: State, load: int, start: int) -> None:
    """Members from `start` on do not fit: explain why each of them is as high as that."""
    s.hits[load] += 1
    clear_blame(s)
    first, last = t.member_at[load], t.member_at[load + 1]
    total = spare = 0
    for entry in range(first, last):
        block = s.member[entry]
        if s.level[block] < 0 and s.reach[block] >= start:
            weight = t.rounded[t.rounded_at[load] + block]
            total += weight
            spare = max(spare, weight - t.size[block])
    for entry in range(first, last):
        block = s.member[entry]
        if s.level[block] < 0 and s.reach[block] >= start:
            require(s, block, s.at[LIMIT] + spare - total + 1)


def blame_deadlock(t: Tables, s: State, start: int, stop: int) -> None:
    """Every block waits for another one to be placed below: all postponements are to blame."""
    clear_blame(s)
    for rank in range(start, stop):
        block = t.by_low[rank]
        if s.level[block] == UNPLACED and s.postponed[block] >= 0:
            blame_level(s, s.postponed[block])


def explain(t: Tables, s: State) -> None:
    """Explain all queued bounds: by a placed block that is high enough, or a postponement."""
    while s.at[WORK] > 0:
        s.at[WORK] -= 1
        block = s.work[s.at[WORK]]
        s.is_waiting[block] = 0
        need = last_free(t, block, s.need[block] - 1) + 1
        if need <= s.lowest[block]:
            continue
        support = earliest_support(t, s, block, need)
        if support != ABSENT:
            blame_level(s, s.level[support])
            require(s, support, need - t.size[support])
            continue
        blame_level(s, s.postponed[block])
        for entry in range(t.near_at[block], t.near_at[block + 1]):
            other = t.near[entry]
            if s.level[other] == UNPLACED:
                require(s, other, need - t.size[other])


def earliest_support(t: Tables, s: State, block: int, need: int) -> int:
    """The adjacent block placed first among those below it that end at `need` or higher."""
    size, level, offset, near = t.size, s.level, s.offset, t.near
    before = level[block] if level[block] >= 0 else len(s.frame_block)
    best = ABSENT
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = near[entry]
        when = level[other]
        if 0 <= when < before and offset[other] + size[other] >= need:
            before = when
            best = other
    return best


def last_free(t: Tables, block: int, offset: int) -> int:
    """The highest offset a block can take from `offset` downwards; negative where there is none."""
    align = t.align[block]
    offset = offset // align * align
    entry = t.obstacle_at[block + 1] - 1
    while entry >= t.obstacle_at[block]:
        if t.obstacle_low[entry] < offset < t.obstacle_high[entry]:
            offset = t.obstacle_low[entry] // align * align
        entry -= 1
    return offset


def back_to_culprit(s: State) -> int:
    """Undo up to the latest decision to blame that can still be decided otherwise."""
    masks = len(s.blame)
    while True:
        level = latest_blamed(s)
        if level == ABSENT:
            return ABSENT
        s.blame[level // MASK_BITS] &= ~(1 << (level % MASK_BITS))
        undo(s, level)
        first = level * masks
        if not s.frame_is_postponed[level]:
            for mask in range(masks):
                s.frame_blame[first + mask] = s.blame[mask]
            return level
        for mask in range(masks):
            s.blame[mask] |= s.frame_blame[first + mask]


def latest_blamed(s: State) -> int:
    mask = len(s.blame) - 1
    while mask >= 0 and s.blame[mask] == 0:
        mask -= 1
    if mask < 0:
        return ABSENT
    bit = MASK_BITS - 1
    while not (s.blame[mask] >> bit) & 1:
        bit -= 1
    return mask * MASK_BITS + bit


HELPERS = (
    undo,
    clear_blame,
    blame_level,
    require,
    blame_load,
    blame_deadlock,
    explain,
    earliest_support,
    last_free,
    back_to_culprit,
    latest_blamed,
)
"""The functions called here, for callers that compile it."""
