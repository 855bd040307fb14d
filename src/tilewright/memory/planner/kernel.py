"""The inner loop of the exact search: place or postpone, and jump back over innocent decisions.

The question is whether a part fits below a limit. Every solution is found by deciding, for one
block after another, between two statements that exclude each other:

    place b       all neighbours not placed yet lie above b: b rests on the highest one below it
    postpone b    at least one of them lies below b: b is no candidate until one is placed

The candidate is always the block with the lowest possible offset. So far this is a plain search
over canonical placements; two things make it quick.

*Loads.* Members of a load exclude each other. With `reach` as the lowest offset a member can still
get, scheduling them one after another by `reach` gives a top that no arrangement can get below.

*Blame.* When a load does not fit, the lower bounds that made it fail are traced back, bound by
bound, to the decisions they rest on, always asking for as little as the contradiction needs. The
search returns to the latest of these decisions and leaves alone all that happened since in other
corners of the part. A decision whose both sides fail hands the union of its reasons upwards.

Once the blocks that are left have no instant in common, they are searched one group at a time.

Everything is flat sequences of integers and plain loops. The same functions run as they are, on
lists, and compiled, on arrays (`accelerate`); both ways visit the same nodes in the same order.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

GOING, FOUND, NONE, DEEP = range(4)
"""How a run ended: out of nodes, with a plan, with proof that there is none, out of levels."""

LIMIT, LEVELS, TRAIL, DONE, AGENDA, OPEN, STAMP, WORK, NODES, TOUCHED, MARK = range(11)
"""Where the search stands: places in `State.at`."""

UNPLACED = -1
FIXED = -2
NOBODY = -1
WORD = 62
"""Bits of a word of a set of levels."""

Ints = Sequence[int]
Cells = MutableSequence[int]


class Tables(NamedTuple):
    """A part, as it is. ``x_at[n] .. x_at[n + 1]`` is where the entries of `n` lie in `x`."""

    size: Ints
    align: Ints
    twin: Ints
    rank: Cells
    low: Ints
    high: Ints
    by_low: Ints
    near_at: Ints
    near: Ints
    obstacle_at: Ints
    obstacle_low: Ints
    obstacle_high: Ints
    load_at: Ints
    load: Ints
    member_at: Ints
    rounded_at: Ints
    rounded: Ints


class State(NamedTuple):
    """Where the search stands. Everything it changes is in here."""

    at: Cells
    floor: Cells
    reach: Cells
    postponed: Cells
    level: Cells
    offset: Cells
    member: Cells
    hits: Cells
    trail_block: Cells
    trail_floor: Cells
    trail_reach: Cells
    trail_postponed: Cells
    done: Cells
    frame_block: Cells
    frame_is_postponed: Cells
    frame_trail: Cells
    frame_done: Cells
    frame_agenda: Cells
    frame_next: Cells
    frame_start: Cells
    frame_stop: Cells
    frame_blame: Cells
    agenda_start: Cells
    agenda_stop: Cells
    agenda_next: Cells
    blame: Cells
    work: Cells
    need: Cells
    need_mark: Cells
    is_waiting: Cells
    touched: Cells
    touched_mark: Cells


def run(t: Tables, s: State, nodes: int) -> int:
    """Search until there is an answer, at most `nodes` decisions further."""
    stop = s.at[NODES] + nodes
    while s.at[NODES] < stop:
        status = step(t, s)
        if status != GOING:
            return status
    return GOING


def step(t: Tables, s: State) -> int:
    """One decision and all that follows from it."""
    group = s.at[OPEN]
    if group == NOBODY:
        return FOUND
    s.at[NODES] += 1
    if s.at[LEVELS] >= len(s.frame_block):
        return DEEP
    block = candidate(t, s, s.agenda_start[group], s.agenda_stop[group])
    if block == NOBODY:
        blame_standstill(t, s, s.agenda_start[group], s.agenda_stop[group])
        holds = False
    else:
        open_frame(s, block, group)
        holds = place(t, s, block)
    while not holds:
        explain(t, s)
        level = back_to_culprit(s)
        if level == NOBODY:
            return NONE
        holds = postpone(t, s, level)
    return GOING


def candidate(t: Tables, s: State, start: int, stop: int) -> int:
    """The block of a group with the lowest offset, and the first of those by rank."""
    by_low, twin, rank = t.by_low, t.twin, t.rank
    floor, level, postponed = s.floor, s.level, s.postponed
    best = NOBODY
    for place_in_line in range(start, stop):
        block = by_low[place_in_line]
        if level[block] != UNPLACED or postponed[block] >= 0:
            continue
        if best != NOBODY and floor[block] > floor[best]:
            continue
        if best != NOBODY and floor[block] == floor[best] and rank[block] > rank[best]:
            continue
        # Two equal blocks are placed in the order of their numbers.
        if twin[block] == NOBODY or level[twin[block]] != UNPLACED:
            best = block
    return best


def open_frame(s: State, block: int, group: int) -> None:
    """Remember everything that undoing the decision about `block` needs."""
    at = s.at
    frame = at[LEVELS]
    s.frame_block[frame] = block
    s.frame_is_postponed[frame] = 0
    s.frame_trail[frame] = at[TRAIL]
    s.frame_done[frame] = at[DONE]
    s.frame_agenda[frame] = at[AGENDA]
    s.frame_next[frame] = s.agenda_next[group]
    s.frame_start[frame] = s.agenda_start[group]
    s.frame_stop[frame] = s.agenda_stop[group]
    at[LEVELS] = frame + 1


def settle(s: State, block: int, frame: int) -> None:
    """Put a block where its floor is."""
    s.offset[block] = s.floor[block]
    s.level[block] = frame
    s.done[s.at[DONE]] = block
    s.at[DONE] += 1


def place(t: Tables, s: State, block: int) -> bool:
    """Place a block, lift its neighbours, check what that touched, split what is left."""
    frame = s.at[LEVELS] - 1
    settle(s, block, frame)
    top = s.offset[block] + t.size[block]
    s.at[STAMP] += 1
    s.at[TOUCHED] = 0
    level, floor, postponed = s.level, s.floor, s.postponed
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = t.near[entry]
        if level[other] != UNPLACED or (floor[other] >= top and postponed[other] < 0):
            continue
        if not lift(t, s, other, top):
            return False
    for entry in range(s.at[TOUCHED]):
        if not load_fits(t, s, s.touched[entry]):
            return False
    return split(t, s, frame)


def lift(t: Tables, s: State, block: int, top: int) -> bool:
    """A neighbour ended at `top`: the block starts there or higher, and is a candidate again."""
    remember(s, block)
    if top > s.floor[block]:
        s.floor[block] = next_free(t, block, top)
    s.postponed[block] = UNPLACED
    s.reach[block] = s.floor[block]
    touch(t, s, block)
    return reach_fits(t, s, block)


def remember(s: State, block: int) -> None:
    """Write a block's bounds to the trail."""
    entry = s.at[TRAIL]
    s.trail_block[entry] = block
    s.trail_floor[entry] = s.floor[block]
    s.trail_reach[entry] = s.reach[block]
    s.trail_postponed[entry] = s.postponed[block]
    s.at[TRAIL] = entry + 1


