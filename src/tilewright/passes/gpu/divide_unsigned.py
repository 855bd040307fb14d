"""`divide-unsigned`: quotients and remainders of integers that are not negative are unsigned.

    tid - 256 // 8  (arith.floordivsi)   ->  arith.divui      in a role of threads 256 to 384
    tid - 256 % 8   (arith.remsi)        ->  arith.remui

By a power of two an unsigned one is a shift, or some bits: addresses of unrolled iterations then
differ by constants, which are part of the instruction. A signed one corrects the result of a
negative operand, and each address takes a register.

What a sum has of multiples of the divisor is divided by itself, or has no part in the remainder:

    i * 1024 + t * 4 // 64  ->  i * 16 + (t * 4 // 64)
    i * 1024 + t * 4 % 64   ->  t * 4 % 64

Nothing shows the CUDA compiler that the sum does not wrap, so that for it every iteration has a
quotient of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Context, Poly
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import AddiOp, DivuiOp, RemuiOp
from tilewright.dialects.func import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.interfaces import constant_value
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_UNSIGNED: Mapping[str, type[DivuiOp | RemuiOp]] = {
    "arith.divsi": DivuiOp,
    "arith.floordivsi": DivuiOp,
    "arith.remsi": RemuiOp,
    "arith.divui": DivuiOp,
    "arith.remui": RemuiOp,
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
    kind, (dividend, divisor) = _UNSIGNED[op.name], op.operands
    rewriter = Rewriter()

    def inserted(made: Operation, value: Poly) -> SSAValue:
        rewriter.insert_before(op, made, op)
        ranges.learn(made.results[0], value)
        return made.results[0]

    def total(values: Sequence[SSAValue]) -> SSAValue:
        return reduce(
            lambda one, other: inserted(AddiOp(one, other), ranges.poly(one) + ranges.poly(other)),
            values,
        )

    result = ranges.poly(op.results[0])
    multiples, rest = _parts(dividend, divisor, ranges, context)
    if not multiples and isinstance(op, kind):
        return
    if multiples:
        dividend = total(rest)
    if multiples and kind is DivuiOp:
        divided = total(multiples)
        quotient = ranges.poly(divided).exact_quotient(_constant(divisor))
        whole = inserted(DivuiOp(divided, divisor), quotient)
        part = inserted(DivuiOp(dividend, divisor), result - quotient)
        made: Operation = AddiOp(whole, part)
    else:
        made = kind(dividend, divisor)
    made.results[0].name_hint = op.results[0].name_hint
    ranges.learn(made.results[0], result)
    rewriter.replace_op(op, made)


def _parts(
    dividend: SSAValue, divisor: SSAValue, ranges: IndexRanges, context: Context
) -> tuple[list[SSAValue], list[SSAValue]]:
    """The addends of `dividend` that are multiples of the divisor, and the rest; no multiples
    where not both totals are known to be at least 0, or where nothing is left."""
    by, addends = _constant(divisor), list(_addends(dividend))
    polys = {each: ranges.poly(each) for each in addends}
    multiples = [each for each in addends if by > 0 and polys[each].content % by == 0]
    rest = [each for each in addends if each not in multiples]
    if not multiples or not rest:
        return [], addends
    totals = [reduce(add, [polys[each] for each in part]) for part in (multiples, rest)]
    return (multiples, rest) if all(map(context.is_nonneg, totals)) else ([], addends)


def _constant(value: SSAValue) -> int:
    found = constant_value(value)
    return found.value.data if isinstance(found, IntegerAttr) else 0


def _addends(value: SSAValue) -> Iterator[SSAValue]:
    if isinstance(value.owner, AddiOp) and isinstance(value.type, IndexType):
        for each in value.owner.operands:
            yield from _addends(each)
    else:
        yield value
