"""Where in the user's files an operation comes from.

IR carries locations as trees: a name around a position, a call site with a callee and a
caller, several positions fused into one. A reader needs one position first and, if the
code was inlined, the calls that led there. `resolve` turns the tree into that `Trail`:

    callsite("f"("lib.py":3:5) at "k"("main.py":9:1))
      primary  lib.py:3:5  names ("f",)
      callers  main.py:9:1 in k

Rules: the callee comes before its callers; a fused location is its first child that holds a
position; a part without any position is skipped. Lines and columns count from 1, and a column
counts characters (not bytes); 0 means "not known", as in MLIR.

Locations come from text that anybody may write, so the walk keeps its own stack (nesting depth
is not limited by Python's) and enters no part without a position (shared parts of a location
can stand for exponentially many paths).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute

RANGE_LOCATION_NAME = "builtin.file_line_col_range"
"""Name of the range location attribute. It is defined by the text layer, which reports through
this package; going by name keeps the two free of an import cycle."""

MAX_FRAMES = 64
"""Longest call chain that is followed."""


@dataclass(frozen=True)
class SourcePosition:
    """A position in a file, or with an end a range: `end_column` is the first one after it."""

    file: str
    line: int
    column: int
    end_line: int | None = None
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


Location: TypeAlias = Attribute | SourcePosition
"""What a diagnostic may point at: a location attribute, or a bare position."""


@dataclass(frozen=True)
class Frame:
    """One position of a call chain and the location names around it, outermost first."""

    position: SourcePosition
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.position} in {self.names[0]}" if self.names else str(self.position)


@dataclass(frozen=True)
class Trail:
    """A resolved location: the position to show, its names, and the calls that led there."""

    primary: SourcePosition | None = None
    names: tuple[str, ...] = ()
    callers: tuple[Frame, ...] = ()


def resolve(location: Location | None) -> Trail:
    """The position of `location`. Never fails: an unresolvable location has no primary."""
    if location is None:
        return Trail()
    if isinstance(location, SourcePosition):
        return Trail(location)
    frames = _frames(location)
    if not frames:
        return Trail(names=_first_names(location))
    return Trail(frames[0].position, frames[0].names, tuple(frames[1:]))


def _frames(location: Attribute) -> list[Frame]:
    """Positions along the call chain, innermost first."""
    placed = _parts_with_position(location)
    frames: list[Frame] = []
    stack: list[tuple[Attribute, tuple[str, ...]]] = [(location, ())]
    while stack and len(frames) < MAX_FRAMES:
        current, names = stack.pop()
        if id(current) not in placed:
            continue
        position = _own_position(current)
        if position is not None:
            frames.append(Frame(position, names))
        elif isinstance(current, NameLoc):
            stack.append((current.location, (*names, current.desc.data)))
        elif isinstance(current, CallSiteLoc):
            stack += [(current.caller, ()), (current.callee, names)]
        else:
            chosen = next(part for part in _children(current) if id(part) in placed)
            stack.append((chosen, names))
    return frames


def _parts_with_position(location: Attribute) -> set[int]:
    """Ids of the parts of `location` that hold a position somewhere below them.

    Ids, because hashing an attribute walks all of it; they are stable while `location` lives.
    """
    placed: set[int] = set()
    entered: set[int] = set()
    stack = [(location, False)]
    while stack:
        current, children_done = stack.pop()
        if children_done:
            if any(id(part) in placed for part in _children(current)):
                placed.add(id(current))
        elif id(current) not in entered:
            entered.add(id(current))
            if _own_position(current) is not None:
                placed.add(id(current))
                continue
            stack.append((current, True))
            stack += [(part, False) for part in _children(current)]
    return placed


def _children(location: Attribute) -> Iterator[Attribute]:
    match location:
        case NameLoc():
            yield location.location
        case CallSiteLoc():
            yield location.callee
            yield location.caller
        case FusedLoc(locations=ArrayAttr(data=parts)):
            yield from parts
        case _:
            return


def _own_position(location: Attribute) -> SourcePosition | None:
    if isinstance(location, FileLineColLoc):
        return SourcePosition(location.filename.data, location.line.data, location.column.data)
    if location.name == RANGE_LOCATION_NAME:
        return _range_position(location)
    return None


def _range_position(location: Attribute) -> SourcePosition | None:
    filename: object = getattr(location, "filename", None)
    if not isinstance(filename, StringAttr):
        return None
    coordinates: list[int] = []
    for field in ("start_line", "start_column", "end_line", "end_column"):
        value: object = getattr(location, field, None)
        if not isinstance(value, IntAttr):
            return None
        coordinates.append(value.data)
    return SourcePosition(filename.data, *coordinates)


def _first_names(location: Attribute) -> tuple[str, ...]:
    """Names of a location without a position: the first name found, and those around it."""
    visited: set[int] = set()
    stack = [location]
    while stack:
        current = stack.pop()
        if id(current) in visited:
            continue
        if isinstance(current, NameLoc):
            return _nested_names(current)
        visited.add(id(current))
        stack += reversed(list(_children(current)))
    return ()


def _nested_names(location: Attribute) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(location, NameLoc):
        names.append(location.desc.data)
        location = location.location
    return tuple(names)