def touch(t: Tables, s: State, block: int) -> None:
    """List the loads of a block as worth a check."""
    stamp = s.at[STAMP]
    for entry in range(t.load_at[block], t.load_at[block + 1]):
        load = t.load[entry]
        if s.touched_mark[load] != stamp:
            s.touched_mark[load] = stamp
            s.touched[s.at[TOUCHED]] = load
            s.at[TOUCHED] += 1


def reach_fits(t: Tables, s: State, block: int) -> bool:
    """Whether a block alone still fits below the limit; blame it otherwise."""
    if s.reach[block] + t.size[block] <= s.at[LIMIT]:
        return True
    clear_blame(s)
    ask(s, block, s.at[LIMIT] - t.size[block] + 1)
    return False


def load_fits(t: Tables, s: State, load: int) -> bool:
    """Whether the members left fit one upon the other; blame those that do not otherwise."""
    first, last = t.member_at[load], t.member_at[load + 1]
    member, reach, level, rounded = s.member, s.reach, s.level, t.rounded
    table = t.rounded_at[load]
    # The order is kept from check to check, so there is little left to sort.
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


def blame_load(t: Tables, s: State, load: int, start: int) -> None:
    """Members from `start` on do not fit: ask why each of them is as high as that."""
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
            ask(s, block, s.at[LIMIT] + spare - total + 1)


def blame_standstill(t: Tables, s: State, start: int, stop: int) -> None:
    """Everybody waits for somebody else to be placed below: all postponements are to blame."""
    clear_blame(s)
    for place_in_line in range(start, stop):
        block = t.by_low[place_in_line]
        if s.level[block] == UNPLACED and s.postponed[block] >= 0:
            blame_level(s, s.postponed[block])


def clear_blame(s: State) -> None:
    """Start a new explanation."""
    for word in range(len(s.blame)):
        s.blame[word] = 0
    s.at[WORK] = 0
    s.at[MARK] += 1


