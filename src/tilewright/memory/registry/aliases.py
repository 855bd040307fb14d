"""Which buffer aliases which: the checks on alias requests and the order they are handled in.

Targets form a forest, because each buffer names at most one. Registering demands that the target
exists, which keeps cycles out only until something is registered again or updated, so every change
is checked here and the whole forest once more before a layout is built from it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

from tilewright.memory.registry.buffer import CUDABuffer

Entries = Mapping[str, CUDABuffer]


def check_request(name: str, aliases: str | None, entries: Entries) -> None:
    """What `register` and an update demand of a name and its alias target."""
    if not name:
        raise ValueError("Buffer name cannot be empty.")
    if aliases is None:
        return
    if aliases == name:
        raise ValueError(f"Buffer '{name}' cannot alias itself.")
    if aliases not in entries:
        raise ValueError(
            f"Alias target '{aliases}' not registered. Register '{aliases}' before '{name}'."
        )


def check_cycle(name: str, entries: Entries) -> None:
    """Raise if following alias targets from `name` comes back to it."""
    path = [name, *ancestors(name, entries)]
    if len(path) > 1 and entries[path[-1]].aliases == name:
        raise ValueError(f"Alias cycle: {' -> '.join([*path, name])}.")


def ancestors(name: str, entries: Entries) -> tuple[str, ...]:
    """The targets of `name`, nearest first; ends at the first repetition in a cyclic forest."""
    path: list[str] = []
    target = entries[name].aliases
    while target is not None and target != name and target not in path and target in entries:
        path.append(target)
        target = entries[target].aliases
    return tuple(path)


def check_persistence(entries: Entries) -> None:
    """A persistent buffer keeps its content between calls; an alias of scratch gives it up."""
    for name, entry in entries.items():
        target = entries.get(entry.aliases) if entry.aliases is not None else None
        if target is not None and entry.is_persistent_local and target.is_shared:
            raise ValueError(
                f"Persistent buffer '{name}' cannot alias scratch buffer '{target.name}'."
            )


def alias_order(entries: Entries) -> list[CUDABuffer]:
    """Aliased entries, every one after its target, otherwise in order of registration."""
    position = {name: index for index, name in enumerate(entries)}
    waiting: dict[str, list[int]] = {}
    ready: list[int] = []
    names = list(entries)
    for name, entry in entries.items():
        if entry.aliases is None:
            continue
        check_request(name, entry.aliases, entries)
        if entries[entry.aliases].aliases is None:
            ready.append(position[name])
        else:
            waiting.setdefault(entry.aliases, []).append(position[name])
    ordered: list[CUDABuffer] = []
    while ready:
        name = names[heapq.heappop(ready)]
        ordered.append(entries[name])
        for index in waiting.pop(name, ()):
            heapq.heappush(ready, index)
    for children in waiting.values():
        # What is left hangs below a cycle or on it.
        _report_cycle(names[children[0]], entries)
    return ordered


def _report_cycle(name: str, entries: Entries) -> None:
    for member in (name, *ancestors(name, entries)):
        check_cycle(member, entries)
