"""Truth values: comparisons, connectives, and choices between two values.

A comparison of integers is a formula; what cannot be one is a predicate, a name with operands
that may hold or not. Unsigned comparisons are signed ones where the sign is known: with a bound
that is not negative, ``x <u n`` means ``0 <= x < n``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Formula, Poly
from tilewright.analysis.axis_info.rules import predicate_of
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.integers import (
    chosen_axes,
    indirect,
    is_affine,
)
from tilewright.analysis.pid_address.types import is_boolean
from tilewright.analysis.pid_address.values import (
    CHOSEN_AXES,
    POISON,
    Base,
    BlockPointer,
    Boolean,
    Data,
    Descriptor,
    Integer,
    Pointer,
    Value,
    basis_of,
    deps_of,
)

BOOLEAN_RULES: Mapping[str, Callable[[Formula, Formula], Formula]] = {
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.addi": lambda a, b: a ^ b,
    "arith.subi": lambda a, b: a ^ b,
    "arith.muli": lambda a, b: a & b,
    "arith.minui": lambda a, b: a & b,
    "arith.maxui": lambda a, b: a | b,
    # As a signed number, true is -1.
    "arith.minsi": lambda a, b: a | b,
    "arith.maxsi": lambda a, b: a & b,
}

_SIGNED = {"eq": "=", "ne": "!=", "slt": "<", "sle": "<=", "sgt": ">", "sge": ">="}
_UNSIGNED = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_MIRRORED = {">": "<", ">=": "<="}


def compare(scope: Scope, op: Operation) -> None:
    """``arith.cmpi``."""
    predicate = predicate_of(op)
    result = op.results[0]
    if is_boolean(op.operands[0].type):
        scope.set(result, _compare_truth(scope, op, predicate))
        return
    left, right = map(scope.integer, op.operands)
    basis = left.basis | right.basis
    if predicate in _SIGNED:
        formula = scope.ctx.compare(_SIGNED[predicate], left.expr, right.expr)
    else:
        formula = _unsigned(scope, result, _UNSIGNED[predicate], left.expr, right.expr)
    scope.set(result, Boolean(formula, basis))


def _compare_truth(scope: Scope, op: Operation, predicate: str) -> Value:
    left, right = map(scope.formula, op.operands)
    basis = left.basis | right.basis
    if predicate in ("eq", "ne"):
        differ = left.formula ^ right.formula
        return Boolean(differ if predicate == "ne" else ~differ, basis)
    mask = left.formula.deps_mask | right.formula.deps_mask | scope.atoms.unsupported
    return Boolean(scope.opaque_formula(op.results[0], mask), basis)


def _unsigned(scope: Scope, result: SSAValue, relation: str, left: Poly, right: Poly) -> Formula:
    ctx = scope.ctx
    if relation in _MIRRORED:
        relation, left, right = _MIRRORED[relation], right, left
    if ctx.is_nonneg(right):
        return ctx.compare(">=", left, 0) & ctx.compare(relation, left, right)
    if ctx.is_nonneg(left):  # a negative bound is large
        return ctx.compare("<", right, 0) | ctx.compare(relation, left, right)
    mask = left.deps_mask | right.deps_mask | scope.atoms.unsupported
    return scope.opaque_formula(result, mask)


# Choices.


def choose(scope: Scope, op: Operation) -> None:
    """``arith.select``."""
    condition = scope.formula(op.operands[0])
    yes, no = map(scope.get, op.operands[1:])
    value = chosen(scope, op.results[0], condition, yes, no)
    scope.set(op.results[0], value)


def chosen(scope: Scope, result: SSAValue, condition: Boolean, yes: Value, no: Value) -> Value:
    """`yes` where the condition holds, `no` elsewhere; nothing is lost."""
    truth = scope.ctx.decide(condition.formula)
    if truth is not None or yes == no or yes is POISON or no is POISON:
        taken = no if truth is False or yes is POISON else yes
        return _resting_on(taken, condition.basis & ~CHOSEN_AXES if truth is not None else 0)
    match yes, no:
        case Integer(), Integer():
            return _chosen_integer(scope, result, condition, yes, no)
        case Boolean(), Boolean():
            formula = (condition.formula & yes.formula) | (~condition.formula & no.formula)
            return Boolean(formula, condition.basis | yes.basis | no.basis)
        case Pointer(), Pointer():
            offset = _chosen_integer(scope, result, condition, yes.offset, no.offset)
            return Pointer(_chosen_base(condition, yes.base, no.base), offset)
        case BlockPointer(), BlockPointer() if _fit(yes, no):
            return _chosen_block(scope, condition, yes, no)
        case Descriptor(), Descriptor() if yes.block == no.block:
            return _chosen_descriptor(scope, condition, yes, no)
        case _:
            return unrelated(scope, result, condition, yes, no)


def unrelated(scope: Scope, result: SSAValue, condition: Boolean, yes: Value, no: Value) -> Value:
    """One of two values of which nothing else is known."""
    mask = condition.formula.deps_mask | deps_of(yes) | deps_of(no)
    basis = condition.basis | basis_of(yes) | basis_of(no)
    if isinstance(yes, Data) and isinstance(no, Data):
        return Data(mask, basis)
    return scope.unknown(result, mask | scope.atoms.unsupported, basis)


def _resting_on(value: Value, basis: int) -> Value:
    if not basis:
        return value
    match value:
        case Integer():
            return Integer(value.expr, value.virtual, value.is_simple, value.basis | basis)
        case Boolean():
            return Boolean(value.formula, value.basis | basis)
        case Pointer():
            offset = _resting_on(value.offset, basis)
            assert isinstance(offset, Integer)
            return Pointer(value.base, offset)
        case _:
            return value


def _chosen_integer(
    scope: Scope, result: SSAValue, condition: Boolean, yes: Integer, no: Integer
) -> Integer:
    basis = condition.basis & ~CHOSEN_AXES | yes.basis | no.basis
    if yes.expr == no.expr:
        return Integer(yes.expr, yes.virtual, yes.is_simple, basis)
    expr = scope.ctx.select(condition.formula, yes.expr, no.expr)
    return indirect(scope, result, expr, basis | chosen_axes(scope, yes.expr, no.expr))


def _chosen_part(scope: Scope, condition: Boolean, yes: Integer, no: Integer) -> Integer:
    """One of many integers of a value: there is no SSA name for it to be a coordinate."""
    basis = condition.basis & ~CHOSEN_AXES | yes.basis | no.basis
    if yes.expr == no.expr:
        return Integer(yes.expr, yes.virtual, yes.is_simple, basis)
    basis |= chosen_axes(scope, yes.expr, no.expr)
    expr = scope.ctx.select(condition.formula, yes.expr, no.expr)
    plain = not expr.deps_mask & scope.atoms.any_pid or is_affine(scope, expr, basis)
    return Integer(expr, expr if plain else None, is_simple=plain, basis=basis)


def _chosen_base(condition: Boolean, yes: Base, no: Base) -> Base:
    if yes == no:
        return yes
    return Base("?", None, None, condition.formula.deps_mask | yes.deps | no.deps)


def _fit(yes: BlockPointer, no: BlockPointer) -> bool:
    return yes.block == no.block and yes.order == no.order


def _chosen_block(
    scope: Scope, condition: Boolean, yes: BlockPointer, no: BlockPointer
) -> BlockPointer:
    def each(first: tuple[Integer, ...], second: tuple[Integer, ...]) -> tuple[Integer, ...]:
        pairs = zip(first, second, strict=True)
        return tuple(_chosen_part(scope, condition, a, b) for a, b in pairs)

    return BlockPointer(
        _chosen_base(condition, yes.base, no.base),
        _chosen_part(scope, condition, yes.offset, no.offset),
        each(yes.shape, no.shape),
        each(yes.strides, no.strides),
        each(yes.offsets, no.offsets),
        yes.block,
        yes.order,
    )


def _chosen_descriptor(
    scope: Scope, condition: Boolean, yes: Descriptor, no: Descriptor
) -> Descriptor:
    def each(first: tuple[Integer, ...], second: tuple[Integer, ...]) -> tuple[Integer, ...]:
        pairs = zip(first, second, strict=True)
        return tuple(_chosen_part(scope, condition, a, b) for a, b in pairs)

    return Descriptor(
        _chosen_base(condition, yes.base, no.base),
        _chosen_part(scope, condition, yes.offset, no.offset),
        each(yes.shape, no.shape),
        each(yes.strides, no.strides),
        yes.block,
        yes.is_argument and no.is_argument,
    )
