"""`unroll-fragment-loops`: short loops whose index selects elements of fragments are unrolled.

    for s in range(2):                                for i, j in T.Parallel(16, 64):
        for i, j in T.Parallel(16, 64):          ->       S[i, j] = acc[i, j]
            S[i, j] = acc[i + s * 16, j]              for i, j in T.Parallel(16, 64):
                                                          S[i, j] = acc[i + 16, j]

Registers have no run-time index: the owner of an element of a fragment has to be known at compile
time. With the loop unrolled it is; otherwise the fragment would be staged through shared memory in
every iteration. Only loops of few iterations are unrolled, by `expand-explicit-unroll`.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile import ParallelOp, Space, space_of
from tilewright.dialects.tile.mixed import known
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import always_removable
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.tile.expand_explicit_unroll import EXPLICIT

MAX_TRIP_COUNT = 8


@dataclass(frozen=True)
class UnrollFragmentLoops(Pass):
    """Mark short loops over parts of fragments for explicit unrolling."""

    name = "unroll-fragment-loops"

    max_trip_count: int = MAX_TRIP_COUNT
    """Largest trip count that is unrolled."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for loop in walk(module):
            if (
                isinstance(loop, ForOp)
                and EXPLICIT not in loop.attributes
                and self._is_short(loop)
                and _selects_elements(loop.body.block.args[0])
            ):
                loop.attributes[EXPLICIT] = UnitAttr()

    def _is_short(self, loop: ForOp) -> bool:
        bounds = [known(each) for each in (loop.lower_bound, loop.upper_bound, loop.step)]
        integers = [each for each in bounds if isinstance(each, int)]
        if len(integers) < len(bounds) or _has_loop_around(loop):
            return False
        return 1 < len(range(*integers)) <= self.max_trip_count


def _has_loop_around(loop: ForOp) -> bool:
    """Whether a loop is inside of a parallel one, where each thread runs it for its elements."""
    around = loop.parent_op()
    while around is not None and not isinstance(around, ParallelOp):
        around = around.parent_op()
    return around is not None


def _selects_elements(index: SSAValue) -> bool:
    """Whether what is computed from `index` selects elements of a fragment in a parallel loop."""
    pending, seen = [index], {index}
    while pending:
        for use in pending.pop().uses:
            op = use.operation
            if _is_fragment_index(op, use.index):
                return True
            if always_removable(type(op)) and not op.regions:
                new = [each for each in op.results if each not in seen]
                seen.update(new)
                pending += new
    return False


def _is_fragment_index(op: Operation, position: int) -> bool:
    if not isinstance(op, LoadOp | StoreOp) or space_of(op.memref.type) is not Space.FRAGMENT:
        return False
    return position >= len(op.operands) - len(op.indices)
