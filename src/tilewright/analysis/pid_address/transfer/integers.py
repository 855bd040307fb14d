"""Making integer results: limits, overflow, and the same value over coordinates.

The mathematical result of an op stands for its machine result as long as it fits the type. Where
the ranges do not show that, the result rests on a premise (or is opaque, if requested).

Coordinates. A scalar that depends on a program id in an involved way (``pid_m``, a quotient of the
program id) gets a symbol of its own in ``virtual``. Sums and multiples by factors free of program
ids are looked into, other ops are not; a sum only if each of its parts is simple:

    first + pid % size      two quotients: a coordinate
    z * stride + h * step   each a multiple: coordinates are z and h
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address.report import AssumptionKind
from tilewright.analysis.pid_address.scope import Scope, is_scalar
from tilewright.analysis.pid_address.types import integer_range
from tilewright.analysis.pid_address.values import Integer


def is_affine(scope: Scope, expr: Poly, basis: int) -> bool:
    """Whether each program id occurs only as ``c*pid``, with c free of ids, lanes and counters."""
    atoms = scope.atoms
    varying = atoms.any_pid | atoms.any_lane | atoms.any_counter
    for axis in atoms.axes(expr.deps_mask):
        if basis >> axis & 1:
            return False
        factor = expr.coefficient_of(atoms.pid_atom(axis))
        if factor is None or factor.deps_mask & varying:
            return False
    return True


def chosen_axes(scope: Scope, one: Poly, other: Poly) -> int:
    """The axes by which two values differ between which a choice is made."""
    bits = 0
    for axis in scope.atoms.axes((one - other).deps_mask):
        bits |= 1 << axis
    return bits


def has_pid(scope: Scope, value: Integer) -> bool:
    return bool(value.expr.deps_mask & scope.atoms.any_pid)


def coordinate(scope: Scope, result: SSAValue, expr: Poly, basis: int) -> Integer:
    """A scalar in its own right."""
    name, key = scope.machine.name(result), scope.opaque_name(result)
    return Integer(expr, scope.atoms.coordinate(name, key, expr), is_simple=False, basis=basis)


def indirect(scope: Scope, result: SSAValue, expr: Poly, basis: int) -> Integer:
    """The result of an op that is not looked into."""
    if not expr.deps_mask & scope.atoms.any_pid or is_affine(scope, expr, basis):
        return Integer(expr, expr, basis=basis)
    if is_scalar(result):
        return coordinate(scope, result, expr, basis)
    return Integer(expr, None, is_simple=False, basis=basis)


def total(scope: Scope, result: SSAValue, left: Integer, right: Integer, sign: int = 1) -> Integer:
    """``left + right`` or, with sign -1, ``left - right``."""
    basis = left.basis | right.basis
    expr = scope.ctx.limited(left.expr + right.expr if sign > 0 else left.expr - right.expr)
    if left.virtual is left.expr and right.virtual is right.expr:
        return Integer(expr, expr, basis=basis)
    if is_scalar(result):
        if is_affine(scope, expr, basis):
            return Integer(expr, expr, basis=basis)
        if not (left.is_simple and right.is_simple):
            return coordinate(scope, result, expr, basis)
    return Integer(expr, _sum(left.virtual, right.virtual, sign), is_simple=False, basis=basis)


def moved(scope: Scope, offset: Integer, by: Integer) -> Integer:
    """An offset of a pointer, which is no coordinate whatever it depends on."""
    expr = scope.ctx.limited(offset.expr + by.expr)
    basis = offset.basis | by.basis
    if offset.virtual is offset.expr and by.virtual is by.expr:
        return Integer(expr, expr, basis=basis)
    return Integer(expr, _sum(offset.virtual, by.virtual, 1), is_simple=False, basis=basis)


def times(scope: Scope, left: Integer, right: Integer) -> Integer:
    """A multiplication that has no SSA name."""
    expr = scope.ctx.limited(left.expr * right.expr)
    basis = left.basis | right.basis
    if left.virtual is left.expr and right.virtual is right.expr:
        return Integer(expr, expr, basis=basis)
    if left.virtual is None or right.virtual is None:
        return Integer(expr, None, is_simple=False, basis=basis)
    return Integer(expr, left.virtual * right.virtual, basis=basis)


def _sum(left: Poly | None, right: Poly | None, sign: int) -> Poly | None:
    if left is None or right is None:
        return None
    return left + right if sign > 0 else left - right


def multiplied(scope: Scope, result: SSAValue, left: Integer, right: Integer) -> Integer:
    basis = left.basis | right.basis
    expr = scope.ctx.limited(left.expr * right.expr)
    if has_pid(scope, left) and has_pid(scope, right):
        return indirect(scope, result, expr, basis)
    if left.virtual is left.expr and right.virtual is right.expr:
        return Integer(expr, expr, basis=basis)
    if left.virtual is None or right.virtual is None:
        return Integer(expr, None, is_simple=False, basis=basis)
    return Integer(expr, left.virtual * right.virtual, basis=basis)


def scaled(value: Integer, factor: int) -> Integer:
    """``factor * value``."""
    if factor == 1:
        return value
    expr = value.expr * factor
    virtual = expr if value.virtual is value.expr else None
    if value.virtual is not None and virtual is None:
        virtual = value.virtual * factor
    return Integer(expr, virtual, value.is_simple, value.basis)


def checked(scope: Scope, op: Operation, value: Integer, *, is_nsw: bool = False) -> Integer:
    """`value` as the result of `op`, provided that it fits the type."""
    result = op.results[0]
    limits = integer_range(result.type)
    kind = AssumptionKind.NO_OVERFLOW
    if is_nsw or limits.contains(scope.ctx.range(value.expr)):
        scope.needs_no_premise(kind, op)
        return value
    if scope.machine.strict_overflow:
        return scope.opaque_integer(
            result, value.expr.deps_mask | scope.atoms.unsupported, value.basis
        )
    bit = scope.premise(kind, op, value.expr, limits)
    return Integer(value.expr, value.virtual, value.is_simple, value.basis | bit)