def blame_level(s: State, level: int) -> None:
    s.blame[level // WORD] |= 1 << (level % WORD)


def ask(s: State, block: int, need: int) -> None:
    """Put "why is this block at `need` or higher?" on the list, the strongest question only."""
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


def explain(t: Tables, s: State) -> None:
    """Answer all questions: by a placed neighbour that is high enough, or by a postponement."""
    while s.at[WORK] > 0:
        s.at[WORK] -= 1
        block = s.work[s.at[WORK]]
        s.is_waiting[block] = 0
        need = last_free(t, block, s.need[block] - 1) + 1
        if need <= 0:
            continue
        support = earliest_support(t, s, block, need)
        if support != NOBODY:
            blame_level(s, s.level[support])
            ask(s, support, need - t.size[support])
            continue
        blame_level(s, s.postponed[block])
        for entry in range(t.near_at[block], t.near_at[block + 1]):
            other = t.near[entry]
            if s.level[other] == UNPLACED:
                ask(s, other, need - t.size[other])


def earliest_support(t: Tables, s: State, block: int, need: int) -> int:
    """The neighbour placed first among those below the block that end at `need` or higher."""
    size, level, offset, near = t.size, s.level, s.offset, t.near
    before = level[block] if level[block] >= 0 else len(s.frame_block)
    best = NOBODY
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = near[entry]
        when = level[other]
        if 0 <= when < before and offset[other] + size[other] >= need:
            before = when
            best = other
    return best


def back_to_culprit(s: State) -> int:
    """Undo up to the latest decision to blame that can still be decided otherwise."""
    words = len(s.blame)
    while True:
        level = latest_blamed(s)
        if level == NOBODY:
            return NOBODY
        s.blame[level // WORD] &= ~(1 << (level % WORD))
        undo(s, level)
        kept = level * words
        if not s.frame_is_postponed[level]:
            for word in range(words):
                s.frame_blame[kept + word] = s.blame[word]
            return level
        for word in range(words):
            s.blame[word] |= s.frame_blame[kept + word]


def latest_blamed(s: State) -> int:
    word = len(s.blame) - 1
    while word >= 0 and s.blame[word] == 0:
        word -= 1
    if word < 0:
        return NOBODY
    bit = WORD - 1
    while not (s.blame[word] >> bit) & 1:
        bit -= 1
    return word * WORD + bit


def undo(s: State, frame: int) -> None:
    """Back to the moment before the decision of `frame`, which stays open."""
    at = s.at
    while at[TRAIL] > s.frame_trail[frame]:
        at[TRAIL] -= 1
        entry = at[TRAIL]
        block = s.trail_block[entry]
        s.floor[block] = s.trail_floor[entry]
        s.reach[block] = s.trail_reach[entry]
        s.postponed[block] = s.trail_postponed[entry]
    while at[DONE] > s.frame_done[frame]:
        at[DONE] -= 1
        s.level[s.done[at[DONE]]] = UNPLACED
    at[AGENDA] = s.frame_agenda[frame]
    at[LEVELS] = frame + 1


def postpone(t: Tables, s: State, frame: int) -> bool:
    """The other side: some neighbour lies below the block, so it starts on top of one."""
    s.at[NODES] += 1
    s.frame_is_postponed[frame] = 1
    block = s.frame_block[frame]
    lowest = NOBODY
    for entry in range(t.near_at[block], t.near_at[block + 1]):
        other = t.near[entry]
        top = s.reach[other] + t.size[other]
        if s.level[other] == UNPLACED and (lowest == NOBODY or top < lowest):
            lowest = top
    if lowest == NOBODY:
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
    """Open the groups that are left, cut where nobody's hull reaches over; single blocks settle."""
    s.at[OPEN] = s.frame_next[frame]
    start = stop = s.frame_start[frame]
    count = reach = 0
    alone = NOBODY
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
        settle(s, alone, frame)
    elif count > 1:
        push_group(s, start, stop, s.at[OPEN])


def push_group(s: State, start: int, stop: int, rest: int) -> None:
    """Put a group before the `rest` of the agenda."""
    group = s.at[AGENDA]
    s.agenda_start[group] = start
    s.agenda_stop[group] = stop
    s.agenda_next[group] = rest
    s.at[AGENDA] = group + 1
    s.at[OPEN] = group


def next_free(t: Tables, block: int, offset: int) -> int:
    """The lowest offset a block can take from `offset` upwards."""
    align = t.align[block]
    offset = -(-offset // align) * align
    for entry in range(t.obstacle_at[block], t.obstacle_at[block + 1]):
        if t.obstacle_low[entry] < offset < t.obstacle_high[entry]:
            offset = -(-t.obstacle_high[entry] // align) * align
    return offset


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


HELPERS = (
    step,
    candidate,
    open_frame,
    settle,
    place,
    lift,
    remember,
    touch,
    reach_fits,
    load_fits,
    blame_load,
    blame_standstill,
    clear_blame,
    blame_level,
    ask,
    explain,
    earliest_support,
    back_to_culprit,
    latest_blamed,
    undo,
    postpone,
    split,
    close_group,
    push_group,
    next_free,
    last_free,
)
"""All that `run` calls, for whoever compiles it."""
