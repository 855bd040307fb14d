"""How far a loop is unrolled: whole, or some iterations at a time, as `#pragma unroll` has it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i64

from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import names
from tilewright.passes.gpu.unroll_loops import trip_count_of


def is_unrolled_beyond(loop: ForOp, iterations: int) -> bool:
    """Whether a loop is unrolled whole, and has more than so many iterations."""
    return names.UNROLL in loop.attributes and (trip_count_of(loop) or 0) > iterations


def unroll_by(iterations: int, loops: Sequence[ForOp]) -> None:
    """Unroll loops that were unrolled whole by so many iterations at a time."""
    for loop in loops:
        del loop.attributes[names.UNROLL]
        loop.attributes[names.UNROLL_FACTOR] = IntegerAttr(iterations, i64)


def unroll_whole(loops: Sequence[ForOp]) -> None:
    """Undo `unroll_by`."""
    for loop in loops:
        del loop.attributes[names.UNROLL_FACTOR]
        loop.attributes[names.UNROLL] = UnitAttr()
