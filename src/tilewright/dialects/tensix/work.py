"""What the kernels of a core execute, counted: the part of a plan that a cost model reads.

    ["noc_read", "A", 512, [2048]]        512 reads of pages of 2048 B of the tensor A
    ["matmul_block", "2x4", 96, [2048, 2048]]
    ["sfpu", "exp", 64, []]

A row is a kind, a detail of it, the number of executions, and the bytes of its tiles or pages.
Cores whose kernels execute the same share one record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.dialects.tensix.json_attr import Json

ROLES = ("reader", "compute", "writer")


@dataclass(frozen=True, order=True)
class OpWork:
    """One kind of operation, and the number of its executions."""

    kind: str
    detail: str
    count: int
    tile_bytes: tuple[int, ...] = ()
    """Bytes of each operand, page or transfer."""


@dataclass(frozen=True, order=True)
class BufferWork:
    """How a circular buffer is filled or emptied: `count` times `pages` pages."""

    index: int
    call: str
    """``push`` or ``pop``."""
    pages: int
    count: int


@dataclass(frozen=True)
class CoreWork:
    """What the kernels of some cores execute, the same on each of them."""

    cores: tuple[int, ...]
    """Ids of the cores."""
    reader: tuple[OpWork, ...]
    compute: tuple[OpWork, ...]
    writer: tuple[OpWork, ...]
    buffers: tuple[BufferWork, ...]

    def of(self, role: str) -> tuple[OpWork, ...]:
        """The operations of one kernel."""
        return {"reader": self.reader, "compute": self.compute, "writer": self.writer}[role]

    def count(self, role: str, kind: str, detail: str | None = None) -> int:
        """Executions of one kind in a kernel."""
        return sum(
            each.count
            for each in self.of(role)
            if each.kind == kind and detail in (None, each.detail)
        )


def work_data(work: CoreWork) -> dict[str, Json]:
    """The record of the plan file."""
    found: dict[str, Json] = {"cores": list(work.cores)}
    for role in ROLES:
        found[role] = [
            [each.kind, each.detail, each.count, list(each.tile_bytes)] for each in work.of(role)
        ]
    found["cbs"] = [[each.index, each.call, each.pages, each.count] for each in work.buffers]
    return found


def work_from_data(data: Mapping[str, Any]) -> CoreWork:
    """Back from `work_data`."""
    reader, compute, writer = (_ops(data[role]) for role in ROLES)
    buffers = tuple(BufferWork(*each) for each in data["cbs"])
    return CoreWork(tuple(data["cores"]), reader, compute, writer, buffers)


def _ops(rows: Sequence[Sequence[Any]]) -> tuple[OpWork, ...]:
    return tuple(
        OpWork(kind, detail, count, tuple(tile_bytes)) for kind, detail, count, tile_bytes in rows
    )
