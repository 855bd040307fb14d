"""A part as the flat sequences of integers that the search kernel works on.

`tables_of` is done once a part, `fresh_state` once an attempt. Sizes of the stacks follow from the
kernel: a block is placed once on any path, so the trail holds at most every adjacent block of every
block plus one entry a postponement, and groups split at most as often as there are blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from tilewright.memory.planner.alignment_bounds import lowest_offsets
from tilewright.memory.planner.bound import Load
from tilewright.memory.planner.decompose import SubProblem
from tilewright.memory.planner.state import (
    AGENDA,
    FIXED,
    LIMIT,
    MARK,
    MASK_BITS,
    OPEN,
    UNPLACED,
    State,
    Tables,
)

_T = TypeVar("_T")

_UNSAID = -1

_LEVELS_A_BLOCK = 4
"""How many decisions a path may hold for each block; postponing can repeat, in theory for long."""


def tables_of(part: SubProblem) -> Tables:
    """All that does not change during a search. Every block ranks by its index at first."""
    movable = part.movable
    free = set(movable)
    near = [[o for o in part.adjacent[n] if o in free] if n in free else [] for n in _all(part)]
    near_at, near_flat = _flat(near)
    obstacle_at, obstacles = _flat(part.obstacles)
    loads: list[list[int]] = [[] for _ in part.blocks]
    for index, load in enumerate(part.loads):
        for member in load.members:
            loads[member].append(index)
    load_at, load_flat = _flat(loads)
    rounded_at, rounded = _rounded(part)
    return Tables(
        size=[block.size for block in part.blocks],
        align=[block.align for block in part.blocks],
        twin=_twins(part),
        rank=[*_all(part)],
        low=[low for low, _ in part.hulls],
        high=[high for _, high in part.hulls],
        by_low=sorted(movable, key=lambda n: (part.hulls[n][0], n)),
        near_at=near_at,
        near=near_flat,
        obstacle_at=obstacle_at,
        obstacle_low=[low for low, _ in obstacles],
        obstacle_high=[high for _, high in obstacles],
        load_at=load_at,
        load=load_flat,
        member_at=_flat([load.members for load in part.loads])[0],
        rounded_at=rounded_at,
        rounded=rounded,
    )


def fresh_state(part: SubProblem, tables: Tables, limit: int, depth: int = 1) -> State:
    """A search that has not decided anything yet, for plans no higher than `limit`."""
    count = len(part.blocks)
    levels = depth * _LEVELS_A_BLOCK * count + MASK_BITS
    masks = -(-levels // MASK_BITS)
    trail = len(tables.near) + levels
    agenda = 2 * levels + count
    floor = lowest_offsets(part, limit)
    at = [0] * (MARK + 1)
    at[LIMIT], at[OPEN], at[AGENDA] = limit, 0, 1
    state = State(
        at=at,
        lowest=[*floor],
        floor=floor,
        reach=[*floor],
        postponed=[UNPLACED] * count,
        level=[UNPLACED if block.fixed is None else FIXED for block in part.blocks],
        offset=[*floor],
        member=_flat([load.members for load in part.loads])[1],
        hits=[0] * len(part.loads),
        trail_block=[0] * trail,
        trail_floor=[0] * trail,
        trail_reach=[0] * trail,
        trail_postponed=[0] * trail,
        done=[0] * count,
        frame_block=[0] * levels,
        frame_is_postponed=[0] * levels,
        frame_trail=[0] * levels,
        frame_done=[0] * levels,
        frame_agenda=[0] * levels,
        frame_next=[0] * levels,
        frame_start=[0] * levels,
        frame_stop=[0] * levels,
        frame_blame=[0] * (levels * masks),
        agenda_start=[0] * agenda,
        agenda_stop=[0] * agenda,
        agenda_next=[UNPLACED] * agenda,
        blame=[0] * masks,
        work=[0] * count,
        need=[0] * count,
        need_mark=[0] * count,
        is_waiting=[0] * count,
        affected=[0] * len(part.loads),
        affected_mark=[0] * len(part.loads),
    )
    state.agenda_stop[0] = len(tables.by_low)
    return state


def _all(part: SubProblem) -> range:
    return range(len(part.blocks))


def _flat(rows: Sequence[Iterable[_T]]) -> tuple[list[int], list[_T]]:
    """Rows concatenated, and where each starts."""
    starts, entries = [0], list[_T]()
    for row in rows:
        entries.extend(row)
        starts.append(len(entries))
    return starts, entries


def _rounded(part: SubProblem) -> tuple[list[int], list[int]]:
    """What a block weighs in a load: one table for each way to round, found by the load."""
    count = len(part.blocks)
    tables: list[list[int]] = []
    starts: list[int] = []
    for load in part.loads:
        index = next((n for n, table in enumerate(tables) if _agrees(table, load)), len(tables))
        if index == len(tables):
            tables.append([_UNSAID] * count)
        for member, weight in zip(load.members, load.weights, strict=True):
            tables[index][member] = weight
        starts.append(index * count)
    return starts, [weight for table in tables for weight in table]


def _agrees(table: Sequence[int], load: Load) -> bool:
    pairs = zip(load.members, load.weights, strict=True)
    return all(table[member] in (_UNSAID, weight) for member, weight in pairs)


def _twins(part: SubProblem) -> list[int]:
    """For each block the last one before it that is exchangeable with it, -1 without one."""
    seen: dict[tuple[object, ...], int] = {}
    twins = [UNPLACED] * len(part.blocks)
    for index, block in enumerate(part.blocks):
        if block.fixed is not None:
            continue
        around = tuple(sorted((index, *part.adjacent[index])))
        kind = (block.size, block.align, around, part.obstacles[index])
        twins[index] = seen.get(kind, UNPLACED)
        seen[kind] = index
    return twins
