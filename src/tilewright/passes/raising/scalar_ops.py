"""One element of an elementwise op: the op itself on scalars, or what ``arith`` has for it.

Ops of ``arith`` and ``math`` mean the same on tensors and scalars and are copied with the type of
an element. Those of ``tt`` are in a table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import IntegerType, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import (
    AddiOp,
    AndiOp,
    BitcastOp,
    CmpfOp,
    DivfOp,
    ExtfOp,
    ExtuiOp,
    MaximumfOp,
    MaxnumfOp,
    MinimumfOp,
    MinnumfOp,
    MuliOp,
    SelectOp,
    ShruiOp,
    SubiOp,
    TruncfOp,
    TrunciOp,
)
from tilewright.dialects.arith.attributes import FastMathFlag, FastMathFlagsAttr
from tilewright.dialects.math import AbsfOp, SqrtOp
from tilewright.dialects.tt import ClampFOp, FpToFpOp
from tilewright.dialects.tt.enums import ROUNDING
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.library import library_call

Rule = Callable[[Builder, Operation, Sequence[SSAValue]], SSAValue]

_BITS = 32
APPROXIMATE = frozenset(("arith.divf", "math.exp", "math.exp2", "math.sqrt"))
"""What Triton computes with the GPU's approximations; ``div_rn`` and ``sqrt_rn`` are exact."""


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
    if op.name in APPROXIMATE:
        copy.properties["fastmath"] = FastMathFlagsAttr([FastMathFlag.AFN])
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
    if op.rounding is not None and ROUNDING.keyword(op.rounding) == "rtz":
        return _toward_zero(at, value, target)
    return at.value(TruncfOp(value, target))


def _toward_zero(at: Builder, value: SSAValue, target: Attribute) -> SSAValue:
    """The nearest float, one step towards zero where that is larger; infinity becomes the largest
    finite one."""
    nearest = at.value(TruncfOp(value, target))
    back = at.value(AbsfOp(at.value(ExtfOp(nearest, value.type))))
    is_larger = at.value(CmpfOp("ogt", back, at.value(AbsfOp(value))))
    integer = IntegerType(bit_width(target))
    bits = at.value(BitcastOp(nearest, integer))
    smaller = at.value(SubiOp(bits, at.constant(1, integer)))
    return at.value(BitcastOp(at.value(SelectOp(is_larger, smaller, bits)), target))


def _clamp(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    assert isinstance(op, ClampFOp)
    value, low, high = operands
    if op.propagate_nan.value.data != 0:
        return at.value(MinimumfOp(at.value(MaximumfOp(value, low)), high))
    return at.value(MinnumfOp(at.value(MaxnumfOp(value, low)), high))


def _mulhi(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    if bit_width(_result(op)) != _BITS:
        return _mulhi_wide(at, *operands)
    left, right = (at.value(ExtuiOp(operand, i64)) for operand in operands)
    both = at.value(MuliOp(left, right))
    high = at.value(ShruiOp(both, at.constant(_BITS, i64)))
    return at.value(TrunciOp(high, i32))


def _mulhi_wide(at: Builder, left: SSAValue, right: SSAValue) -> SSAValue:
    """The high half of 64 by 64 bits, from four multiplications of halves."""
    low = at.constant((1 << _BITS) - 1, i64)
    shift = at.constant(_BITS, i64)

    def high(value: SSAValue) -> SSAValue:
        return at.value(ShruiOp(value, shift))

    def lower(value: SSAValue) -> SSAValue:
        return at.value(AndiOp(value, low))

    def plus(*values: SSAValue) -> SSAValue:
        total = values[0]
        for value in values[1:]:
            total = at.value(AddiOp(total, value))
        return total

    a, b, c, d = lower(left), high(left), lower(right), high(right)
    inner, outer = at.value(MuliOp(a, d)), at.value(MuliOp(b, c))
    middle = plus(high(at.value(MuliOp(a, c))), lower(inner), lower(outer))
    return plus(at.value(MuliOp(b, d)), high(inner), high(outer), high(middle))


def _divide(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    return at.value(DivfOp(operands[0], operands[1]))


def _sqrt(at: Builder, op: Operation, operands: Sequence[SSAValue]) -> SSAValue:
    return at.value(SqrtOp(operands[0]))


_RULES: Mapping[str, Rule] = {
    "tt.bitcast": _bitcast,
    "tt.fp_to_fp": _convert,
    "tt.clampf": _clamp,
    "tt.mulhiui": _mulhi,
    "tt.precise_divf": _divide,
    "tt.approx_divf": _divide,
    "tt.precise_sqrt": _sqrt,
    "tt.extern_elementwise": library_call,
}
