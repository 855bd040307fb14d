"""The offset of every buffer of one component, as upstream's refactored registry places it.

Buffers without an alias are packed into their pool in order of registration. Then each alias is
laid over its target if the target is in the shared pool and has space left, whatever the class of
the alias; otherwise it is placed by its own class at the end of its pool. Space is counted per
direct target, and first come is first served::

    p 100 shared        |p.................................|
    c 40 over p         |c.............|
    d 40 over p                        |d.............|
    e 40 over p: no space                                   |e.............|

A layout is a function of the entries alone. It is worked out to the end before anybody sees it.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.memory.registry.aliases import Entries, alias_order
from tilewright.memory.registry.buffer import CUDABuffer


@dataclass(frozen=True)
class Layouts:
    """Slices of the two pools and sizes of local arrays, every entry in exactly one of them.

    `consumed` counts what aliases have taken of each target. `tail` follows the last slice of a
    pool: the guard of canary mode, else nothing.
    """

    shared: dict[str, slice]
    persistent: dict[str, slice]
    local: dict[str, int]
    consumed: dict[str, int]
    notes: tuple[str, ...] = ()
    tail: int = 0

    @property
    def shared_extent(self) -> int:
        return self._extent(self.shared)

    @property
    def persistent_extent(self) -> int:
        return self._extent(self.persistent)

    def _extent(self, pool: dict[str, slice]) -> int:
        top = max((window.stop for window in pool.values()), default=0)
        return top + self.tail if top else 0

    def __str__(self) -> str:
        pools = (("shared", self.shared, self.shared_extent),)
        pools += (("persistent", self.persistent, self.persistent_extent),)
        lines = [
            f"{pool:<10} {extent:>6}  "
            + " ".join(f"{name}[{at.start},{at.stop})" for name, at in windows.items())
            for pool, windows, extent in pools
        ]
        arrays = " ".join(f"{name} {size}" for name, size in self.local.items())
        lines.append(f"{'local':<10} {sum(self.local.values()):>6}  {arrays}")
        return "\n".join(line.rstrip() for line in lines)


class _Packing:
    """Pools filled from the bottom; the next free element of a pool never goes down."""

    def __init__(self) -> None:
        self.shared: dict[str, slice] = {}
        self.persistent: dict[str, slice] = {}
        self.local: dict[str, int] = {}
        self.consumed: dict[str, int] = {}
        self._next = {"shared": 0, "persistent": 0}

    def append(self, buffer: CUDABuffer) -> None:
        """Place `buffer` by its own class."""
        if buffer.pool == "local":
            # A per-thread array of no elements cannot be made.
            self.local[buffer.name] = max(buffer.size, 1)
            return
        start = self._next[buffer.pool]
        windows = self.shared if buffer.pool == "shared" else self.persistent
        windows[buffer.name] = slice(start, start + buffer.size)
        self._next[buffer.pool] = start + buffer.size

    def overlap(self, buffer: CUDABuffer, target: CUDABuffer) -> bool:
        """Place `buffer` over `target` if that is in the shared pool and has space."""
        window = self.shared.get(target.name)
        taken = self.consumed.get(target.name, 0)
        if window is None or buffer.size > target.size - taken:
            return False
        start = window.start + taken
        self.shared[buffer.name] = slice(start, start + buffer.size)
        self.consumed[target.name] = taken + buffer.size
        return True


def compat_layouts(entries: Entries) -> Layouts:
    """The layout of the `compat` policy; raises ValueError for a forest that has none."""
    aliased = alias_order(entries)
    packing = _Packing()
    for buffer in entries.values():
        if buffer.aliases is None:
            packing.append(buffer)
            if buffer.pool != "local":
                packing.consumed[buffer.name] = 0
    for buffer in aliased:
        if buffer.aliases is None or not packing.overlap(buffer, entries[buffer.aliases]):
            packing.append(buffer)
    return Layouts(packing.shared, packing.persistent, packing.local, packing.consumed)
