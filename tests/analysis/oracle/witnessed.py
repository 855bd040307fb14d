"""Accesses that leave their buffers and stores that meet, by execution alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from xdsl.ir import Operation

from tests.analysis.oracle.operations import element_size
from tests.analysis.oracle.recording import Array, Path, Recording
from tilewright.ir.traversal import walk

_GAP = 1 << 40
"""Buffers lie this far apart."""


def _numbers(module: Operation, recording: Recording) -> dict[Operation, int]:
    ran = {op for op, _ in recording.touches}
    ordered = [op for op in walk(module) if op in ran]
    return {op: number for number, op in enumerate(ordered)}


def outside(module: Operation, recording: Recording, buffers: Mapping[str, int]) -> list[int]:
    """Numbers of the accesses that touch a byte outside of their buffer."""
    numbers = _numbers(module, recording)
    starts = {address >> 40: name for name, address in recording.launch.addresses.items()}
    found: set[int] = set()
    for (op, _), touches in recording.touches.items():
        size = element_size(op.operands[0].type)
        for touch in touches:
            address = touch.addresses[touch.mask]
            if not address.size:
                continue
            name = starts[int(address.flat[0] + _GAP // 2) >> 40]
            offsets = address - recording.launch.addresses[name]
            if np.any(offsets < 0) or np.any(offsets + size > buffers[name]):
                found.add(numbers[op])
    return sorted(found)


def meeting_pairs(module: Operation, recording: Recording) -> list[tuple[int, int]]:
    """Pairs of accesses, one of them a store, that touch one byte from different programs."""
    numbers = _numbers(module, recording)
    owned = {op: owners(recording, op) for op in numbers}
    return [
        (numbers[left], numbers[right])
        for left in numbers
        for right in numbers
        if numbers[left] <= numbers[right]
        and _conflict(left, right)
        and first_meeting(owned[left], owned[right]) is not None
    ]


Owners: TypeAlias = tuple[Array, Array, Array]
"""Bytes in ascending order, and the first and last program that touches each."""


def owners(recording: Recording, op: Operation, path: Path | None = None) -> Owners:
    """The bytes that an access touches, on one path or on all."""
    size = element_size(op.operands[0].type)
    places: list[Array] = [np.zeros(0, dtype=np.int64)]
    programs: list[Array] = [np.zeros(0, dtype=np.int64)]
    order = {program: at for at, program in enumerate(recording.programs)}
    for (other, way), touches in recording.touches.items():
        if other is not op or path not in (None, way):
            continue
        for touch in touches:
            starts = touch.addresses[touch.mask]
            whole = (starts[:, None] + np.arange(size)).reshape(-1)
            places.append(whole)
            programs.append(np.full(whole.size, order[touch.when.program]))
    every, owner = np.concatenate(places), np.concatenate(programs)
    by_place = np.lexsort((owner, every))
    every, owner = every[by_place], owner[by_place]
    firsts = np.flatnonzero(np.r_[True, every[1:] != every[:-1]][: every.size])
    lasts = np.r_[firsts[1:], every.size] - 1 if every.size else firsts
    return every[firsts], owner[firsts], owner[lasts]


def first_meeting(left: Owners, right: Owners) -> tuple[int, int, int] | None:
    """(byte, program, another program): where two accesses meet."""
    at = np.searchsorted(right[0], left[0])
    inside = at < right[0].size
    common = (
        np.flatnonzero(inside & (right[0][np.where(inside, at, 0)] == left[0]))
        if (right[0].size)
        else np.zeros(0, dtype=np.int64)
    )
    low = np.minimum(left[1][common], right[1][at[common]])
    high = np.maximum(left[2][common], right[2][at[common]])
    apart = np.flatnonzero(low != high)
    if not apart.size:
        return None
    return int(left[0][common[apart[0]]]), int(low[apart[0]]), int(high[apart[0]])


def _conflict(left: Operation, right: Operation) -> bool:
    kinds = {"store" if "store" in op.name else op.name for op in (left, right)}
    return "store" in kinds
