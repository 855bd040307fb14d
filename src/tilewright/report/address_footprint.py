"""Which bytes one program and the adjacent ones access, to be drawn.

Formulas become numbers here: what the launch leaves open gets a sample value, loops are in their
first iteration, and the program is the first of the grid. A picture lists the samples it shows.
What depends on the contents of memory has no picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.analysis.affine.arrays import BoolArray, IntArray, evaluate_array, holds_array
from tilewright.analysis.affine.formula import Formula
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind
from tilewright.analysis.pid_address import AddressReport, MemoryOp

Program = tuple[int, int, int]

_AXES = 3
_SAMPLE_GRID = 4
"""Programs along an axis of which nothing is known."""
_SAMPLE_TILES = 4
"""Sizes of which nothing is known hold so many blocks of the access along its longest side."""


@dataclass(frozen=True)
class Bytes:
    """What one program accesses: half-open runs of byte offsets, ascending."""

    program: Program
    runs: tuple[tuple[int, int], ...]
    active: int
    """Lanes that take part."""
    lanes: int


@dataclass(frozen=True)
class Footprint:
    """One access of a few programs, the first of which is the one looked at."""

    parts: tuple[Bytes, ...]
    pitch: int | None
    """Bytes between the rows of a tile; None where addresses are on one line."""
    samples: Mapping[str, int]
    """Values chosen for symbols that the launch leaves open."""
    remarks: tuple[str, ...]


class NotDrawable(Exception):
    """Why an access cannot be drawn."""


def footprint(report: AddressReport, access: MemoryOp) -> Footprint:
    """The bytes of `access` for the first program and its adjacent ones. Raises ``NotDrawable``."""
    roots = [access.offset, access.guard, *([access.mask] if access.mask is not None else [])]
    opaque = next(_opaque(access.offset), None)
    if access.base.startswith("*") or access.base == "?":
        raise NotDrawable("the pointer itself comes from memory")
    if opaque is not None:
        raise NotDrawable(f"the address depends on {opaque}, which is not known before the launch")
    samples = _samples(report, access, roots)
    conditions = [each for each in roots if isinstance(each, Formula)]
    known = [each for each in conditions if next(_opaque(each), None) is None]
    parts = tuple(
        _bytes(access, known, {**samples, **_program_values(program)}, program)
        for program in _programs(report, access)
    )
    remarks: list[str] = []
    if len(known) < len(conditions):
        remarks.append("lanes are drawn whatever their mask, which depends on memory")
    remarks.extend(f"first iteration of {loop.name}" for loop in access.loops)
    shown = {name: value for name, value in samples.items() if not _is_counter(access, name)}
    return Footprint(parts, _pitch(access, samples), shown, tuple(remarks))


# Values for symbols.


def _symbols(roots: list[Poly | Formula]) -> Iterator[Atom]:
    space = roots[0].space
    for atom in space.atoms_within(roots):
        if atom.kind is SymbolKind.SYMBOL:
            yield atom


def _opaque(root: Poly | Formula) -> Iterator[str]:
    """Names of what is only known when the kernel runs."""
    for atom in root.space.atoms_within((root,)):
        if atom.kind is SymbolKind.CALL:
            yield atom.name
    if isinstance(root, Formula):
        yield from _predicates(root)


def _predicates(formula: Formula) -> Iterator[str]:
    if formula.name:
        yield formula.name
    for part in formula.parts:
        yield from _predicates(part)


def _samples(
    report: AddressReport, access: MemoryOp, roots: list[Poly | Formula]
) -> dict[str, int]:
    placed = {f"pid{axis}" for axis in range(_AXES)}
    placed |= {lane.name for lane in access.lanes if lane is not None}
    counters = {loop.counter.name for loop in access.loops}
    samples: dict[str, int] = {}
    for atom in _symbols(roots):
        if atom.name in placed:
            continue
        if atom.name in counters:
            samples[atom.name] = 0
        else:
            samples[atom.name] = _sample(access, atom)
    return samples


def _sample(access: MemoryOp, atom: Atom) -> int:
    """A value that the symbol can have, large enough for a few blocks."""
    grid = _SAMPLE_GRID
    if not atom.name.startswith("np"):
        grid = _SAMPLE_TILES * max(access.shape, default=1)
    units = -(-grid // atom.divisor)
    low, high = atom.range.lo, atom.range.hi
    units = units if low is None else max(units, low)
    units = units if high is None else min(units, high)
    return units * atom.divisor


def _is_counter(access: MemoryOp, name: str) -> bool:
    return any(loop.counter.name == name for loop in access.loops)


# Programs and their bytes.


def _programs(report: AddressReport, access: MemoryOp) -> Iterator[Program]:
    """The first program, and the next ones along the axes that matter."""
    yield (0, 0, 0)
    axes = access.pid_axes or (0,)
    steps = (1, 2) if len(axes) == 1 else (1,)
    for axis in axes:
        count = report.grid[axis]
        for step in steps:
            if count is None or step < count:
                x, y, z = (step if other == axis else 0 for other in range(_AXES))
                yield (x, y, z)


def _program_values(program: Program) -> dict[str, int]:
    return {f"pid{axis}": index for axis, index in enumerate(program)}


def _bytes(
    access: MemoryOp, conditions: list[Formula], values: dict[str, int], program: Program
) -> Bytes:
    shape = access.shape
    arrays: dict[str, int | IntArray] = dict(values)
    for dim, lane in enumerate(access.lanes):
        if lane is not None:
            extents = [-1 if other == dim else 1 for other in range(len(shape))]
            arrays[lane.name] = np.arange(shape[dim]).reshape(extents)
    offsets = np.broadcast_to(evaluate_array(access.offset, arrays), shape)
    taking: BoolArray = np.ones(shape, dtype=bool)
    for condition in conditions:
        taking = taking & holds_array(condition, arrays)
    chosen = np.unique(offsets[taking])
    runs = tuple(_runs(chosen, access.elem_bytes))
    return Bytes(program, runs, int(taking.sum()), int(taking.size))


def _runs(offsets: IntArray, size: int) -> Iterator[tuple[int, int]]:
    if not offsets.size:
        return
    breaks = np.flatnonzero(np.diff(offsets) > size)
    starts = offsets[np.concatenate(([0], breaks + 1))]
    ends = offsets[np.concatenate((breaks, [offsets.size - 1]))]
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield start, end + size


def _pitch(access: MemoryOp, samples: Mapping[str, int]) -> int | None:
    """The step from row to row, if the lanes make up a tile of rows apart from each other."""
    lanes = [lane for lane in access.lanes if lane is not None]
    first = {**samples, **_program_values((0, 0, 0)), **{lane.name: 0 for lane in lanes}}
    steps: list[int] = []
    for lane in lanes:
        pair = evaluate_array(access.offset, {**first, lane.name: np.arange(2)})
        start, following = np.broadcast_to(pair, (2,)).tolist()
        steps.append(abs(following - start))
    if len(steps) < 2 or max(steps) <= min(steps):
        return None
    return max(steps)
