"""Memory faults of a launch as diagnostics.

    k.py:9:9: error[TW6101]: load out of bounds: x[1000], but x has 1000 elements
      9 |     x = tl.load(x_ptr + offs)
        |         ^
      note: program (7, 0, 0), lane 104 of 128; 24 lanes of 1 program affected
      note: x is float32 with shape (1000,)
      note: the block extends 24 elements past the end of x: load with `mask=offs < 1000`, ...

The lane named is the first one in the order of the launch. The last note suggests a fix,
as far as the lanes show one (`fix_hints`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Grid, NumpyFault, Site
from tilewright.targets.numpy.buffers import AddressSpace, MemoryRegion
from tilewright.targets.numpy.element_addresses import describe, element_at
from tilewright.targets.numpy.fault_codes import DATA_RACE, OUT_OF_BOUNDS, READ_ONLY, UNINITIALISED
from tilewright.targets.numpy.fix_hints import (
    advise_bounds,
    advise_gap,
    advise_race,
    advise_read_only,
    advise_store_mask,
    advise_uninitialised,
    advise_unknown,
)
from tilewright.targets.numpy.lanes import Lanes, lane_text, program_id
from tilewright.targets.numpy.named_indices import ProgramValues
from tilewright.targets.numpy.races import Other

FaultKind: TypeAlias = Literal[
    "out of bounds",
    "between elements",
    "misaligned",
    "unknown address",
    "null pointer",
    "read-only",
    "uninitialised",
    "race",
]

CODES: dict[FaultKind, str] = {
    "out of bounds": OUT_OF_BOUNDS,
    "between elements": "TW6102",
    "misaligned": "TW6103",
    "unknown address": "TW6104",
    "null pointer": "TW6105",
    "read-only": READ_ONLY,
    "uninitialised": UNINITIALISED,
    "race": DATA_RACE,
}

_NULL_PAGE = 4096
"""No array begins below: such an address is an offset from nothing."""

NOUNS = {
    "load": "load",
    "store": "store",
    "atomic_rmw": "atomic update",
    "atomic_cas": "atomic compare-and-swap",
}


@dataclass(frozen=True)
class Scene:
    """One access that went wrong, and where."""

    site: Site
    region: MemoryRegion | None
    lanes: Lanes
    """All that took part."""
    bad: Lanes
    """Those that are concerned, at least one."""
    grid: Grid
    masked: bool
    """Whether lanes may be masked off, by the op's own mask or by bounds it checks."""
    space: AddressSpace
    arguments: Sequence[object] = ()
    """Of the launch."""

    @property
    def noun(self) -> str:
        return NOUNS[self.site.kind]

    @property
    def address(self) -> int:
        return int(self.bad.addresses[0])

    @property
    def program(self) -> Grid:
        return program_id(int(self.bad.programs[0]), self.grid)


class MemoryFault(NumpyFault):
    """An access that the kernel should not have made."""

    def __init__(
        self,
        kind: FaultKind,
        scene: Scene,
        message: str,
        notes: tuple[str | Diagnostic, ...],
        sources: SourceManager | None,
    ) -> None:
        self.kind: FaultKind = kind
        self.site = scene.site
        self.argument = None if scene.region is None else scene.region.name
        self.address = scene.address
        self.lane = int(scene.bad.indices[0])
        """Number of the lane in the block, row by row."""
        self.lanes = len(scene.bad)
        self.programs = len(np.unique(scene.bad.programs))
        element = None if scene.region is None else element_at(scene.address, scene.region)
        self.index: tuple[int, ...] | None = None if element is None else element.index
        """Into the array; out of range where the address is."""
        diagnostic = Diagnostic(Severity.ERROR, message, scene.site.location, CODES[kind])
        for text in (_program_note(scene), *notes):
            note = text if isinstance(text, Diagnostic) else Diagnostic(Severity.NOTE, text)
            diagnostic.notes.append(note)
        super().__init__(diagnostic, scene.program, sources)


def _program_note(scene: Scene) -> str:
    """Which program and lane, and how many more."""
    lane = lane_text(int(scene.bad.indices[0]), scene.site.shape)
    lanes, programs = len(scene.bad), len(np.unique(scene.bad.programs))
    first = f"program {scene.program}" + (f", {lane}" if lane else "")
    if lanes == 1:
        return first
    of_programs = f"{programs} program" + ("s" if programs > 1 else "")
    if not scene.site.shape:
        return f"{first}; {of_programs} affected"
    return f"{first}; {lanes} lanes of {of_programs} affected"


