"""The strict policy: bytes instead of elements, real types instead of the pool's, a checked plan.

Against `compat`, which repeats upstream, strict differs in what a user can see:

* every buffer takes ``size * itemsize`` bytes at a multiple of its alignment, so buffers of
  different element types can share a pool;
* a persistent alias overlaps a persistent target, and never anything else;
* an alias that does not fit into its target tries the target's own targets;
* scratch of children that are never called at the same time may overlap;
* requests that were not satisfied, or in a surprising way, are noted.
"""

from __future__ import annotations

from collections.abc import Mapping

from tilewright.memory.registry.aliases import Entries, alias_order, ancestors, check_persistence
from tilewright.memory.registry.buffer import CUDABuffer
from tilewright.memory.registry.layout import Layouts
from tilewright.memory.registry.planning import Block, Live, Planner, Spots, check_spots


def strict_layouts(entries: Entries, lives: Mapping[str, Live], planner: Planner) -> Layouts:
    """The layout of the `strict` policy, in bytes. `lives` names entries not always live."""
    check_persistence(entries)
    aliased = alias_order(entries)
    plain = [entry for entry in entries.values() if entry.aliases is None]
    blocks = [_block(entry, entries, lives) for entry in (*plain, *aliased)]
    spots = planner.plan(blocks)
    check_spots(blocks, spots)
    return _layouts(blocks, spots, entries, _notes(aliased, entries, spots))


def _block(entry: CUDABuffer, entries: Entries, lives: Mapping[str, Live]) -> Block:
    hosts = tuple(
        name
        for name in ancestors(entry.name, entries)
        if entries[name].is_persistent_local == entry.is_persistent_local
    )
    return Block(
        name=entry.name,
        size=entry.nbytes,
        align=entry.align,
        pool=entry.pool,
        target=entry.aliases,
        hosts=hosts,
        live=lives.get(entry.name),
    )


def _layouts(
    blocks: list[Block], spots: Spots, entries: Entries, notes: tuple[str, ...]
) -> Layouts:
    windows: dict[str, dict[str, slice]] = {"shared": {}, "persistent": {}}
    local: dict[str, int] = {}
    consumed: dict[str, int] = {}
    for block in blocks:
        spot = spots[block.name]
        if spot.pool == "local":
            local[block.name] = max(block.size, entries[block.name].itemsize)
            continue
        end = spot.offset + block.size
        windows[spot.pool][block.name] = slice(spot.offset, end)
        consumed.setdefault(block.name, 0)
        if spot.host is not None:
            inside = end - spots[spot.host].offset
            consumed[spot.host] = max(consumed.get(spot.host, 0), inside)
    return Layouts(windows["shared"], windows["persistent"], local, consumed, notes)


def _notes(aliased: list[CUDABuffer], entries: Entries, spots: Spots) -> tuple[str, ...]:
    notes: list[str] = []
    for entry in aliased:
        spot = spots[entry.name]
        if spot.host is None:
            reason = _why_not(entry, entries, spots)
            notes.append(f"Buffer '{entry.name}' is not laid over '{entry.aliases}': {reason}.")
        elif entry.is_local:
            notes.append(
                f"Local buffer '{entry.name}' is in shared memory over '{spot.host}': "
                "threads that see the same slice share it."
            )
    return tuple(notes)


def _why_not(entry: CUDABuffer, entries: Entries, spots: Spots) -> str:
    target = entries[entry.aliases or ""]
    if entry.is_persistent_local != target.is_persistent_local:
        return f"one is {_kind(entry)}, the other {_kind(target)}"
    if spots[target.name].pool == "local":
        return f"'{target.name}' is a local array"
    return f"out of space: {entry.nbytes} bytes needed"


def _kind(entry: CUDABuffer) -> str:
    return "persistent" if entry.is_persistent_local else "scratch"
