"""One element of an elementwise op: the op itself on scalars, or what ``arith`` has for it.

Ops of ``arith`` and ``math`` mean the same on tensors and scalars and are copied with the type of
an element. Those of ``tt`` are in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.analysis.raising.extern import library_op
from tilewright.dialects.arith import (
    BitcastOp,
    DivfOp,
    ExtfOp,
    ExtuiOp,
    MaximumfOp,
    MaxnumfOp,
    MinimumfOp,
    MinnumfOp,
    MuliOp,
    ShruiOp,
    TruncfOp,
    TrunciOp,
)
from tilewright.dialects.math import SqrtOp
from tilewright.dialects.tt import ClampFOp, ExternElementwiseOp, FpToFpOp
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.raising.builder import Builder

Rule = Callable[[Builder, Operation, Sequence[SSAValue]], SSAValue]

_BITS = 32


def element_of(
    at: Builder, op: Operation, operands: Sequence[SSAValue], index: int = 0
) -> SSAValue:
    """The op on scalars."""
    rule = _RULES.get(op.name)
    if rule is not None:
        return rule(at, op, operands)
    copy = type(op).create(
        operands=operands,
        result_types=[element_type_of(result.type) for result in op.results],
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        location=op.location,
    )
    result = at.add(copy).results[index]
    result.name_hint = op.results[index].name_hint
    return result


def _result(op: Operation) -> Attribute:
    return element_type_of(op.results[0].type)


def _bitcast(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    (value,) = operands
    return value if value.type == _result(op) else at.value(BitcastOp(value, _result(op)))


def _convert(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, FpToFpOp)
    value, target = operands[0], _result(op)
    if bit_width(target) > bit_width(value.type):
        return at.value(ExtfOp(value, target))
    return at.value(TruncfOp(value, target))


def _clamp(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, ClampFOp)
    value, low, high = operands
    if op.propagate_nan.value.data != 0:
        return at.value(MinimumfOp(at.value(MaximumfOp(value, low)), high))
    return at.value(MinnumfOp(at.value(MaxnumfOp(value, low)), high))


def _mulhi(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    left, right = (at.value(ExtuiOp(operand, i64)) for operand in operands)
    both = at.value(MuliOp(left, right))
    high = at.value(ShruiOp(both, at.constant(_BITS, i64)))
    return at.value(TrunciOp(high, i32))


def _divide(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    return at.value(DivfOp(*operands))


def _sqrt(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    return at.value(SqrtOp(*operands))


def _extern(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, ExternElementwiseOp)
    maker = library_op(op)
    assert maker is not None
    return at.value(maker(*operands))


_RULES: Mapping[str, Rule] = {
    "tt.bitcast": _bitcast,
    "tt.fp_to_fp": _convert,
    "tt.clampf": _clamp,
    "tt.mulhiui": _mulhi,
    "tt.precise_divf": _divide,
    "tt.approx_divf": _divide,
    "tt.precise_sqrt": _sqrt,
    "tt.extern_elementwise": _extern,
}
