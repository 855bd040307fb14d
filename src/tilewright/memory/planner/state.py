"""Where the exact search stands, as flat sequences of integers, and how a decision is undone.

`Tables` is a part as it is, `State` is everything a search changes. What a decision overwrites goes
to a trail first; a frame remembers how long the trail was, so that `undo` can walk it back. Groups
of blocks that have no instant in common wait on an agenda, a linked list that only ever grows, so
going back means no more than pointing to an older head.
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

LIMIT, LEVELS, TRAIL, DONE, AGENDA, OPEN, STAMP, WORK, NODES, AFFECTED, MARK = range(11)
"""Counters of the search: indices into `State.at`."""

UNPLACED = -1
FIXED = -2
ABSENT = -1
MASK_BITS = 62
"""Bits of one integer of a set of levels."""

Ints = Sequence[int]
Cells = MutableSequence[int]


class Tables(NamedTuple):
    """A part, as it is. ``x_at[n] .. x_at[n + 1]`` is the range of the entries of `n` in `x`."""

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
    lowest: Cells
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
    affected: Cells
    affected_mark: Cells


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


def place_block(s: State, block: int, frame: int) -> None:
    """Place a block at its floor."""
    s.offset[block] = s.floor[block]
    s.level[block] = frame
    s.done[s.at[DONE]] = block
    s.at[DONE] += 1


def remember(s: State, block: int) -> None:
    """Write a block's bounds to the trail."""
    entry = s.at[TRAIL]
    s.trail_block[entry] = block
    s.trail_floor[entry] = s.floor[block]
    s.trail_reach[entry] = s.reach[block]
    s.trail_postponed[entry] = s.postponed[block]
    s.at[TRAIL] = entry + 1


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


def push_group(s: State, start: int, stop: int, rest: int) -> None:
    """Put a group before the `rest` of the agenda."""
    group = s.at[AGENDA]
    s.agenda_start[group] = start
    s.agenda_stop[group] = stop
    s.agenda_next[group] = rest
    s.at[AGENDA] = group + 1
    s.at[OPEN] = group
