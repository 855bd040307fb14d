"""Rewrites of arithmetic that leave one op fewer, or a simpler one.

Constants combine on scalars only, as in MLIR: a chain of additions and subtractions of constants is
``sign * x + offset``, and so is a chain of two chains. The new op has no wrapping guarantees (nsw),
since the combined constant may wrap where the two steps did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import (
    AddiOp,
    BitcastOp,
    CmpiOp,
    ExtfOp,
    ExtsiOp,
    ExtuiOp,
    MuliOp,
    SelectOp,
    SubiOp,
    TrunciOp,
    XoriOp,
)
from tilewright.dialects.folding.compare import EQ, INVERTED_INTEGER, NE, SWAPPED_INTEGER
from tilewright.dialects.folding.constants import defined_by, integer_width
from tilewright.ir.rewrite import AnyPattern, RewritePattern, Rewriter, pattern
from tilewright.ir.text.accessors import operands_of
from tilewright.passes.cleanup.canonicalization.constants import ConstantPool


@dataclass(frozen=True, slots=True)
class _Offset:
    """``sign * value + number``."""

    sign: int
    value: SSAValue
    offset: int


class CombineOffsets(RewritePattern[AddiOp | SubiOp]):
    """``(x + 1) + 2`` is ``x + 3``, ``5 - (x - 2)`` is ``7 - x``, and so on."""

    roots = (AddiOp, SubiOp)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: AddiOp | SubiOp, rewriter: Rewriter) -> None:
        outer = self._offset(op)
        inner_op = None if outer is None else outer.value.owner
        if outer is None or not isinstance(inner_op, (AddiOp, SubiOp)):
            return
        inner = self._offset(inner_op)
        if inner is None:
            return
        offset = outer.sign * inner.offset + outer.offset
        subtract = isinstance(op, SubiOp) and isinstance(inner_op, SubiOp) and inner.sign > 0
        if outer.sign * inner.sign < 0:
            constant = self._constant(offset, op, rewriter)
            rewriter.replace_op(op, SubiOp(constant, inner.value))
        elif subtract and outer.sign > 0:
            constant = self._constant(-offset, op, rewriter)
            rewriter.replace_op(op, SubiOp(inner.value, constant))
        else:
            constant = self._constant(offset, op, rewriter)
            rewriter.replace_op(op, AddiOp(inner.value, constant))

    def _offset(self, op: AddiOp | SubiOp) -> _Offset | None:
        lhs, rhs = operands_of(op)
        added = op.__class__ is AddiOp
        right = self._pool.integer(rhs)
        if right is not None:
            return _Offset(1, lhs, right if added else -right)
        left = self._pool.integer(lhs)
        return None if left is None else _Offset(1 if added else -1, rhs, left)

    def _constant(self, offset: int, op: Operation, rewriter: Rewriter) -> SSAValue:
        constant = self._pool.get_integer(offset, op.results[0].type, op, rewriter)
        assert constant is not None
        return constant


class CombineFactors(RewritePattern[MuliOp]):
    """``(x * 2) * 3`` is ``x * 6``."""

    roots = (MuliOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: MuliOp, rewriter: Rewriter) -> None:
        inner = op.lhs.owner
        outer_factor = self._pool.integer(op.rhs)
        if outer_factor is None or not isinstance(inner, MuliOp):
            return
        inner_factor = self._pool.integer(inner.rhs)
        if inner_factor is None:
            return
        factor = outer_factor * inner_factor
        constant = self._pool.get_integer(factor, op.result.type, op, rewriter)
        if constant is not None:
            rewriter.replace_op(op, MuliOp(inner.lhs, constant))


# Comparisons.


class ConstantOnTheRight(RewritePattern[CmpiOp]):
    """``5 < x`` is ``x > 5``."""

    roots = (CmpiOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: CmpiOp, rewriter: Rewriter) -> None:
        if self._pool.value(op.lhs) is None or self._pool.value(op.rhs) is not None:
            return
        op.operands = (op.rhs, op.lhs)
        op.predicate = _predicate(SWAPPED_INTEGER, op)
        rewriter.modified(op)


@pattern(CmpiOp)
def compare_before_extending(op: CmpiOp, rewriter: Rewriter) -> None:
    """Equality of two extended values is equality of the values."""
    if op.predicate.value.data not in (EQ, NE):
        return
    left = defined_by(op.lhs, "arith.extsi", "arith.extui")
    right = None if left is None else defined_by(op.rhs, left.name)
    if left is None or right is None:
        return
    narrow, other = left.operands[0], right.operands[0]
    if narrow.type == other.type:
        rewriter.replace_op(op, CmpiOp(op.predicate_name, narrow, other))


class InvertComparison(RewritePattern[XoriOp]):
    """``not (a < b)`` is ``a >= b``."""

    roots = (XoriOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: XoriOp, rewriter: Rewriter) -> None:
        test = op.lhs.owner
        if not isinstance(test, CmpiOp) or self._pool.integer(op.rhs) != -1:
            return
        inverted = test.clone()
        inverted.predicate = _predicate(INVERTED_INTEGER, test)
        inverted.location = op.location
        rewriter.replace_op(op, inverted)


def _predicate(table: Sequence[int], op: CmpiOp) -> IntegerAttr:
    return IntegerAttr(table[op.predicate.value.data], i64)


# Selections.


class SelectByTruth(RewritePattern[SelectOp]):
    """``not c ? a : b`` is ``c ? b : a``, and ``c ? false : true`` is ``not c``."""

    roots = (SelectOp,)

    def __init__(self, pool: ConstantPool):
        self._pool = pool

    def match_and_rewrite(self, op: SelectOp, rewriter: Rewriter) -> None:
        integer = self._pool.integer
        negation = op.condition.owner
        if isinstance(negation, XoriOp) and integer(negation.rhs) == -1:
            op.operands = (negation.lhs, op.false_value, op.true_value)
            rewriter.modified(op)
        elif (
            integer_width(op.result.type) == 1
            and integer(op.true_value) == 0
            and integer(op.false_value) == -1
        ):
            rewriter.replace_op(op, XoriOp(op.condition, op.false_value))


@pattern(SelectOp)
def select_once(op: SelectOp, rewriter: Rewriter) -> None:
    """``c ? (c ? a : b) : d`` is ``c ? a : d``; likewise on the other side."""
    if_true, if_false = op.true_value, op.false_value
    inner = if_true.owner
    if isinstance(inner, SelectOp) and inner.condition is op.condition:
        if_true = inner.true_value
    inner = if_false.owner
    if isinstance(inner, SelectOp) and inner.condition is op.condition:
        if_false = inner.false_value
    if if_true is not op.true_value or if_false is not op.false_value:
        op.operands = (op.condition, if_true, if_false)
        rewriter.modified(op)


# Casts of casts.


@pattern(ExtsiOp, ExtuiOp)
def extend_once(op: ExtsiOp | ExtuiOp, rewriter: Rewriter) -> None:
    """Two extensions are one. After a zero extension the sign is zero, so the sign may follow."""
    inner = op.operands[0].owner
    if isinstance(inner, ExtuiOp) or (isinstance(inner, ExtsiOp) and isinstance(op, ExtsiOp)):
        rewriter.replace_op(op, type(inner)(inner.operands[0], op.results[0].type))


@pattern(TrunciOp)
def truncate_once(op: TrunciOp, rewriter: Rewriter) -> None:
    """A truncation of an extension or truncation is one cast from the first type to the last."""
    inner = op.operands[0].owner
    target = op.results[0].type
    if isinstance(inner, TrunciOp):
        rewriter.replace_op(op, TrunciOp(inner.operands[0], target))
    if not isinstance(inner, (ExtsiOp, ExtuiOp)):
        return
    source = inner.operands[0]
    before, after = integer_width(source.type), integer_width(target)
    if before is None or after is None or before == after:
        return
    cast = TrunciOp if after < before else type(inner)
    rewriter.replace_op(op, cast(source, target))


@pattern(ExtfOp)
def extend_float_once(op: ExtfOp, rewriter: Rewriter) -> None:
    inner = op.operands[0].owner
    if isinstance(inner, ExtfOp):
        rewriter.replace_op(op, ExtfOp(inner.operands[0], op.results[0].type))


@pattern(BitcastOp)
def reinterpret_once(op: BitcastOp, rewriter: Rewriter) -> None:
    inner = op.operands[0].owner
    if isinstance(inner, BitcastOp):
        rewriter.replace_op(op, BitcastOp(inner.operands[0], op.results[0].type))


def arith_patterns(pool: ConstantPool) -> list[AnyPattern]:
    """All rewrites of this file."""
    return [
        CombineOffsets(pool),
        CombineFactors(pool),
        ConstantOnTheRight(pool),
        compare_before_extending,
        InvertComparison(pool),
        SelectByTruth(pool),
        select_once,
        extend_once,
        truncate_once,
        extend_float_once,
        reinterpret_once,
    ]
