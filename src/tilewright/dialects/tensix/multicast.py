"""The multicast part of a plan: which core sends pages of an operand to which others.

    {operand = "A", axis = "x", sender = [0, 2], dests = [1, 2, 7, 2], num_dests = 7,
     ready_sem = 0, valid_sem = 1, pages_per_step = 4}

A group has a sender, which reads from DRAM, and receivers: the cores of a rectangle but the sender.
Readers learn the NoC coordinates of the others from run-time arguments:

    sender     A_x_start A_y_start A_x_end A_y_end A_dests     the corners, and how many receive
    receiver   A_sender_x A_sender_y
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from tilewright.dialects.tensix.json_attr import Json

Core = tuple[int, int]
"""Column and row of a logical core."""

CORNERS = ("x_start", "y_start", "x_end", "y_end")
DESTS = "dests"
SENDER = ("sender_x", "sender_y")


@dataclass(frozen=True)
class NocWord:
    """A run-time argument that is a NoC coordinate, which the host looks up."""

    core: Core
    axis: str
    """``x`` or ``y``."""


@dataclass(frozen=True)
class MulticastGroup:
    """One sender, and the cores that receive its pages of an operand."""

    operand: str
    axis: str
    """``x`` for cores of one row, ``y`` for cores of one column, ``xy`` for several of both."""
    sender: Core
    dests: tuple[int, int, int, int]
    """Corners of a rectangle of logical cores, both inclusive; the sender does not count."""
    num_dests: int
    ready_sem: int
    """Id of the semaphore of the sender that counts receivers."""
    valid_sem: int
    """Id of the semaphore of a receiver that signals the arrival of pages."""
    pages_per_step: int

    @property
    def receivers(self) -> tuple[Core, ...]:
        """The cores of the rectangle without the sender, row by row."""
        x0, y0, x1, y1 = self.dests
        cores = [(x, y) for y in range(y0, y1 + 1) for x in range(x0, x1 + 1)]
        return tuple(core for core in cores if core != self.sender)

    def includes(self, core: Core) -> bool:
        """Whether a core sends or receives."""
        x0, y0, x1, y1 = self.dests
        return core == self.sender or (x0 <= core[0] <= x1 and y0 <= core[1] <= y1)

    def words(self, core: Core, noc: int) -> dict[str, int | NocWord]:
        """The run-time arguments of a member by name.

        NoC 1 routes in the opposite direction, so a rectangle starts at its other corner there.
        """
        if core != self.sender:
            names = [f"{self.operand}_{name}" for name in SENDER]
            return {
                name: NocWord(self.sender, axis) for name, axis in zip(names, "xy", strict=True)
            }
        first, last = self.dests[:2], self.dests[2:]
        start, end = (first, last) if noc == 0 else (last, first)
        corners = (NocWord(start, "x"), NocWord(start, "y"), NocWord(end, "x"), NocWord(end, "y"))
        words: dict[str, int | NocWord] = {
            f"{self.operand}_{name}": word for name, word in zip(CORNERS, corners, strict=True)
        }
        return {**words, f"{self.operand}_{DESTS}": self.num_dests}


@dataclass(frozen=True)
class SemaphorePlan:
    """One semaphore on every active core."""

    id: int
    name: str
    initial: int


@dataclass(frozen=True)
class Multicast:
    """Which cores receive operands from other cores, and the semaphores of the program."""

    groups: tuple[MulticastGroup, ...]
    semaphores: tuple[SemaphorePlan, ...]

    def words(self, core: Core, noc: int) -> dict[str, int | NocWord]:
        """The run-time arguments of a core by name."""
        found: dict[str, int | NocWord] = {}
        for group in self.groups:
            if group.includes(core):
                found |= group.words(core, noc)
        return found


# -- conversions -----------------------------------------------------------------------------------


def groups_data(groups: Sequence[MulticastGroup]) -> list[Json]:
    """The groups as plain values."""
    return [
        {**asdict(each), "sender": list(each.sender), "dests": list(each.dests)} for each in groups
    ]


def groups_of(data: Sequence[Mapping[str, Any]]) -> tuple[MulticastGroup, ...]:
    """The groups that `groups_data` describes."""
    return tuple(_group(each) for each in data)


def _group(data: Mapping[str, Any]) -> MulticastGroup:
    fields: dict[str, Any] = {
        **data,
        "sender": cast("Core", tuple(data["sender"])),
        "dests": cast("tuple[int, int, int, int]", tuple(data["dests"])),
    }
    return MulticastGroup(**fields)


def multicast_data(multicast: Multicast) -> dict[str, Json]:
    """The multicast part of a plan file."""
    return {
        "groups": groups_data(multicast.groups),
        "semaphores": [
            {"id": each.id, "name": each.name, "initial": each.initial}
            for each in multicast.semaphores
        ],
    }


def multicast_of(data: Mapping[str, Any]) -> Multicast:
    """The value that `multicast_data` describes."""
    return Multicast(
        groups_of(data["groups"]), tuple(SemaphorePlan(**each) for each in data["semaphores"])
    )
