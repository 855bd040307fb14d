"""The memory map for terminals: 80 columns, no colours, nothing beyond ASCII from us.

::

    lines of gemm.py

    shared memory on sm_90: 131072 of 232448 bytes (56%), 101376 free
    [========================================...............................]

    ring: 131072 bytes, stride 131072, padding 0, dead 0; line 12
          |0              |32768          |65536          |98304     131072|
      A 1 [0=====]        [1=====]        [2=====]        [3=====]
      B 2         [0=====]        [1=====]        [2=====]        [3=====]
      C 3 [0=============================================================]

A row is an allocation, its cells are the buffers with their indices, and numbers lead to notes with
exact addresses, source lines and tree paths. Below the rows is the number of buffers at each
offset; space that none covers is hatched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

from tilewright.memory.map import MapCell, MemoryMap, RegionMap, Row
from tilewright.report.geometry import (
    Scale,
    depths,
    full_scale,
    gaps,
    is_plain,
    region_line,
    row_line,
    shortened,
    total_line,
)

WIDTH = 80
MAX_NAME = 14
MAX_STARTS = 12
"""Addresses of one allocation that a note lists."""

DEPTH_ROW = "buffers"
_HATCH = {"padding": "/", "dead": "x"}
_MEANING = {
    "padding": "/ no buffer, because of alignment",
    "dead": "x no buffer",
}


def render(maps: Sequence[MemoryMap]) -> str:
    """The maps one below the other."""
    if not maps:
        return "no shared or tensor memory is allocated\n"
    maps, file = _short_sources(maps)
    # A path is not wrapped: it would not be one to copy.
    head = f"lines of {file}\n\n" if file else ""
    return head + "\n".join("\n".join(_memory(each)) + "\n" for each in maps)


def _short_sources(maps: Sequence[MemoryMap]) -> tuple[Sequence[MemoryMap], str]:
    """The maps without the name of the file, where all is from one; and the file."""
    regions = [region for memory in maps for region in memory.regions]
    sources = [region.source for region in regions]
    sources += [row.source for region in regions for row in region.rows]
    files = {source.rpartition(":")[0] for source in sources if source}
    if len(files) != 1:
        return maps, ""
    return [
        replace(memory, regions=tuple(_short_region(region) for region in memory.regions))
        for memory in maps
    ], files.pop()


def _short_region(region: RegionMap) -> RegionMap:
    rows = tuple(replace(row, source=_line_of(row.source)) for row in region.rows)
    return replace(region, source=_line_of(region.source), rows=rows)


def _line_of(source: str) -> str:
    return f"line {source.rpartition(':')[2]}" if source else ""


def _memory(memory: MemoryMap) -> Iterator[str]:
    yield from _wrapped(total_line(memory))
    if memory.capacity is not None:
        yield _bar(memory)
    for region in memory.regions:
        if not is_plain(region):
            yield ""
            yield from _region(region)
    plain = [region for region in memory.regions if is_plain(region)]
    if plain:
        yield ""
        yield from _plain(plain)


def _bar(memory: MemoryMap) -> str:
    """Used, free and missing space on one scale."""
    scale = full_scale(memory, WIDTH - 2)
    capacity = memory.capacity or 0
    used = scale.at(min(memory.used, capacity))
    missing = scale.width - scale.at(capacity) if memory.used > capacity else 0
    free = scale.width - used - missing
    return f"[{'=' * used}{'.' * free}{'!' * missing}]"


def _region(region: RegionMap) -> Iterator[str]:
    names = [shortened(row.name, MAX_NAME) for row in region.rows]
    label = max(map(len, [*names, DEPTH_ROW]))
    digits = len(str(len(names)))
    scale = Scale(region.extent, WIDTH - label - digits - 4)
    margin = " " * (label + digits + 4)
    yield from _wrapped(
        "; ".join([f"{region.name}: {region_line(region)}", *_given(region.source)])
    )
    yield f"{margin}{_ruler(scale)}".rstrip()
    for index, (name, row) in enumerate(zip(names, region.rows, strict=True), 1):
        yield f"  {name:{label}} {index:{digits}} {_cells(row.cells, scale)}".rstrip()
    yield f"  {DEPTH_ROW:{label}} {'':{digits}} {_depth(region, scale)}".rstrip()
    kinds = dict.fromkeys(kind for kind, _ in gaps(region))
    if kinds:
        yield f"{margin}{'; '.join(_MEANING[kind] for kind in kinds)}"
    for index, row in enumerate(region.rows, 1):
        yield from _note(index, digits, region, row)
    for note in region.notes:
        yield from _wrapped(note, "  - ", "    ")


def _given(*parts: str) -> tuple[str, ...]:
    return tuple(part for part in parts if part)


def _ruler(scale: Scale) -> str:
    """Addresses at quarters where these are whole numbers, and at both ends."""
    parts = 4 if scale.extent % 4 == 0 else 1
    line = [" "] * scale.width
    end = f"{scale.extent}|"
    space = scale.width - len(end)
    for part in range(parts):
        address = scale.extent * part // parts
        text, left = f"|{address}", scale.at(address)
        if left + len(text) < space or not part:
            line[left : left + len(text)] = text
    line[space:] = end
    return "".join(line)


def _cells(cells: Sequence[MapCell], scale: Scale) -> str:
    line = [" "] * scale.width
    for cell in cells:
        span = scale.span(cell.interval)
        for step, char in zip(range(span.start, span.end), _cell(cell, span.length), strict=True):
            # Several buffers in one character: too small to be distinguished at this scale.
            line[step] = char if line[step] == " " else "#"
    return "".join(line)


def _cell(cell: MapCell, width: int) -> str:
    """``[3====]``, or without brackets where there is no space for them."""
    index = str(cell.index)
    inner = width - 2 if width > 2 else width
    body = (index if len(index) <= inner else "").ljust(inner, "=")
    return f"[{body}]" if width > 2 else body


def _depth(region: RegionMap, scale: Scale) -> str:
    line = [" "] * scale.width
    for depth in sorted(depths(region), key=lambda depth: depth.count):
        # Every character that is accessed, so that the deepest overlap shows whatever its size.
        left, right = (
            scale.at(depth.interval.start),
            -(-depth.interval.end * scale.width // scale.extent),
        )
        char = str(depth.count) if depth.count < 10 else "+"
        if depth.count:
            line[left:right] = char * (right - left)
    for kind, interval in gaps(region):
        span = scale.span(interval)
        line[span.start : span.end] = _HATCH[kind] * span.length
    return "".join(line)


def _note(index: int, digits: int, region: RegionMap, row: Row) -> Iterator[str]:
    starts = [str(cell.interval.start) for cell in row.cells[:MAX_STARTS]]
    if len(row.cells) > MAX_STARTS:
        starts.append(f"... {row.cells[-1].interval.start}")
    head = f"{index:{digits}} {row.name}: {row_line(region, row)} at {' '.join(starts)}"
    origin = "; ".join(_given(row.source, row.path))
    margin = " " * (digits + 3)
    if len(head) + len(origin) + 4 <= WIDTH and origin:
        yield f"  {head}; {origin}"
        return
    yield from _wrapped(head, "  ", margin)
    if origin:
        yield from _wrapped(origin, margin, margin)


def _plain(regions: Sequence[RegionMap]) -> Iterator[str]:
    """Ordinary allocations need no picture, only their share."""
    yield "plain allocations"
    rows = [region.rows[0] for region in regions]
    label = max(len(shortened(row.name, MAX_NAME)) for row in rows)
    digits = max(len(str(region.extent)) for region in regions)
    for region, row in zip(regions, rows, strict=True):
        name = shortened(row.name, MAX_NAME)
        text = "; ".join([row_line(region, row), *_given(row.source)])
        head = f"{name:{label}} {region.extent:{digits}}  {text}"
        yield from _wrapped(head, "  ", " " * (label + digits + 5))


def _wrapped(text: str, first: str = "", rest: str = "  ") -> Iterator[str]:
    # wrap() would swallow the spaces that align columns, so the first line is cut by hand if short.
    if len(first) + len(text) <= WIDTH:
        yield first + text
        return
    yield from wrap(
        first + text,
        WIDTH,
        subsequent_indent=rest,
        drop_whitespace=True,
        break_on_hyphens=False,
    )
