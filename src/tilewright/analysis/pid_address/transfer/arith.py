"""Integer arithmetic: one rule per op of ``arith``, and the ops of ``tt`` that give integers.

Division in IR rounds towards zero; the context turns it into floor division where signs are known.
Unsigned ops mean the same as signed ones on values that are not negative, and are opaque on
others. A division by a divisor that may be zero is undefined there, so nothing is lost by
writing it down as it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Interval, Poly
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.integers import (
    checked,
    indirect,
    multiplied,
    total,
)
from tilewright.analysis.pid_address.transfer.logic import (
    BOOLEAN_RULES,
    choose,
    compare,
)
from tilewright.analysis.pid_address.types import integer_range, integer_width, is_boolean
from tilewright.analysis.pid_address.values import POISON, Boolean, Integer, Pointer, Value
from tilewright.dialects.arith import IntegerOverflowAttr
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.tt.program import GetNumProgramsOp, GetProgramIdOp
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.interfaces import constant_value

Rule: TypeAlias = Callable[[Scope, Operation], None]
Binary: TypeAlias = Callable[[Scope, Poly, Poly], Poly | None]

_NO_SIGNED_WRAP = "nsw"


def _has_nsw(op: Operation) -> bool:
    """Whether the op has `nsw`: its signed result does not wrap around."""
    flags = op.properties.get("overflowFlags")
    return isinstance(flags, IntegerOverflowAttr) and any(
        flag.value == _NO_SIGNED_WRAP for flag in flags.data
    )


# Constants and the grid.


def _constant(scope: Scope, op: Operation) -> None:
    result = op.results[0]
    values = integers_in(constant_value(result))
    if not values:
        scope.set(result, scope.unknown(result, 0))
        return
    if all(value == values[0] for value in values):
        expr = scope.space.const(values[0])
    else:
        expr = scope.ctx.table(tuple(values), _flat_index(scope, shape_of(result.type)))
    scope.set(result, _typed(scope, result, expr))


def _typed(scope: Scope, result: SSAValue, expr: Poly) -> Value:
    if is_boolean(result.type):
        return Boolean(scope.ctx.compare("!=", expr, 0))
    return Integer(expr, expr)


def _flat_index(scope: Scope, shape: tuple[int, ...]) -> Poly:
    index = scope.space.zero
    for dim, extent in enumerate(shape):
        index = index * extent + scope.atoms.lane(dim, extent)
    return index


def _program_id(scope: Scope, op: Operation) -> None:
    assert isinstance(op, GetProgramIdOp)
    pid = scope.atoms.pids[op.dimension]
    scope.set(op.results[0], Integer(pid, pid))


def _num_programs(scope: Scope, op: Operation) -> None:
    assert isinstance(op, GetNumProgramsOp)
    count = scope.atoms.programs[op.dimension]
    scope.set(op.results[0], Integer(count, count))


# Addition and multiplication.


def _add(scope: Scope, op: Operation, sign: int = 1) -> None:
    left, right = map(scope.integer, op.operands)
    value = total(scope, op.results[0], left, right, sign)
    scope.set(op.results[0], checked(scope, op, value, is_nsw=_has_nsw(op)))


def _subtract(scope: Scope, op: Operation) -> None:
    _add(scope, op, -1)


def _multiply(scope: Scope, op: Operation) -> None:
    left, right = map(scope.integer, op.operands)
    value = multiplied(scope, op.results[0], left, right)
    scope.set(op.results[0], checked(scope, op, value, is_nsw=_has_nsw(op)))


def _extended(scope: Scope, op: Operation) -> None:
    """Two results: the low half is the plain op where it fits, the other is not modelled."""
    rule = _multiply if "mul" in op.name else _subtract if "sub" in op.name else _add
    rule(scope, op)
    low = scope.get(op.results[0])
    scope.set_unknown(op, scope.atoms.unsupported)
    if "mului" not in op.name or _are_nonneg(scope, op):
        scope.set(op.results[0], low)


def _are_nonneg(scope: Scope, op: Operation) -> bool:
    return all(scope.ctx.is_nonneg(scope.integer(operand).expr) for operand in op.operands)


# Ops that are not looked into when coordinates are sought.


def _binary(apply: Binary, *, may_overflow: bool = False) -> Rule:
    def rule(scope: Scope, op: Operation) -> None:
        left, right = map(scope.integer, op.operands)
        result = op.results[0]
        expr = apply(scope, left.expr, right.expr)
        if expr is None:
            scope.set_unknown(op, scope.atoms.unsupported)
            return
        value = _one_of(expr, left, right)
        if value is None:
            value = indirect(scope, result, expr, left.basis | right.basis)
        value = checked(scope, op, value, is_nsw=_has_nsw(op)) if may_overflow else value
        scope.set(result, value)

    return rule


def _one_of(expr: Poly, left: Integer, right: Integer) -> Integer | None:
    """The operand that an op turns out to pass on: a remainder that never wraps, a minimum."""
    for same in (left, right):
        if expr == same.expr:
            return Integer(same.expr, same.virtual, same.is_simple, left.basis | right.basis)
    return None


def _unsigned(apply: Binary) -> Rule:
    """The signed op, if neither operand is negative."""

    def both(scope: Scope, left: Poly, right: Poly) -> Poly | None:
        if scope.ctx.is_nonneg(left) and scope.ctx.is_nonneg(right):
            return apply(scope, left, right)
        return None

    return _binary(both)


def _divide(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.tdiv(left, right)


def _remainder(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.trem(left, right)


def _floor_divide(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.fdiv(left, right)


def _ceil_divide(scope: Scope, left: Poly, right: Poly) -> Poly:
    if scope.ctx.is_positive(right):
        return scope.ctx.ceil_div(left, right)
    return -scope.ctx.fdiv(-left, right)


def _minimum(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.minimum(left, right)


def _greatest(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.maximum(left, right)


def _and(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.bit_and(left, right)


def _or(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.bit_or(left, right)


def _xor(scope: Scope, left: Poly, right: Poly) -> Poly:
    return scope.ctx.bit_xor(left, right)


def _shift_left(scope: Scope, op: Operation) -> None:
    """By a constant: handled like a multiplication."""
    value, amount = map(scope.integer, op.operands)
    by = amount.expr.constant
    if by is None or not 0 <= by < integer_width(op.results[0].type):
        _SHIFT_BY_VALUE(scope, op)
        return
    factor = scope.space.const(1 << by)
    found = multiplied(scope, op.results[0], value, Integer(factor, factor, basis=amount.basis))
    scope.set(op.results[0], checked(scope, op, found, is_nsw=_has_nsw(op)))


def _shift_by_value(scope: Scope, left: Poly, right: Poly) -> Poly | None:
    return scope.ctx.shl(left, right) if scope.ctx.is_nonneg(right) else None


def _shift_right(scope: Scope, left: Poly, right: Poly) -> Poly | None:
    return scope.ctx.shr(left, right) if scope.ctx.is_nonneg(right) else None


_SHIFT_BY_VALUE = _binary(_shift_by_value, may_overflow=True)


# Casts.


def _extend_sign(scope: Scope, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if is_boolean(source.type):
        known = scope.formula(source)
        expr = scope.ctx.select(known.formula, -1, 0)
        scope.set(result, indirect(scope, result, expr, known.basis))
        return
    scope.set(result, scope.integer(source))


def _extend_zero(scope: Scope, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if is_boolean(source.type):
        known = scope.formula(source)
        expr = scope.ctx.indicator(known.formula)
        scope.set(result, indirect(scope, result, expr, known.basis))
        return
    value = scope.integer(source)
    if "nonNeg" in op.properties or scope.ctx.is_nonneg(value.expr):
        scope.set(result, value)
        return
    mask = value.expr.deps_mask | scope.atoms.unsupported
    width = min(integer_width(source.type), integer_width(result.type) - 1)
    limits = Interval.of_bits(width, signed=False)
    expr = scope.atoms.opaque(scope.opaque_name(result), mask, scope.shape(result), limits)
    scope.set(result, Integer(expr, expr, basis=value.basis))


def _truncate(scope: Scope, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    value = scope.integer(source)
    if is_boolean(result.type):
        odd = scope.ctx.compare("!=", scope.ctx.mod(value.expr, 2), 0)
        scope.set(result, Boolean(odd, value.basis))
        return
    scope.set(result, checked(scope, op, value, is_nsw=_has_nsw(op)))


def _index_cast(scope: Scope, op: Operation) -> None:
    source, result = op.operands[0], op.results[0]
    if is_boolean(source.type) or is_boolean(result.type):
        (_truncate if is_boolean(result.type) else _extend_sign)(scope, op)
        return
    scope.set(result, checked(scope, op, scope.integer(source)))


def _bitcast(scope: Scope, op: Operation) -> None:
    """The same bits: integers of one width have the same value."""
    source, result = op.operands[0], op.results[0]
    known = scope.get(source)
    same = integer_range(source.type) == integer_range(result.type)
    keeps = (
        (isinstance(known, Integer) and same and integer_range(result.type).is_bounded)
        or (isinstance(known, Boolean) and is_boolean(result.type))
        or isinstance(known, Pointer)
    )
    if keeps:
        scope.set(result, known)
    else:
        scope.set_unknown(op, scope.atoms.unsupported)


def _absolute(scope: Scope, op: Operation) -> None:
    """The larger of a value and its negative; only the least value of a type has no such."""
    source, result = scope.integer(op.operands[0]), op.results[0]
    if is_boolean(result.type):
        scope.set_unknown(op, scope.atoms.unsupported)
        return
    expr = scope.ctx.maximum(source.expr, -source.expr)
    value = _one_of(expr, source, source) or indirect(scope, result, expr, source.basis)
    scope.set(result, checked(scope, op, value))


def _poison(scope: Scope, op: Operation) -> None:
    scope.set(op.results[0], POISON)


_INTEGER_RULES: Mapping[str, Rule] = {
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.divsi": _binary(_divide),
    "arith.remsi": _binary(_remainder),
    "arith.divui": _unsigned(_divide),
    "arith.remui": _unsigned(_remainder),
    "arith.floordivsi": _binary(_floor_divide),
    "arith.ceildivsi": _binary(_ceil_divide),
    "arith.ceildivui": _unsigned(_ceil_divide),
    "arith.shli": _shift_left,
    "arith.shrsi": _binary(_shift_right),
    "arith.shrui": _unsigned(_shift_right),
    "arith.andi": _binary(_and),
    "arith.ori": _binary(_or),
    "arith.xori": _binary(_xor),
    "arith.minsi": _binary(_minimum),
    "arith.maxsi": _binary(_greatest),
    "arith.minui": _unsigned(_minimum),
    "arith.maxui": _unsigned(_greatest),
}
"""Ops that also exist on truth values, where ``BOOLEAN_RULES`` defines them."""


def _by_type(name: str) -> Rule:
    on_integers, on_booleans = _INTEGER_RULES[name], BOOLEAN_RULES.get(name)

    def rule(scope: Scope, op: Operation) -> None:
        if not is_boolean(op.results[0].type):
            on_integers(scope, op)
        elif on_booleans is None:
            scope.set_unknown(op, scope.atoms.unsupported)
        else:
            left, right = map(scope.formula, op.operands)
            made = on_booleans(left.formula, right.formula)
            scope.set(op.results[0], Boolean(made, left.basis | right.basis))

    return rule


ARITH_RULES: Mapping[str, Rule] = {
    **{name: _by_type(name) for name in _INTEGER_RULES},
    "arith.constant": _constant,
    "arith.select": choose,
    "arith.cmpi": compare,
    "arith.extsi": _extend_sign,
    "arith.extui": _extend_zero,
    "arith.trunci": _truncate,
    "arith.index_cast": _index_cast,
    "arith.index_castui": _extend_zero,
    "arith.bitcast": _bitcast,
    "tt.bitcast": _bitcast,
    "arith.addui_extended": _extended,
    "arith.subui_extended": _extended,
    "arith.mulsi_extended": _extended,
    "arith.mului_extended": _extended,
    "math.absi": _absolute,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _num_programs,
    "ub.poison": _poison,
}
