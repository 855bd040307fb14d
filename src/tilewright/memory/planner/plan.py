"""The result: the offset of every block, the height of each space, and how good that is.

A height is where the topmost block ends, in units of its space. `optimal` holds only for a space
whose height equals a lower bound, found by adding up what must be disjoint or by an exhausted
search. Otherwise `gap` is an upper bound of what could be gained.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from tilewright.memory.planner.problem import Block, Problem, Space


class DoesNotFit(ValueError):
    """A plan is higher than the capacity of a space."""


@dataclass(frozen=True)
class SpacePlan:
    """One space. `nodes` are decisions of the exact search; 0 where it was not needed.

    `nodes_to_best` is how many of them had been taken when the plan was found.
    """

    space: Space
    height: int
    lower_bound: int
    method: str
    nodes: int = 0
    nodes_to_best: int = 0

    @property
    def optimal(self) -> bool:
        """Whether no plan of this space is lower."""
        return self.height == self.lower_bound

    @property
    def gap(self) -> float:
        """What could be gained at the most, relative to the lower bound."""
        return (self.height - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0

    @property
    def fits(self) -> bool:
        """Whether the height is within the capacity, if there is one."""
        return self.space.capacity is None or self.height <= self.space.capacity

    @property
    def missing(self) -> int:
        """By how much the height exceeds the capacity."""
        return 0 if self.fits else self.height - (self.space.capacity or 0)

    def __str__(self) -> str:
        of = "" if self.space.capacity is None else f" of {self.space.capacity}"
        status = "optimal" if self.optimal else f"gap {self.gap:.1%} to {self.lower_bound}"
        nodes = f", {self.nodes} nodes" if self.nodes else ""
        text = f"{self.space.name}: {self.height}{of} {self.space.unit}, {status}"
        short = "" if self.fits else f", {self.missing} too many"
        return f"{text}{short} ({self.method}{nodes})"


@dataclass(frozen=True)
class Plan:
    """Offsets by block id, and the height of each space. Every constraint has been checked."""

    problem: Problem
    offsets: Mapping[str, int]
    spaces: tuple[SpacePlan, ...] = field(default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "offsets", MappingProxyType(dict(self.offsets)))

    @property
    def optimal(self) -> bool:
        """Whether every space is as low as it can be."""
        return all(space.optimal for space in self.spaces)

    @property
    def fits(self) -> bool:
        """Whether every space is within its capacity."""
        return all(space.fits for space in self.spaces)

    def of(self, space: str) -> SpacePlan:
        """What was planned for one space."""
        for one in self.spaces:
            if one.space.name == space:
                return one
        raise KeyError(space)

    def height(self, space: str) -> int:
        """Where the topmost block of a space ends."""
        return self.of(space).height

    def require_fit(self) -> Plan:
        """The plan itself; raises DoesNotFit with the plan's text where a space is too small."""
        if not self.fits:
            raise DoesNotFit(str(self))
        return self

    def __str__(self) -> str:
        lines: list[str] = []
        for one in self.spaces:
            lines.append(str(one))
            blocks = sorted(self.problem.in_space(one.space.name), key=self._by_offset)
            lines += [f"  {self._row(block)}" for block in blocks]
        return "\n".join(lines)

    def _by_offset(self, block: Block) -> tuple[int, int]:
        return self.offsets[block.id], -block.size

    def _row(self, block: Block) -> str:
        start = self.offsets[block.id]
        return f"{start}..{start + block.size}  {block}"
