"""The runtime object of generated code, `rt`: the programs of a batch.

Besides control flow (`control.py`) it has the position of a program in the grid, prints and
assertions, and the check that no undefined lane is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.ir import Attribute

from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.api import Grid, Memory, NumpyFault, RunOptions, Terms
from tilewright.targets.numpy.descriptors import ALIGNMENT, CODE
from tilewright.targets.numpy.owners import OrderConflict
from tilewright.targets.numpy.support.control import Control
from tilewright.targets.numpy.support.printing import Printed, element_lines, program_line

_ENDLESS = "the step must be positive: on a GPU this loop does not terminate"
_BACKWARDS = (
    "on a GPU the trip count is 0: only a constant step (`tl.constexpr`) may be negative; count "
    "up, and compute the index from the end"
)
_ROWS = (
    f"pad the rows to a multiple of {ALIGNMENT} bytes, as TMA requires, or load with pointers and "
    "a mask"
)
_START = (
    f"start the tensor at a multiple of {ALIGNMENT} bytes, as TMA requires, and add the remainder "
    "to the offsets of the loads"
)

_COLUMN = (
    "TMA fails there with an illegal instruction: start at a multiple of {unit} elements, or load "
    "and store with pointers and a mask"
)
_END = (
    "TMA writes whole 16-byte units: make the last extent a multiple of {unit}, or store with "
    "pointers and a mask"
)


@dataclass(frozen=True)
class SourceSite:
    """A source location, and a remark about it."""

    location: Attribute | None
    why: str = ""


class AssertionFault(NumpyFault):
    """A `tt.assert` that does not hold."""


class UndefinedFault(NumpyFault):
    """A use of lanes that a masked load left undefined."""


class WaitFault(NumpyFault):
    """A program that waits for a later program, or waits forever."""


class StepFault(NumpyFault):
    """A loop that does not count up."""


class DescriptorFault(NumpyFault):
    """A descriptor, made by a program, that the hardware does not take."""


class Batch(Control):
    """The programs of one batch."""

    def __init__(
        self,
        mem: Memory,
        grid: Grid,
        programs: Any,
        source_sites: Sequence[SourceSite],
        options: RunOptions,
    ) -> None:
        super().__init__()
        self.mem = mem
        self.grid = grid
        self.programs = programs
        self.source_sites = source_sites
        self.options = options
        self.printed: list[tuple[int, str]] = []
        """Position of the program in the batch, and what it printed."""
        self._ids: list[Any] = [None, None, None]

    def switch(self, active: Any) -> None:
        self.active = active
        self.mem.active = active

    # -- grid --------------------------------------------------------------------------------

    def program_id(self, axis: int) -> Any:
        """Positions along an axis of the grid; one number if all programs share it."""
        found = self._ids[axis]
        if found is None:
            found = self._ids[axis] = _shared(self._coordinate(axis))
        return found

    def _coordinate(self, axis: int) -> Any:
        x, y, _ = self.grid
        divisor = (1, x, x * y)[axis]
        rest = self.programs if divisor == 1 else self.programs // divisor
        return (rest if axis == 2 else rest % self.grid[axis]).astype(np.int32)

    def num_programs(self, axis: int) -> Any:
        return np.int32(self.grid[axis])

    def coordinates(self, position: int) -> Grid:
        """The position in the grid of a program of the batch."""
        x, y, _ = self.grid
        program = int(self.programs[position])
        return program % x, program // x % y, program // (x * y)

    # -- reports -----------------------------------------------------------------------------

    def print(
        self, source_id: int, prefix: str, hexadecimal: bool, *args: tuple[Any, bool | None]
    ) -> None:
        """Note the lines of each program that takes part."""
        count = len(self.programs)
        active = range(count) if self.active is None else np.flatnonzero(self.active)
        threads = self.options.printing_threads
        for position in map(int, active):
            values = [Printed(_of_program(x, position), signed) for x, signed in args]
            where = self.coordinates(position)
            if threads is None:
                lines = iter([program_line(where, prefix, values, hexadecimal=hexadecimal)])
            else:
                lines = element_lines(
                    where, prefix, values, hexadecimal=hexadecimal, threads=threads
                )
            self.printed.extend((position, line) for line in lines)

    def check(self, source_id: int, cond: Any, message: str) -> None:
        """Stop unless `cond` holds in every lane."""
        if cond.all():
            return
        failed = self._first(~cond)
        if failed is None:
            return
        position, lane = failed
        where = self.coordinates(position)
        text = f"assertion failed{_lane(lane)} in program {where}: {message}"
        self._raise(AssertionFault, "TW6010", source_id, text, where, ())

    def arrived(self, source_id: int, seen: Any) -> None:
        """Stop if the value that a program waits for is not there: no program will write it."""
        if not seen.all() and (failed := self._first(~seen)) is not None:
            self._wait_for_ever(source_id, failed[0])

    def endless(self, source_id: int, spins: bool, left: Any) -> None:
        if spins:
            failed = self._first(left)
            self._wait_for_ever(source_id, 0 if failed is None else failed[0])
        elif self._may_wait():
            raise OrderConflict(
                "a loop has so many iterations that programs may wait for each other"
            )

    def _may_wait(self) -> bool:
        """Whether a program may wait for another one of the batch.

        If it may, they share elements, and then the batch can be undone.
        """
        return len(self.programs) > 1 and self.mem.is_tracked

    def _wait_for_ever(self, source_id: int, position: int) -> None:
        if self._may_wait():
            raise OrderConflict("programs wait for each other")
        where = self.coordinates(position)
        text = (
            f"deadlock: program {where} waits for memory that no program writes\n"
            "programs run sequentially here: a program can wait only for programs before it"
        )
        self._raise(WaitFault, "TW6012", source_id, text, where, ())

    def advance(self, source_id: int, low: Any, high: Any, step: Any) -> None:
        """Stop at a loop that does not count up: a GPU compares with the end as if it did."""
        if (step > 0).all():
            return
        low, high, step = (np.atleast_1d(bound) for bound in (low, high, step))
        failed = self._first((step < 1) & (low != high) & ((step != 0) | (low < high)))
        if failed is None:
            return
        position, _ = failed
        where = self.coordinates(position)
        start, end, by = (int(_of_program(bound, position)) for bound in (low, high, step))
        text = f"loop step is {by} in program {where}: the loop counts from {start} to {end}"
        fix = _ENDLESS if start < end else _BACKWARDS
        self._raise(StepFault, "TW6013", source_id, text, where, (), fix)

    def describe(self, source_id: int, base: Any, strides: tuple[Any, ...], itemsize: int) -> None:
        """Stop at a descriptor that the hardware does not take; the last stride is 1."""
        if not self.options.check_bounds:
            return
        given = [("base address", base), *((f"stride {i}", s) for i, s in enumerate(strides))]
        for index, (what, value) in enumerate(given):
            in_bytes = value if index == 0 else value.astype(np.int64) * itemsize
            failed = self._first(in_bytes % ALIGNMENT != 0)
            if failed is None:
                continue
            position, _ = failed
            where = self.coordinates(position)
            found = int(_of_program(in_bytes, position))
            excess = f"{found % ALIGNMENT} bytes past" if index == 0 else f"{found} bytes, not"
            text = f"descriptor in program {where}: {what} is {excess} a multiple of {ALIGNMENT}"
            fix = _ROWS if index else _START
            self._raise(DescriptorFault, CODE, source_id, text, where, (), fix)

    def box(
        self, source_id: int, start: Any, extent: Any, width: int, itemsize: int, is_store: bool
    ) -> None:
        """Stop at an access through a descriptor that the hardware does not do.

        `start` is where it begins on the last axis, and `width` how far it goes. A store writes
        whole units of 16 bytes: where rows end within one, it writes past their end.
        """
        if not self.options.check_bounds:
            return
        failed = self._first(start * itemsize % ALIGNMENT != 0)
        if failed is not None:
            where = self.coordinates(failed[0])
            column = int(_of_program(start, failed[0]))
            text = (
                f"descriptor access in program {where} starts at {column} on the last axis, "
                f"{column * itemsize} bytes, not a multiple of {ALIGNMENT}"
            )
            unit = max(1, ALIGNMENT // itemsize)
            fix = _COLUMN.format(unit=unit)
            self._raise(DescriptorFault, CODE, source_id, text, where, (), fix)
        if not is_store:
            return
        passes_end = (start < extent) & (start + width > extent)
        failed = self._first(passes_end & (extent * itemsize % ALIGNMENT != 0))
        if failed is None:
            return
        where = self.coordinates(failed[0])
        end = int(_of_program(extent, failed[0]))
        unit = max(1, ALIGNMENT // itemsize)
        last = min(-(-end // unit) * unit, int(_of_program(start, failed[0])) + width)
        text = (
            f"descriptor store in program {where} passes the end of a row of {end} elements, "
            f"{end * itemsize} bytes, not a multiple of {ALIGNMENT}: it overwrites elements "
            f"{end} to {last - 1}"
        )
        fix = _END.format(unit=unit)
        if self.options.row_end is not None:
            self.options.row_end(f"{text} on a GPU: {fix}")
            return
        self._raise(DescriptorFault, CODE, source_id, text, where, (), fix)

    def need(
        self, source_id: int, what: str, defined: Terms, origins: tuple[int, ...], mask: Terms
    ) -> None:
        """Stop if a used lane is not defined; `what` describes the use."""
        if not self.options.check_uninitialised:
            return
        missing: Any = np.False_
        for term in cast("tuple[Any, ...]", defined):
            missing = missing | ~term
        if not missing.any():
            return
        for term in cast("tuple[Any, ...]", mask):
            missing = missing & term
        failed = self._first(missing)
        if failed is None:
            return
        position, lane = failed
        where = self.coordinates(position)
        text = f"{what} is undefined{_lane(lane)} in program {where}"
        self._raise(UndefinedFault, "TW6011", source_id, text, where, origins)

    def _raise(
        self,
        fault: type[NumpyFault],
        code: str,
        source_id: int,
        text: str,
        where: Grid,
        origins: tuple[int, ...],
        fix: str | None = None,
    ) -> None:
        diagnostic = Diagnostic(Severity.ERROR, text, self.source_sites[source_id].location, code)
        for origin in (self.source_sites[index] for index in origins):
            diagnostic.notes.append(Diagnostic(Severity.NOTE, origin.why, origin.location))
        if fix is not None:
            diagnostic.notes.append(Diagnostic(Severity.NOTE, fix))
        raise fault(diagnostic, where, self.options.sources)

    def _first(self, wrong: Any) -> tuple[int, tuple[int, ...]] | None:
        """The first program that takes part with a wrong lane, and that lane."""
        wrong = np.atleast_1d(wrong)
        if self.active is not None:
            shape = (len(self.active),) + (1,) * (wrong.ndim - 1)
            wrong = wrong & self.active.reshape(shape)
        if not wrong.any():
            return None
        found = np.unravel_index(int(wrong.argmax()), wrong.shape)
        position, *lane = (int(index) for index in found)
        return position, tuple(lane)


def _shared(ids: Any) -> Any:
    return ids[:1] if (ids == ids[0]).all() else ids


def _of_program(x: Any, position: int) -> Any:
    """The value of one program."""
    if x.ndim == 0:
        return x
    return x[position if x.shape[0] > 1 else 0]


def _lane(lane: tuple[int, ...]) -> str:
    return f" at element {list(lane)}" if lane else ""