def bad_address(scene: Scene, sources: SourceManager | None) -> MemoryFault:
    """The fault of an address that is no element; the first bad lane decides which."""
    if scene.region is None:
        return _unmapped(scene, sources)
    site, region = scene.site, scene.region
    element = element_at(scene.address, region)
    if scene.address % site.dtype.itemsize:
        message = (
            f"misaligned {scene.noun} of {site.dtype}: {element}; "
            f"the address must be a multiple of {site.dtype.itemsize} bytes"
        )
        notes = (describe(region), _alignment_note(site, region, element.distance))
        return MemoryFault("misaligned", scene, message, notes, sources)
    end = region.low + region.size
    if region.low <= scene.address and scene.address + site.dtype.itemsize <= end:
        message = f"{scene.noun} between the elements of {region.name}: {element}"
        notes = (describe(region), advise_gap(region.name, site.kind))
        return MemoryFault("between elements", scene, message, notes, sources)
    return _out_of_bounds(scene, region, sources)


def _alignment_note(site: Site, region: MemoryRegion, distance: int) -> Diagnostic:
    """Which offset the address has from the array, and which one it needs."""
    unit = site.dtype.itemsize
    if distance % unit == 0:
        text = (
            f"help: {region.name} itself begins at an address that is not a multiple of {unit} "
            "bytes: pass an aligned copy"
        )
        return Diagnostic(Severity.NOTE, text)
    offset = (
        f"make the byte offset from {region.name} a multiple of {unit}, the size of {site.dtype} "
        f"(this access is at byte {distance}), or load bytes and combine them"
    )
    if site.cast is None:
        return Diagnostic(Severity.NOTE, f"help: {offset}")
    return Diagnostic(Severity.NOTE, f"help: the pointer is cast here: {offset}", site.cast)


def _out_of_bounds(
    scene: Scene, region: MemoryRegion, sources: SourceManager | None
) -> MemoryFault:
    array = region.array
    element = element_at(scene.address, region)
    count = f"{array.size} element" + ("" if array.size == 1 else "s")
    if scene.address < region.low:
        before = (region.low - scene.address) // array.itemsize
        where = f"{before} element{'s' if before > 1 else ''} before the first of {region.name}"
    elif array.ndim > 1:
        where = f"{element}, but {region.name} has shape {tuple(map(int, array.shape))}"
    else:
        where = f"{element}, but {region.name} has {count}"
    notes = [describe(region)]
    other = scene.space.at(scene.address)
    if other is not None and other is not region:
        notes.append(f"the address is inside {other.name}, which is not part of {region.name}")
    program = ProgramValues(scene.program, scene.grid, scene.arguments)
    notes.append(
        advise_bounds(scene.site, region, scene.lanes, scene.bad, program, masked=scene.masked)
    )
    message = f"{scene.noun} out of bounds: {where}"
    return MemoryFault("out of bounds", scene, message, tuple(notes), sources)


def _unmapped(scene: Scene, sources: SourceManager | None) -> MemoryFault:
    if 0 <= scene.address < _NULL_PAGE:
        message = f"{scene.noun} through a null pointer"
        note = (
            "an argument is None, or a pointer loaded from memory is zero: pass an array, or mask "
            "the access"
        )
        return MemoryFault("null pointer", scene, message, (note,), sources)
    message = f"{scene.noun} at an unmapped address: {scene.address:#x} is in no array"
    return MemoryFault(
        "unknown address", scene, message, advise_unknown(scene.address, scene.space), sources
    )


def read_only(scene: Scene, sources: SourceManager | None) -> MemoryFault:
    assert scene.region is not None
    element = element_at(scene.address, scene.region)
    message = f"{scene.noun} to {element}, but {scene.region.name} is read-only"
    note = advise_read_only(scene.region.name)
    return MemoryFault("read-only", scene, message, (describe(scene.region), note), sources)


def uninitialised(scene: Scene, sources: SourceManager | None) -> MemoryFault:
    assert scene.region is not None
    element = element_at(scene.address, scene.region)
    message = f"uninitialised {scene.noun}: {element} has not been written"
    note = advise_uninitialised(scene.region.name)
    return MemoryFault("uninitialised", scene, message, (describe(scene.region), note), sources)


def race(scene: Scene, other: Other, sources: SourceManager | None) -> MemoryFault:
    assert scene.region is not None
    element = element_at(scene.address, scene.region)
    own, other_verb = _VERBS[scene.site.kind], other.verb
    first, second = scene.program, program_id(other.program, scene.grid)
    if own == other_verb:
        what = f"programs {first} and {second} both {own.removesuffix('s')} it"
    else:
        what = f"program {first} {own} it and program {second} {other_verb} it"
    note = Diagnostic(Severity.NOTE, f"program {second} {other_verb} it here", other.site.location)
    here = () if other.site.index == scene.site.index else (note,)
    mask = None
    if scene.site.kind == other.site.kind == "store" and scene.site.masked == other.site.masked:
        program = ProgramValues(first, scene.grid, scene.arguments)
        mask = advise_store_mask(scene.site, scene.region, scene.lanes, scene.bad, program)
    hints = (*(() if mask is None else (mask,)), advise_race(scene.region.name))
    return MemoryFault(
        "race",
        scene,
        f"data race on {element}: {what}",
        (*here, describe(scene.region), *hints),
        sources,
    )


_VERBS = {"load": "reads", "store": "writes", "atomic_rmw": "updates", "atomic_cas": "updates"}
