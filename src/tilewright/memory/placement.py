"""Where every buffer of a tree starts: offsets, levels, slots and the map of indices.

A placement is mixed-radix arithmetic. Buffer ``i`` of a leaf under groups of size G1, G2 (innermost
first) starts at::

    offset + (i mod G1) * B1 + (i div G1 mod G2) * B2 + (i div G1*G2) * S

with one *level* (radix, block) for every group size above 1 and a last one of unlimited radix, the
stride ``S`` of the tree. Levels that are packed without a gap merge.

Two ways to make such an address real:

reindex   The leaf becomes an array of more buffers, at the same unit, over the whole region, and
          every index is rewritten to a *slot*, address / unit. Offset and blocks have to be
          multiples of the unit (E6, E7).
explicit  The code generator adds offset and strides itself. Nothing has to be a multiple of the
          unit; starts and strides follow what each view demands.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

from tilewright.memory.rules import Finding, Path, finding
from tilewright.memory.units import Buffer


class Mode(Enum):
    """How a placement becomes addresses."""

    REINDEX = "reindex"
    EXPLICIT = "explicit"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Level:
    """`radix` repetitions, `block` apart; the outermost level has no limit."""

    radix: int | None
    block: int

    def __str__(self) -> str:
        return f"({'inf' if self.radix is None else self.radix},{self.block})"


def merge_levels(levels: Sequence[Level]) -> tuple[Level, ...]:
    """The same addresses with as few levels as possible."""
    merged = [levels[0]]
    for level in levels[1:]:
        inner = merged[-1]
        if inner.radix is not None and level.block == inner.radix * inner.block:
            radix = None if level.radix is None else inner.radix * level.radix
            merged[-1] = Level(radix, inner.block)
        else:
            merged.append(level)
    return tuple(merged)


@dataclass(frozen=True)
class IndexMap:
    """Buffer index to slot. `digits` are levels in slots, innermost first, the last unlimited."""

    offset: int
    digits: tuple[Level, ...]

    def __call__(self, index: int) -> int:
        return self.offset + _spread(self.digits, index)

    @property
    def is_identity(self) -> bool:
        return self.offset == 0 and all(digit == Level(None, 1) for digit in self.digits)

    def __str__(self) -> str:
        terms: list[str] = []
        below = 1
        for digit in self.digits:
            quotient = "i" if below == 1 else f"i div {below}"
            term = quotient if digit.radix is None else f"{quotient} mod {digit.radix}"
            is_plain = digit.block == 1 and term == "i"
            factor = "" if digit.block == 1 else f"{digit.block}*"
            terms.append(term if is_plain else f"{factor}{term if term == 'i' else f'({term})'}")
            below *= digit.radix or 1
        if self.offset or not terms:
            terms.append(str(self.offset))
        return " + ".join(terms)


def _spread(levels: Sequence[Level], index: int) -> int:
    """The sum of the digits of `index`, each times its block."""
    total = 0
    for level in levels:
        if level.radix is None:
            return total + index * level.block
        total += index % level.radix * level.block
        index //= level.radix
    return total


@dataclass(frozen=True)
class Placement:
    """The address of every buffer of one leaf, relative to the start of its region.

    `levels` are as the tree gave them, innermost first; `merged` and `active` derive from them.
    """

    buffer: Buffer
    offset: int
    levels: tuple[Level, ...]
    path: Path | None = None

    def verify(self) -> None:
        """Raise ValueError unless the levels nest and keep the buffers of this leaf apart."""
        if not self.levels or self.levels[-1].radix is not None:
            raise ValueError(f"{self}: the outermost level has to be unlimited")
        capacity = self.buffer.unit
        for level in self.levels:
            if level.block < capacity:
                raise ValueError(f"{self}: a block of {level.block} cannot hold {capacity}")
            capacity = level.block * (level.radix or 1)

    @property
    def merged(self) -> tuple[Level, ...]:
        return merge_levels(self.levels)

    @property
    def active(self) -> tuple[Level, ...]:
        """The merged levels whose digit can be other than zero; the last one without a limit."""
        used: list[Level] = []
        below = 1
        for level in self.merged:
            if self.buffer.count <= below:
                break
            used.append(level)
            below *= level.radix or self.buffer.count
        if used:
            used[-1] = Level(None, used[-1].block)
        return tuple(used)

    @property
    def group_size(self) -> int:
        """Buffers of this leaf in one logical buffer of the tree."""
        return prod(level.radix for level in self.levels if level.radix is not None)

    @property
    def stride(self) -> int:
        """Distance between logical buffers."""
        return self.levels[-1].block

    def address(self, index: int) -> int:
        """Where buffer `index` starts."""
        return self.offset + _spread(self.levels, index)

    @property
    def addresses(self) -> tuple[int, ...]:
        return tuple(self.address(index) for index in range(self.buffer.count))

    @property
    def extent(self) -> int:
        """The end of the last buffer. Blocks nest, so the last index is the highest address."""
        return self.address(self.buffer.count - 1) + self.buffer.unit

    @property
    def index_map(self) -> IndexMap:
        """How indices are rewritten. Only a placement without `reindex_findings` has one."""
        unit = self.buffer.unit
        if self.reindex_findings:
            raise ValueError(f"{self} cannot be re-indexed")
        digits = tuple(Level(level.radix, level.block // unit) for level in self.active)
        return IndexMap(self.offset // unit, digits)

    @property
    def slots(self) -> tuple[int, ...]:
        return tuple(self.index_map(index) for index in range(self.buffer.count))

    @property
    def slot_count(self) -> int:
        """The leading dimension of the re-indexed array."""
        return self.index_map(self.buffer.count - 1) + 1

    @property
    def radices(self) -> tuple[int, ...]:
        """For ``tlx.placed_alias``: the limits of all active levels but the last."""
        return tuple(level.radix for level in self.active if level.radix is not None)

    @property
    def strides(self) -> tuple[int, ...]:
        """For ``tlx.placed_alias``: one more than `radices`, innermost first."""
        return tuple(level.block for level in self.active) or (self.buffer.unit,)

    @property
    def reindex_findings(self) -> tuple[Finding, ...]:
        """Why indices cannot be rewritten; empty when they can."""
        return tuple(_reindex_findings(self))

    def __str__(self) -> str:
        levels = "".join(str(level) for level in self.merged)
        return f"{self.buffer.name} at {self.offset}, levels {levels}"


def _reindex_findings(placement: Placement) -> Iterator[Finding]:
    buffer = placement.buffer
    for level in placement.active:
        if level.block % buffer.unit:
            yield finding(
                "E6", buffer.name, path=placement.path, stride=level.block, size=buffer.unit
            )
    if placement.offset % buffer.unit:
        yield finding(
            "E7", buffer.name, path=placement.path, offset=placement.offset, size=buffer.unit
        )


def alignment_findings(placement: Placement, residue: int, alignment: int) -> tuple[Finding, ...]:
    """The first buffer that starts where its view cannot be (E18)."""
    for index, start in enumerate(placement.addresses):
        if (residue + start) % alignment:
            return (
                finding(
                    "E18",
                    placement.buffer.name,
                    path=placement.path,
                    index=index,
                    start=residue + start,
                    alignment=alignment,
                ),
            )
    return ()


def packed(buffer: Buffer) -> Placement:
    """The placement of a buffer outside any tree: contiguous from the start."""
    return Placement(buffer, 0, (Level(None, buffer.unit),))
