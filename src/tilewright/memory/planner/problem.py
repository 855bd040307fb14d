"""What has to be placed: blocks with lifetimes, in spaces, and relations of pairs of them.

A `Block` needs `size` units of one `Space` while it is live. Time is a line of integers; a
lifetime is a tuple of half-open spans, and several spans mean holes in which the memory is free::

    address
      |   +-----+     +---+
      |   |  b  |     | b |      b.live = ((2, 5), (8, 10))
      |   +-----+     +---+
      | +---------------------+
      | |          a          |  a.live = ((1, 12),)
      +-+---------------------+--> time

Two blocks of a space must not overlap if `Apart` relates them, or if no relation covers the pair
and either their lifetimes overlap or they belong to different partitions of one asynchronous region
(such partitions run concurrently, in no order). A pair is covered by `MayOverlap`,
by a chain of `SameStart`, or by a chain of `Inside` that leads from one to the other.

Nothing here decides anything: a `Problem` is a value, verified when it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Live = tuple[tuple[int, int], ...]
"""Half-open spans of time, in any order. No span at all: the content is never needed."""

ALWAYS: Live = ((-(1 << 62), 1 << 62),)
"""Live before, during and after everything else."""


class ProblemError(ValueError):
    """The description contradicts itself before any planning."""


@dataclass(frozen=True)
class Space:
    """One memory. Its base is a multiple of `base_align`; None: of every required alignment."""

    name: str
    capacity: int | None = None
    base_align: int | None = None
    unit: str = "bytes"


@dataclass(frozen=True)
class AsyncRegion:
    """One partition of a stretch of code whose partitions run at the same time."""

    name: str
    partition: int


@dataclass(frozen=True)
class Block:
    """`size` units at a multiple of `align`; at `fixed` where that is given."""

    id: str
    size: int
    align: int = 1
    space: str = "smem"
    live: Live = ALWAYS
    region: AsyncRegion | None = None
    fixed: int | None = None

    def __str__(self) -> str:
        when = "always" if self.live == ALWAYS else " ".join(f"{s}..{e}" for s, e in self.live)
        parts = [f"{self.id}: {self.size} in {self.space}", f"live {when or 'never'}"]
        if self.align > 1:
            parts.append(f"aligned to {self.align}")
        if self.region is not None:
            parts.append(f"partition {self.region.partition} of {self.region.name}")
        if self.fixed is not None:
            parts.append(f"fixed at {self.fixed}")
        return ", ".join(parts)


@dataclass(frozen=True)
class Inside:
    """`child` is within `parent`, `offset` units from its start where that is given."""

    child: str
    parent: str
    offset: int | None = None

    @property
    def pair(self) -> tuple[str, str]:
        return self.child, self.parent

    def __str__(self) -> str:
        where = "" if self.offset is None else f" at {self.offset}"
        return f"'{self.child}' inside '{self.parent}'{where}"


@dataclass(frozen=True)
class _Symmetric:
    a: str
    b: str

    @property
    def pair(self) -> tuple[str, str]:
        return self.a, self.b


@dataclass(frozen=True)
class SameStart(_Symmetric):
    """Both start at one address."""

    def __str__(self) -> str:
        return f"'{self.a}' starts with '{self.b}'"


@dataclass(frozen=True)
class Apart(_Symmetric):
    """Never overlap, whatever the lifetimes."""

    def __str__(self) -> str:
        return f"'{self.a}' apart from '{self.b}'"


@dataclass(frozen=True)
class MayOverlap(_Symmetric):
    """The user is responsible: they may overlap even while both are live."""

    def __str__(self) -> str:
        return f"'{self.a}' may overlap '{self.b}'"


Relation = Inside | SameStart | Apart | MayOverlap


@dataclass(frozen=True)
class Problem:
    """Blocks, the spaces they go to, and relations between blocks of one space."""

    spaces: tuple[Space, ...]
    blocks: tuple[Block, ...]
    relations: tuple[Relation, ...] = ()

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Raise ProblemError with the first thing that makes no sense."""
        for fault in self._faults():
            raise ProblemError(fault)

    def space(self, name: str) -> Space:
        """The space called `name`."""
        return next(space for space in self.spaces if space.name == name)

    def block(self, id: str) -> Block:
        """The block called `id`."""
        return next(block for block in self.blocks if block.id == id)

    def in_space(self, name: str) -> tuple[Block, ...]:
        """The blocks of one space, in the order they were given."""
        return tuple(block for block in self.blocks if block.space == name)

    def _faults(self) -> Iterator[str]:
        spaces = {space.name: space for space in self.spaces}
        if len(spaces) != len(self.spaces):
            yield "two spaces have the same name"
        for space in self.spaces:
            yield from _space_faults(space)
        blocks = {block.id: block for block in self.blocks}
        for block in self.blocks:
            yield from _block_faults(block, spaces.get(block.space))
        if len(blocks) != len(self.blocks):
            yield f"{len(self.blocks) - len(blocks)} block ids are used twice"
        for relation in self.relations:
            yield from _relation_faults(relation, blocks)

    def __str__(self) -> str:
        lines = [f"{len(self.blocks)} blocks in {', '.join(s.name for s in self.spaces)}"]
        lines += [f"  {block}" for block in self.blocks]
        return "\n".join([*lines, *(f"  {relation}" for relation in self.relations)])


def _space_faults(space: Space) -> Iterator[str]:
    if space.capacity is not None and space.capacity < 0:
        yield f"space '{space.name}' has a negative capacity, {space.capacity}"
    if space.base_align is not None and space.base_align < 1:
        yield f"the base of space '{space.name}' is aligned to {space.base_align}"


def _block_faults(block: Block, space: Space | None) -> Iterator[str]:
    if space is None:
        yield f"'{block.id}' is in an unknown space, '{block.space}'"
        return
    if block.size < 0:
        yield f"'{block.id}' has a negative size, {block.size}"
    if block.align < 1:
        yield f"'{block.id}' is aligned to {block.align}"
    elif space.base_align is not None and space.base_align % block.align:
        yield (
            f"'{block.id}' requires alignment {block.align}, but the base of '{space.name}' "
            f"is only aligned to {space.base_align}"
        )
    elif block.fixed is not None and (block.fixed < 0 or block.fixed % block.align):
        yield f"'{block.id}' is fixed at {block.fixed}, not at a multiple of {block.align}"
    for start, end in block.live:
        if start >= end:
            yield f"'{block.id}' is live in an empty span, {start}..{end}"


def _relation_faults(relation: Relation, blocks: dict[str, Block]) -> Iterator[str]:
    first, second = relation.pair
    for id in (first, second):
        if id not in blocks:
            yield f"{relation}: there is no block '{id}'"
            return
    if first == second:
        yield f"{relation}: a block is not related to itself"
    if blocks[first].space != blocks[second].space:
        yield f"{relation}: they are in different spaces"
    if not isinstance(relation, Inside):
        return
    slack = blocks[second].size - blocks[first].size - (relation.offset or 0)
    if slack < 0 or (relation.offset or 0) < 0:
        yield f"{relation}: {blocks[first].size} units do not fit into {blocks[second].size}"
