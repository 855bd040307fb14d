"""`check-tma-starts`: an explicit TMA copy starts at a multiple of 16 bytes.

    T.tma_copy(A[row, 1], A_shared, barrier=full)      error[TW3015]: ... starts at column 1

The hardware ends any other copy with an illegal instruction, loads and stores alike, whatever the
swizzle; and a store with a negative start, where a load reads zero. What is proved to start
elsewhere is an error; where nothing is known of the start, a warning gives the `T.assume`. Copies
that the compiler itself moves to TMA are proved when they are selected
(`analysis.copy_instructions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from tilewright.analysis.copies.copy_instructions import (
    EXPANDED_BYTES,
    GRANULE_BYTES,
    Starts,
    corner_of,
    granule,
)
from tilewright.dialects.tile import AsyncCopyOp, Space, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk

MISALIGNED = "TW3015"
UNKNOWN = "TW3016"


@dataclass(frozen=True)
class CheckTmaStarts(Pass):
    """Report TMA copies that start where the hardware ends them: odd columns, negative stores."""

    name = "check-tma-starts"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        starts = Starts(module)
        for op in walk(module):
            if isinstance(op, AsyncCopyOp) and op.is_bulk:
                _check(op, starts, engine)


def _check(op: AsyncCopyOp, starts: Starts, engine: DiagnosticEngine) -> None:
    is_store = space_of(op.dst.type) is Space.GLOBAL
    side = op.dst if is_store else op.src
    if space_of(side.type) is not Space.GLOBAL:
        return  # between blocks of a cluster
    corner, bits = corner_of(side), bit_width(element_type_of(side.type))
    unit, name = granule(bits), base_of(side).name_hint or "the tensor"
    if op.expands is not None:
        unit = EXPANDED_BYTES // 2
    if not starts.is_multiple(corner[-1], unit, op):
        _report_column(op, corner[-1], unit, name, starts, engine)
    if is_store and not all(starts.is_nonneg(each, op) for each in corner):
        _report_negative(op, corner, name, starts, engine)


def _report_column(
    op: AsyncCopyOp, start: Mixed, unit: int, name: str, starts: Starts, engine: DiagnosticEngine
) -> None:
    if starts.is_never_multiple(start, unit, op):
        column = f"column {start} of {name}" if isinstance(start, int) else f"a column of {name}"
        diagnostic = engine.error(
            op,
            f"TMA copy starts at {column} that is not a multiple of {unit} elements "
            f"({GRANULE_BYTES} bytes)",
            MISALIGNED,
        )
        diagnostic.note(
            None,
            f"help: start at a multiple of {unit}, or use T.copy, which uses TMA only "
            "where it is legal",
        )
        return
    diagnostic = engine.warning(
        op,
        f"start column of the TMA copy in {name} is a run-time value: it must be a "
        f"multiple of {unit} elements ({GRANULE_BYTES} bytes), otherwise the GPU raises "
        "an error",
        UNKNOWN,
    )
    diagnostic.note(
        None,
        f"help: state it with T.assume(column % {unit} == 0); a run on the CPU checks every start",
    )


def _report_negative(
    op: AsyncCopyOp, corner: Sequence[Mixed], name: str, starts: Starts, engine: DiagnosticEngine
) -> None:
    negative = [axis for axis, each in enumerate(corner) if starts.is_negative(each, op)]
    if negative:
        diagnostic = engine.error(
            op,
            f"TMA store to {name} starts at a negative index in dimension {negative[0]}: "
            "only loads may start before the tensor",
            MISALIGNED,
        )
        diagnostic.note(
            None, "help: start at 0, or use T.copy, which uses TMA only where it is legal"
        )
        return
    diagnostic = engine.warning(
        op,
        f"start of the TMA store to {name} is not known to be at least 0: a negative "
        "start raises an error on the GPU",
        UNKNOWN,
    )
    diagnostic.note(None, "help: state it with T.assume(start >= 0); a run on the CPU checks it")
