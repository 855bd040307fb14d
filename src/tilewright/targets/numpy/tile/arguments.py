"""Checks of the arguments of a launch: before it, no argument overlaps one that is written, and
scalars are the multiples that they are declared to be; after it, every element of a result was
written.

A tensor that the call allocates (`out_idx`, `T.empty`) is uninitialised before the launch, and all
of it is returned: an element that no block writes is a fault. A tensor that the caller passes is
initialised; a kernel may write a region of it and leave the rest as it was. For an array that the
caller has not initialised, the elements left unwritten are reported (`runtime/tile/fresh.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast

import numpy as np
from xdsl.ir import Attribute

from tilewright.ir.diagnostics import Diagnostic, Severity, SourceManager
from tilewright.targets.numpy.api import Argument, Array, Buffer
from tilewright.targets.numpy.tile.api import CODES, FaultKind, TileFault
from tilewright.targets.numpy.tile.support.buffers import Shadow, TileBuffer
from tilewright.targets.numpy.tile.support.problems import count_text, index_text

_WORK = 10_000
"""Steps to decide exactly whether strided arrays share a byte; if undecided, they may."""


class Parameter(Protocol):
    """What is known of an argument before the launch."""

    @property
    def name(self) -> str: ...
    @property
    def location(self) -> Attribute | None: ...
    @property
    def written_at(self) -> tuple[Attribute | None, ...]: ...
    @property
    def is_read(self) -> bool: ...
    @property
    def divisor(self) -> int: ...


# Overlaps.


def check_overlaps(
    parameters: Sequence[Parameter], arguments: Sequence[Argument], sources: SourceManager | None
) -> None:
    """Report two arguments that share bytes, one of which the kernel writes."""
    for one, other in _pairs(parameters, arguments):
        first, second = arguments[one], arguments[other]
        assert isinstance(first, Buffer) and isinstance(second, Buffer)
        if share(first.array, second.array):
            raise _overlap(parameters[one], parameters[other], first.array, second.array, sources)


def _pairs(
    parameters: Sequence[Parameter], arguments: Sequence[Argument]
) -> Iterator[tuple[int, int]]:
    """Every two arrays of which the first is written."""
    arrays = [n for n, each in enumerate(arguments) if isinstance(each, Buffer)]
    for one in arrays:
        for other in arrays:
            both = parameters[one].written_at, parameters[other].written_at
            if one != other and both[0] and not (both[1] and other < one):
                yield one, other


def share(one: Array, other: Array) -> bool:
    """Whether two arrays have a byte in common."""
    if not np.may_share_memory(one, other):
        return False
    try:
        limit = cast("Any", _WORK)  # NumPy's types know of 0 and -1 only
        return np.shares_memory(one, other, max_work=limit)
    except RuntimeError:  # NumPy's name for "too hard" is a subclass
        return True


def _overlap(
    written: Parameter,
    other: Parameter,
    one: Array,
    two: Array,
    sources: SourceManager | None,
) -> TileFault:
    (low, high), (start, end) = (np.lib.array_utils.byte_bounds(each) for each in (one, two))
    shared = min(high, end) - max(low, start)
    where = "are the same array" if (low, high) == (start, end) else f"share {shared} bytes"
    also = "written too" if other.written_at else "read"
    message = (
        f"arguments overlap: {written.name} and {other.name} {where}, and the kernel writes "
        f"{written.name}"
    )
    diagnostic = _error("overlap", message, written.written_at[0])
    start_of = max(low, start) - low
    notes: list[tuple[str, Attribute | None]] = [
        (f"this line writes {written.name}; {other.name} is {also}", None),
        (
            f"the shared bytes start at byte {start_of} of {written.name} and at byte "
            f"{max(low, start) - start} of {other.name}",
            None,
        ),
        (
            f"tensor arguments must not alias: pass a copy of {other.name}, or use one parameter "
            "that the kernel reads and writes",
            None,
        ),
    ]
    return TileFault("overlap", _noted(diagnostic, notes), None, sources)


# Scalars.


def check_divisors(
    parameters: Sequence[Parameter], arguments: Sequence[Argument], sources: SourceManager | None
) -> None:
    """Report a scalar that is not the multiple that it is declared to be."""
    for parameter, value in zip(parameters, arguments, strict=True):
        if parameter.divisor == 1 or isinstance(value, Buffer) or value is None:
            continue
        if int(cast("Any", value)) % parameter.divisor:
            message = (
                f"{parameter.name} is {int(cast('Any', value))}, not a multiple of "
                f"{parameter.divisor}"
            )
            note = "a compiled kernel relies on it for wide accesses, and its launch refuses it"
            diagnostic = _error("assertion", message, parameter.location)
            raise TileFault("assertion", _noted(diagnostic, [(note, None)]), None, sources)


# Results.


def check_results(
    parameters: Sequence[Parameter],
    values: Sequence[Any],
    arguments: Sequence[Argument],
    grid: Sequence[int],
    sources: SourceManager | None,
) -> None:
    """Report an element of a result that no block has written."""
    for parameter, value, argument in zip(parameters, values, arguments, strict=True):
        if not isinstance(argument, Buffer) or not argument.is_result:
            continue
        if isinstance(value, TileBuffer) and value.shadow is not None:
            missing = ~_defined(value, value.shadow)
            if missing.any():
                raise TileFault(
                    "unwritten",
                    _unwritten(parameter, value, missing, grid, "which the call returns"),
                    None,
                    sources,
                )


def left_over(
    parameters: Sequence[Parameter],
    values: Sequence[Any],
    arguments: Sequence[Argument],
    grid: Sequence[int],
) -> dict[int, tuple[Any, Diagnostic]]:
    """Unwritten elements of arrays that the caller left uninitialised and the kernel does not read.

    An array of which the kernel writes no element is not reported: another kernel may write it.
    """
    found: dict[int, tuple[Any, Diagnostic]] = {}
    for index, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        argument = arguments[index]
        if not isinstance(argument, Buffer) or not argument.is_fresh or parameter.is_read:
            continue
        if isinstance(value, TileBuffer) and value.shadow is not None:
            missing = ~_defined(value, value.shadow)
            if missing.any() and not missing.all():
                why = "and the caller left the array uninitialised (np.empty)"
                found[index] = missing, _unwritten(parameter, value, missing, grid, why)
    return found


def _defined(buffer: TileBuffer, shadow: Shadow) -> Any:
    return shadow.defined(tuple(slice(None) for _ in buffer.shape))


def _unwritten(
    parameter: Parameter, buffer: TileBuffer, missing: Any, grid: Sequence[int], why: str
) -> Diagnostic:
    first = [int(i) for i in np.argwhere(missing)[0]]
    message = f"no block writes {index_text(buffer.name, first)}, {why}"
    diagnostic = _error("unwritten", message, parameter.location)
    count, total = int(missing.sum()), missing.size
    box = ", ".join(f"{int(found.min())}:{int(found.max()) + 1}" for found in np.nonzero(missing))
    notes: list[tuple[str, Attribute | None]] = [
        (
            f"{count} of {count_text(total, 'element')} of {buffer.name} are uninitialised after "
            f"the launch, all within {buffer.name}[{box}]",
            None,
        ),
    ]
    shown = list(dict.fromkeys(parameter.written_at))[:3]
    notes += [(f"{buffer.name} is written here", location) for location in shown]
    if not shown:
        text = f"no statement of the kernel writes {buffer.name}: write it, or do not return it"
        notes.append((text, None))
    else:
        notes.append((_coverage(buffer.name, missing, grid), None))
    return _noted(diagnostic, notes)


def _coverage(name: str, missing: Any, grid: Sequence[int]) -> str:
    """How the grid covers a tensor, and what would."""
    blocks = " x ".join(map(str, grid)).removesuffix(" x 1").removesuffix(" x 1")
    ran = f"the grid has {blocks} block{'' if blocks == '1' else 's'}"
    tail = _tail(missing)
    if tail is not None:
        axis, covered = tail
        extent = missing.shape[axis]
        tiles = {covered // each for each in grid if each > 1 and covered % each == 0}
        if len(tiles) == 1:
            (tile,) = tiles
            return (
                f"{ran}, which cover {covered} of {extent} elements of dimension {axis} of {name}: "
                f"use T.ceildiv({extent}, {tile}) = {-(-extent // tile)} blocks (or cover more in "
                "each), and guard accesses past the end"
            )
    return f"{ran}: make the grid and the tiles cover all of {name}"


def _tail(missing: Any) -> tuple[int, int] | None:
    """The dimension, and how much of it is covered, if all after that is missing and no more."""
    for axis, extent in enumerate(missing.shape):
        lines = np.moveaxis(missing, axis, 0).reshape(extent, -1)
        covered = int((~lines.any(axis=1)).sum())
        if 0 < covered < extent and lines[covered:].all() and not lines[:covered].any():
            return axis, covered
    return None


def _error(kind: FaultKind, message: str, location: Attribute | None) -> Diagnostic:
    return Diagnostic(Severity.ERROR, message, location, CODES[kind])


def _noted(diagnostic: Diagnostic, notes: Sequence[tuple[str, Attribute | None]]) -> Diagnostic:
    for text, location in notes:
        diagnostic.notes.append(Diagnostic(Severity.NOTE, text, location))
    return diagnostic
