"""`divide-unsigned`: quotients and remainders of integers that are not negative are unsigned.

    tid - 256 // 8  (arith.floordivsi)   ->  arith.divui      in a role of threads 256 to 384
    tid - 256 % 8   (arith.remsi)        ->  arith.remui

By a power of two an unsigned one is a shift, or some bits: addresses of unrolled iterations then
differ by constants, which are part of the instruction. A signed one corrects the result of a
negative operand, and each address takes a register.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.index_range import IndexRanges
from tilewright.dialects.arith import DivuiOp, RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_UNSIGNED: Mapping[str, type[DivuiOp | RemuiOp]] = {
    "arith.divsi": DivuiOp,
    "arith.floordivsi": DivuiOp,
    "arith.remsi": RemuiOp,
}


@dataclass(frozen=True)
class DivideUnsigned(Pass):
    """Make divisions of integers that are not negative unsigned."""

    name = "divide-unsigned"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in module.ops:
            if not isinstance(function, FuncOp):
                continue
            divisions = [op for op in walk(function) if op.name in _UNSIGNED]
            if divisions:
                ranges = IndexRanges(function)
                for op in divisions:
                    _divide(op, ranges)


def _divide(op: Operation, ranges: IndexRanges) -> None:
    context = ranges.context(op)
    if not all(context.is_nonneg(ranges.poly(each)) for each in op.operands):
        return
    made = _UNSIGNED[op.name](*op.operands)
    made.results[0].name_hint = op.results[0].name_hint
    ranges.learn(made.results[0], ranges.poly(op.results[0]))
    Rewriter().replace_op(op, made)
