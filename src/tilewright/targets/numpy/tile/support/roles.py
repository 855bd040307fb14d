"""Thread-private variables in warp-specialised code: one copy per role.

    v = 0
    with T.ws(0):
        v = 5           the threads of group 0 have 5, the others 0
    with T.ws(0):
        Y[i] = v        5

A role works on the copy of its threads (`own`), which is preserved for their next role. What all
threads write is written to the copies too; a read where the copies differ has no single value, and
is reported. The copy of a role with all threads of the block is merged back (`give_back`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.problems import RuntimeFault

Ranges: TypeAlias = tuple[tuple[int, int], ...]


def own(buffer: TileBuffer, ranges: Ranges) -> TileBuffer:
    """What the threads in `ranges` have of `buffer`."""
    found = buffer.owned.get(ranges)
    if found is not None:
        return found
    source = buffer
    for other, made in buffer.owned.items():
        if _contains(other, ranges):
            source = made
        elif _intersects(other, ranges) and not _is_equal(made, buffer, ...):
            raise disagreement(buffer, other)
    found = buffer.owned[ranges] = source.copy()
    return found


def give_back(buffer: TileBuffer, ranges: Ranges) -> None:
    """All threads of the block have what those in `ranges` have."""
    made = buffer.owned.get(ranges)
    if made is None:
        return
    buffer.owned.clear()
    buffer.data[...] = made.data
    if buffer.shadow is not None and made.shadow is not None:
        everything = tuple(slice(None) for _ in buffer.data.shape)
        buffer.shadow.assign(everything, made.shadow.defined(everything))


def check_agreement(buffer: TileBuffer, index: Any = ...) -> None:
    """All threads read: those of roles must have the same there."""
    for ranges, made in buffer.owned.items():
        if not _is_equal(made, buffer, index):
            raise disagreement(buffer, ranges)


def disagreement(buffer: TileBuffer, ranges: Ranges) -> RuntimeFault:
    listed = ", ".join(f"{first} to {last - 1}" for first, last in ranges)
    name = buffer.name
    return RuntimeFault(
        "uninitialised",
        f"divergent value of {name}: the threads that read it have different values",
        [
            f"threads {listed} wrote {name} in a T.ws, the other threads did not",
            buffer.describe(),
            f"use {name} inside the T.ws of the threads that write it, or store it in "
            "shared memory",
        ],
    )


def _is_equal(one: TileBuffer, other: TileBuffer, index: Any) -> bool:
    return one.data[index].tobytes() == other.data[index].tobytes()


def _contains(outer: Ranges, inner: Ranges) -> bool:
    return all(any(a <= first and last <= b for a, b in outer) for first, last in inner)


def _intersects(one: Ranges, other: Ranges) -> bool:
    return any(a < last and first < b for a, b in one for first, last in other)
