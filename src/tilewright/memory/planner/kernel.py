"""The inner loop of the exact search: place or postpone, and jump back over innocent decisions.

The question is whether a part fits below a limit. Every solution is found by deciding, for one
block after another, between two statements that exclude each other:

    place b       all adjacent blocks not placed yet are above b: b rests on the highest one below
    postpone b    at least one of them is below b: b is no candidate until one is placed

The candidate is always the block with the lowest possible offset. So far this is a plain search
over canonical placements; two things make it quick. *Loads*: their members exclude each other, so
scheduling them sequentially by `reach`, the lowest offset each can still get, gives a top that
no arrangement can get below. *Blame*: a failure names the decisions it rests on (`blame`).

Once the blocks that are left have no instant in common, they are searched one group at a time.

Everything is flat sequences of integers and plain loops. The same functions run as they are, on
lists, and compiled, on arrays (`accelerate`); both ways visit the same nodes in the same order.
"""

from __future__ import annotations

from tilewright.memory.planner import blame
from tilewright.memory.planner.blame import (
    back_to_culprit,
    blame_deadlock,
    blame_level,
    blame_load,
    clear_blame,
    explain,
    require,
)
from tilewright.memory.planner.state import (
    ABSENT,
    AFFECTED,
    LEVELS,
    LIMIT,
    NODES,
    OPEN,
    STAMP,
    UNPLACED,
    State,
    Tables,
    open_frame,
    place_block,
    push_group,
    remember,
)

GOING, FOUND, NONE, DEEP = range(4)
"""How a run ended: out of nodes, with a plan, with proof that there is none, out of levels."""


def run(t: Tables, s: State, nodes: int) -> int:
    """Search until there is a result, at most `nodes` decisions further."""
    if s.at[NODES] == 0 and not fits_at_first(t, s):
        return NONE
    stop = s.at[NODES] + nodes
    while s.at[NODES] < stop:
        status = step(t, s)
        if status != GOING:
            return status
    return GOING


def fits_at_first(t: Tables, s: State) -> bool:
    """Whether anything is possible before the first decision."""
    for block in t.by_low:
        if not reach_fits(t, s, block):
            return False
    load = 0
    while load < len(t.rounded_at) and load_fits(t, s, load):
        load += 1
    return load == len(t.rounded_at)


def step(t: Tables, s: State) -> int:
    """One decision and all that follows from it."""
    group = s.at[OPEN]
    if group == ABSENT:
        return FOUND
    s.at[NODES] += 1
    if s.at[LEVELS] >= len(s.frame_block):
        return DEEP
    block = candidate(t, s, s.agenda_start[group], s.agenda_stop[group])
    if block == ABSENT:
        blame_deadlock(t, s, s.agenda_start[group], s.agenda_stop[group])
        holds = False
    else:
        open_frame(s, block, group)
        holds = place_and_propagate(t, s, block)
    while not holds:
        explain(t, s)
        level = back_to_culprit(s)
        if level == ABSENT:
            return NONE
        holds = postpone(t, s, level)
    return GOING


def candidate(t: Tables, s: State, start: int, stop: int) -> int:
    """The block of a group with the lowest offset, and the first of those by rank."""
    by_low, twin, rank = t.by_low, t.twin, t.rank
    floor, level, postponed = s.floor, s.level, s.postponed
    best = ABSENT
    for entry in range(start, stop):
        block = by_low[entry]
        if level[block] != UNPLACED or postponed[block] >= 0:
            continue
        if best != ABSENT and floor[block] > floor[best]:
            continue
        if best != ABSENT and floor[block] == floor[best] and rank[block] > rank[best]:
            continue
        # Two equal blocks are placed in the order of their indices.
        if twin[block] == ABSENT or level[twin[block]] != UNPLACED:
            best = block
    return best


def place_and_propagate(t: Tables, s: State, block: int) -> bool:
    """Place a block, lift its adjacent blocks, check the affected loads, split what is left."""
    frame = s.at[LEVELS] - 1
    place_block(s, block, frame)
    top = s.offset[block] + t.size[block]
    s.at[STAMP] += 1
    s.at[AFFECTED] = 0
    level, floor, postponed = s.level, s.floor, s.postponed
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = t.near[entry]
        if level[other] != UNPLACED or (floor[other] >= top and postponed[other] < 0):
            continue
        if not lift(t, s, other, top):
            return False
    for entry in range(s.at[AFFECTED]):
        if not load_fits(t, s, s.affected[entry]):
            return False
    return split(t, s, frame)


def lift(t: Tables, s: State, block: int, top: int) -> bool:
    """An adjacent block ends at `top`: this one starts there or higher and is a candidate again."""
    remember(s, block)
    if top > s.floor[block]:
        s.floor[block] = next_free(t, block, top)
    s.postponed[block] = UNPLACED
    s.reach[block] = s.floor[block]
    mark_loads(t, s, block)
    return reach_fits(t, s, block)


