"""The memory map for other programs, and back.

The text is one object, with keys in this order and two spaces of indentation. Numbers are bytes or
columns, as in ``unit``; intervals are ``[start, end]``, the end not included, and relative to the
start of their region::

    {"schema": "tilewright.memory/1",
     "memories": [
       {"memory": "smem", "kernel": "", "unit": "bytes", "target": "sm_90",
        "capacity": 232448, "used": 131072, "free": 101376,      null without a target
        "regions": [
          {"name": "ring", "source": "gemm.py:12", "extent": 131072, "used": 131072,
           "strides": [131072], "alignment": 1024, "residue": 0,
           "dead": [], "padding": [],                            padding is part of dead
           "buffers": [
             {"name": "A", "source": "gemm.py:13", "path": "shared > shared*4 > distinct > A",
              "unit": 16384, "phases": [],
              "cells": [{"index": 0, "logical": 0, "start": 0, "end": 16384}, ...]}]}]}]}

``kernel`` is empty unless several kernels have memory, which then is listed for each of them.
``notes``, where a region has any, are sentences about it.
``extent`` is the storage a region takes, ``used`` where its last buffer ends; it starts at
``residue`` modulo ``alignment``; ``phases`` are the
names of the overlap definitions a buffer is in, where there are several.

What is added later keeps the schema's name; what changes meaning gets another number.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NotRequired, TypedDict

from tilewright.memory.map import Interval, MapCell, MemoryMap, RegionMap, Row
from tilewright.memory.targets import Memory

SCHEMA = "tilewright.memory/1"


class CellObject(TypedDict):
    """One buffer."""

    index: int
    logical: int
    start: int
    end: int


class BufferObject(TypedDict):
    """One allocation."""

    name: str
    source: str
    path: str
    unit: int
    phases: list[str]
    cells: list[CellObject]


class RegionObject(TypedDict):
    """One region."""

    name: str
    source: str
    extent: int
    used: int
    strides: list[int]
    alignment: int
    residue: int
    dead: list[list[int]]
    padding: list[list[int]]
    buffers: list[BufferObject]
    notes: NotRequired[list[str]]


class MemoryObject(TypedDict):
    """All regions of one memory."""

    memory: str
    kernel: str
    unit: str
    target: str
    capacity: int | None
    used: int
    free: int | None
    regions: list[RegionObject]


class Document(TypedDict):
    """The whole text."""

    schema: str
    memories: list[MemoryObject]


def render(maps: Sequence[MemoryMap]) -> str:
    """The maps as JSON text."""
    document = Document(schema=SCHEMA, memories=[_memory(each) for each in maps])
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _memory(memory: MemoryMap) -> MemoryObject:
    return MemoryObject(
        memory=memory.memory.value,
        kernel=memory.kernel,
        unit=memory.memory.unit_name,
        target=memory.target,
        capacity=memory.capacity,
        used=memory.used,
        free=memory.free,
        regions=[_region(region) for region in memory.regions],
    )


def _region(region: RegionMap) -> RegionObject:
    data = RegionObject(
        name=region.name,
        source=region.source,
        extent=region.extent,
        used=region.used,
        strides=[*region.strides],
        alignment=region.alignment,
        residue=region.residue,
        dead=[[interval.start, interval.end] for interval in region.dead],
        padding=[[interval.start, interval.end] for interval in region.padding],
        buffers=[_buffer(row) for row in region.rows],
    )
    if region.notes:
        data["notes"] = [*region.notes]
    return data


def _buffer(row: Row) -> BufferObject:
    return BufferObject(
        name=row.name,
        source=row.source,
        path=row.path,
        unit=row.unit,
        phases=[*row.phases],
        cells=[
            CellObject(
                index=cell.index,
                logical=cell.logical,
                start=cell.interval.start,
                end=cell.interval.end,
            )
            for cell in row.cells
        ],
    )


def read(text: str) -> tuple[MemoryMap, ...]:
    """The maps that `text` describes. Raises ValueError for text of another schema."""
    document: Document = json.loads(text)
    if document.get("schema") != SCHEMA:
        raise ValueError(f"expected the schema {SCHEMA}, got {document.get('schema')}")
    return tuple(_read_memory(each) for each in document["memories"])


def _read_memory(data: MemoryObject) -> MemoryMap:
    memory = Memory(data["memory"])
    regions = tuple(_read_region(each, memory) for each in data["regions"])
    return MemoryMap(
        memory,
        regions,
        data["used"],
        data["capacity"],
        data["target"],
        data.get("kernel", ""),
    )


def _read_region(data: RegionObject, memory: Memory) -> RegionMap:
    return RegionMap(
        data["name"],
        data["source"],
        memory,
        data["extent"],
        data["used"],
        tuple(data["strides"]),
        tuple(_read_row(each) for each in data["buffers"]),
        tuple(Interval(*interval) for interval in data["dead"]),
        tuple(Interval(*interval) for interval in data["padding"]),
        data.get("alignment", 1),
        data.get("residue", 0),
        tuple(data.get("notes", ())),
    )


def _read_row(data: BufferObject) -> Row:
    cells = tuple(
        MapCell(cell["index"], cell["logical"], Interval(cell["start"], cell["end"]))
        for cell in data["cells"]
    )
    return Row(
        data["name"], data["source"], data["path"], data["unit"], cells, tuple(data["phases"])
    )
