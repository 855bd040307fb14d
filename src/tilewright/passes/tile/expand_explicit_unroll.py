"""Fully unroll loops marked ``explicit``, before anything is scheduled.

    scf.for %i = 0 to 3 step 1 {tile.unroll_explicit} { f(%i) }   ->   f(0) f(1) f(2)

Each iteration becomes separate ops, so the pipeline planner and layout inference see all of them.
Loops that carry ``tile.unroll`` alone stay loops until late (`unroll_loops`). Inner loops go first:
their trip count may depend on nothing but constants, while an outer loop may be unrolled around
them. An unknown trip count is an error, for the user relies on the loop being gone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile.mixed import known
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tile.clone_ops import copy_op

EXPLICIT = "tile.unroll_explicit"
FACTOR = "tile.unroll_factor"
BOTH = "TW1035"
UNKNOWN_COUNT = "TW1036"
TOO_MANY = "TW1037"
MAX_TRIP_COUNT = 4096


@dataclass(frozen=True)
class ExpandExplicitUnroll(Pass):
    """Replace loops marked for explicit unrolling by their iterations."""

    name = "expand-explicit-unroll"
    old_options = {"max-turns": "max-trip-count"}

    max_trip_count: int = MAX_TRIP_COUNT
    """Largest trip count that is fully unrolled."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        marked = [op for op in walk(module) if isinstance(op, ForOp) and EXPLICIT in op.attributes]
        for loop in reversed(marked):
            iterations = self._iterations(loop, engine)
            if iterations is not None:
                _expand(loop, iterations)

    def _iterations(self, loop: ForOp, engine: DiagnosticEngine) -> range | None:
        if FACTOR in loop.attributes:
            message = "explicit=True and unroll_factor are mutually exclusive"
            engine.error(loop, message, BOTH)
            return None
        bounds = [known(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)]
        integers = [each for each in bounds if isinstance(each, int)]
        if len(integers) < len(bounds):
            engine.error(
                loop,
                "explicit=True: the loop bounds are run-time values; use constants, or "
                "drop explicit=True",
                UNKNOWN_COUNT,
            )
            return None
        iterations = range(*integers)
        if len(iterations) > self.max_trip_count:
            engine.error(
                loop,
                f"explicit=True: trip count {len(iterations)} exceeds the limit of "
                f"{self.max_trip_count} for full unrolling; use unroll_factor or T.serial",
                TOO_MANY,
            )
            return None
        return iterations


def _expand(loop: ForOp, iterations: range) -> None:
    rewriter = Rewriter()
    carried: Sequence[SSAValue] = loop.init_args
    for iteration in iterations:
        index = ConstantOp.of(iteration, loop.lower_bound.type)
        rewriter.insert_before(loop, index)
        carried = _clone_iteration(loop, index.result, carried, rewriter)
    rewriter.replace_op(loop, [], carried)


def _clone_iteration(
    loop: ForOp, index: SSAValue, carried: Sequence[SSAValue], rewriter: Rewriter
) -> list[SSAValue]:
    """Clone one iteration before the loop; returns what it yields."""
    block = loop.body.block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, (index, *carried), strict=True))
    end = block.last_op
    assert end is not None  # every loop is ended by its yield
    for op in block.ops:
        if op is not end:
            rewriter.insert_before(loop, copy_op(op, values))
    return [values.get(value, value) for value in end.operands]
