"""Loops that count by one, and divisions of unsigned numbers.

    for t in T.serial(0, 256, 64):      for n in T.serial(4):
        T.copy(A[t, 0], a)          ->      T.copy(A[n * 64, 0], a)

    bz // 3  (arith.floordivsi)     ->  arith.divui      where neither operand is negative

Pages are found by dividing offsets, so that the multiples in an offset have to be visible; and the
processors of a core compute with unsigned 32-bit integers, for which a division rounds down by
itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import (
    AddiOp,
    CeildivuiOp,
    ConstantOp,
    DivuiOp,
    MuliOp,
    RemuiOp,
)
from tilewright.dialects.func import FuncOp
from tilewright.dialects.scf import ForOp
from tilewright.dialects.tile.mixed import known
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.tenstorrent.annotations import functions

_UNSIGNED: Mapping[str, type[DivuiOp | CeildivuiOp | RemuiOp]] = {
    "arith.divsi": DivuiOp,
    "arith.floordivsi": DivuiOp,
    "arith.ceildivsi": CeildivuiOp,
    "arith.remsi": RemuiOp,
}


@dataclass(frozen=True)
class NormalizeTtIndices(Pass):
    """Make loops count by one, and divisions of non-negative numbers unsigned."""

    name = "normalize-tt-indices"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        rewriter = Rewriter()
        for function in functions(module):
            for loop in [op for op in walk(function) if isinstance(op, ForOp)]:
                _count_by_one(loop, rewriter)
            _divide_unsigned(function, rewriter)
        if rewriter.changed:
            canonicalize(module)


def _count_by_one(loop: ForOp, rewriter: Rewriter) -> None:
    """``lower + n * step`` instead of the index, for bounds that are constants."""
    lower, upper, step = (known(each) for each in (loop.lower_bound, loop.upper_bound, loop.step))
    index = loop.body.block.args[0]
    if not (isinstance(lower, int) and isinstance(upper, int) and isinstance(step, int)):
        return
    first = loop.body.block.first_op
    if step <= 1 or first is None or not isinstance(index.type, IndexType):
        return
    zero, one = ConstantOp.of(0, index.type), ConstantOp.of(1, index.type)
    trips = ConstantOp.of(max(0, -(-(upper - lower) // step)), index.type)
    rewriter.insert_before(loop, (zero, one, trips))
    uses = list(index.uses)
    scaled = MuliOp(index, loop.step)
    moved = AddiOp(scaled.results[0], loop.lower_bound)
    rewriter.insert_before(first, (scaled, moved))
    for use in uses:
        use.operation.operands[use.index] = moved.results[0]
    loop.operands[0], loop.operands[1] = zero.results[0], trips.results[0]
    loop.operands[2] = one.results[0]


def _divide_unsigned(function: FuncOp, rewriter: Rewriter) -> None:
    ranges = IndexRanges(function)
    for op in [op for op in walk(function) if op.name in _UNSIGNED]:
        if all(_is_natural(op, n, ranges) for n in (0, 1)):
            made = _UNSIGNED[op.name](op.operands[0], op.operands[1])
            made.results[0].name_hint = op.results[0].name_hint
            rewriter.replace_op(op, made)


def _is_natural(op: Operation, position: int, ranges: IndexRanges) -> bool:
    lowest = ranges.range(op.operands[position], op).lo
    return lowest is not None and lowest >= 0
