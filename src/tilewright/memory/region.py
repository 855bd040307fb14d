"""A region: some buffers of one memory, and how they may overlap.

It is what one ``storage_alias_spec`` defines, before any address is known: the buffers allocated
from it, and overlap definitions over them (none, one, or one for each phase). An ordinary
allocation is a region of one buffer, so that totals and suggestions treat everything alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.memory.phases import Phase
from tilewright.memory.targets import Memory
from tilewright.memory.tree import Tree, leaves
from tilewright.memory.units import Buffer

LiveRanges = Mapping[str, tuple[int, int]]
"""First and last access of a buffer, both included. A buffer left out is always live."""


@dataclass(frozen=True)
class StorageRegion:
    """Buffers that share storage. Buffers in no tree are contiguous from offset 0."""

    name: str
    memory: Memory
    buffers: tuple[Buffer, ...]
    phases: tuple[Phase, ...] = ()
    size_bytes: int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Raise ValueError unless names are unique and all buffers are in this memory."""
        names = [buffer.name for buffer in self.buffers]
        if len({*names}) != len(names):
            raise ValueError(f"two buffers of '{self.name}' have the same name: {names}")
        for buffer in self.buffers:
            if buffer.memory is not self.memory:
                raise ValueError(f"'{buffer.name}' is not in {self.memory.full_name}")

    @property
    def tree(self) -> Tree | None:
        """The only tree, where there is exactly one."""
        return self.phases[0].tree if len(self.phases) == 1 else None

    def with_trees(self, *trees: Tree) -> StorageRegion:
        """The same region with other trees; names of phases are preserved in order."""
        names = [phase.name for phase in self.phases]
        names += [""] * (len(trees) - len(names))
        phases = tuple(Phase(tree, name) for tree, name in zip(trees, names, strict=False))
        return replace(self, phases=phases)

    def __str__(self) -> str:
        trees = "; ".join(str(phase) for phase in self.phases) or "no overlap"
        buffers = ", ".join(str(buffer) for buffer in self.buffers)
        return f"{self.memory} region '{self.name}': {trees} of {buffers}"


def region_of(name: str, tree: Tree, *outside: Buffer) -> StorageRegion:
    """The ordinary region: one tree, its leaves in order, then buffers outside of it."""
    buffers = (*(leaf.buffer for leaf in leaves(tree)), *outside)
    return StorageRegion(name, buffers[0].memory, buffers, (Phase(tree),))


def plain_region(buffer: Buffer) -> StorageRegion:
    """An ordinary allocation, as a region of one buffer."""
    return StorageRegion(buffer.name, buffer.memory, (buffer,), source=buffer.source)


def live_together(live: LiveRanges | None, first: str, second: str) -> bool:
    """Whether two buffers may be needed at the same moment. Not knowing means yes."""
    if live is None or first not in live or second not in live:
        return True
    (start, end), (other_start, other_end) = live[first], live[second]
    return start <= other_end and other_start <= end