def mark_loads(t: Tables, s: State, block: int) -> None:
    """List the loads of a block as worth a check."""
    stamp = s.at[STAMP]
    for entry in range(t.load_at[block], t.load_at[block + 1]):
        load = t.load[entry]
        if s.affected_mark[load] != stamp:
            s.affected_mark[load] = stamp
            s.affected[s.at[AFFECTED]] = load
            s.at[AFFECTED] += 1


def reach_fits(t: Tables, s: State, block: int) -> bool:
    """Whether a block alone still fits below the limit; blame it otherwise."""
    if s.reach[block] + t.size[block] <= s.at[LIMIT]:
        return True
    clear_blame(s)
    require(s, block, s.at[LIMIT] - t.size[block] + 1)
    return False


def load_fits(t: Tables, s: State, load: int) -> bool:
    """Whether the members left fit one upon the other; blame those that do not otherwise."""
    first, last = t.member_at[load], t.member_at[load + 1]
    member, reach, level, rounded = s.member, s.reach, s.level, t.rounded
    table = t.rounded_at[load]
    # The order is preserved from check to check, so there is little left to sort.
    for entry in range(first + 1, last):
        block = member[entry]
        key = reach[block]
        hole = entry
        while hole > first and reach[member[hole - 1]] > key:
            member[hole] = member[hole - 1]
            hole -= 1
        member[hole] = block
    limit, size = s.at[LIMIT], t.size
    top = start = spare = 0
    for entry in range(first, last):
        block = member[entry]
        if level[block] >= 0:
            continue
        if reach[block] > top:
            top = start = reach[block]
            spare = 0
        weight = rounded[table + block]
        top += weight
        # Whichever of them is the topmost need not be rounded up.
        if weight - size[block] > spare:
            spare = weight - size[block]
        if top - spare > limit:
            blame_load(t, s, load, start)
            return False
    return True


def postpone(t: Tables, s: State, frame: int) -> bool:
    """The other side: some adjacent block is below it, so it starts on top of one."""
    s.at[NODES] += 1
    s.frame_is_postponed[frame] = 1
    block = s.frame_block[frame]
    lowest = ABSENT
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = t.near[entry]
        top = s.reach[other] + t.size[other]
        if s.level[other] == UNPLACED and (lowest == ABSENT or top < lowest):
            lowest = top
    if lowest == ABSENT:
        clear_blame(s)
        blame_level(s, frame)
        return False
    remember(s, block)
    s.postponed[block] = frame
    s.reach[block] = max(s.reach[block], next_free(t, block, lowest))
    push_group(s, s.frame_start[frame], s.frame_stop[frame], s.frame_next[frame])
    if not reach_fits(t, s, block):
        return False
    for entry in range(t.load_at[block], t.load_at[block + 1]):
        if not load_fits(t, s, t.load[entry]):
            return False
    return True


def split(t: Tables, s: State, frame: int) -> bool:
    """Open the groups that are left, cut where no hull reaches over; place single blocks."""
    s.at[OPEN] = s.frame_next[frame]
    start = stop = s.frame_start[frame]
    count = reach = 0
    alone = ABSENT
    while stop < s.frame_stop[frame]:
        block = t.by_low[stop]
        if s.level[block] == UNPLACED:
            if count and t.low[block] >= reach:
                close_group(s, start, stop, count, alone, frame)
                start, count = stop, 0
            reach = max(reach, t.high[block]) if count else t.high[block]
            alone = block
            count += 1
        stop += 1
    close_group(s, start, stop, count, alone, frame)
    return True


def close_group(s: State, start: int, stop: int, count: int, alone: int, frame: int) -> None:
    if count == 1:
        place_block(s, alone, frame)
    elif count > 1:
        push_group(s, start, stop, s.at[OPEN])


def next_free(t: Tables, block: int, offset: int) -> int:
    """The lowest offset a block can take from `offset` upwards."""
    align = t.align[block]
    offset = -(-offset // align) * align
    for entry in range(t.obstacle_at[block], t.obstacle_at[block + 1]):
        if t.obstacle_low[entry] < offset < t.obstacle_high[entry]:
            offset = -(-t.obstacle_high[entry] // align) * align
    return offset


HELPERS = (
    open_frame,
    push_group,
    remember,
    place_block,
    *blame.HELPERS,
    fits_at_first,
    step,
    candidate,
    place_and_propagate,
    lift,
    mark_loads,
    reach_fits,
    load_fits,
    postpone,
    split,
    close_group,
    next_free,
)
"""All that `run` calls, for callers that compile it."""
