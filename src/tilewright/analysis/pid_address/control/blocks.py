"""Straight-line code: ops in order, by the tables.

Plain ops go by the tables of ``transfer``, ops with control flow by the table that the machine was
created with. Hints about a scalar (``tt.divisibility`` on an op) are applied here, whatever the op.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.pid_address.scope import Scope, is_scalar
from tilewright.analysis.pid_address.transfer import RULES
from tilewright.analysis.pid_address.values import Integer, Value
from tilewright.dialects.arith.constant import integers_in

DIVISIBILITY = "tt.divisibility"


@dataclass(frozen=True)
class Exit:
    """A point where control leaves a region, and the values it forwards."""

    scope: Scope
    values: tuple[Value, ...]


def run_block(scope: Scope, block: Block) -> Scope:
    """Evaluate all ops of a block; the scope at its end."""
    for op in block.ops:
        scope = run_op(scope, op)
    return scope


def run_op(scope: Scope, op: Operation) -> Scope:
    if op in scope.machine.irrelevant:
        return scope
    rule = RULES.get(op.name)
    if rule is not None:
        rule(scope, op)
    else:
        scope = scope.machine.control_of(op)(scope, op)
    return _with_hint(scope, op) if DIVISIBILITY in op.attributes else scope


def leave(scope: Scope, block: Block) -> Exit:
    """The exit at the end of a block."""
    last = block.last_op
    operands = () if last is None else last.operands
    return Exit(scope, tuple(scope.get(operand) for operand in operands))


def _with_hint(scope: Scope, op: Operation) -> Scope:
    """Apply the divisibility hint of a scalar; that of a loop or branch means nothing."""
    divisors = integers_in(op.attributes[DIVISIBILITY])
    if len(op.results) != 1 or op.regions or not is_scalar(op.results[0]):
        return scope
    if not divisors or divisors[0] < 2:
        return scope
    known = scope.get(op.results[0])
    if not isinstance(known, Integer):
        return scope
    return _divisible(scope, op.results[0], known, divisors[0])


def _divisible(scope: Scope, result: SSAValue, known: Integer, divisor: int) -> Scope:
    """An opaque value is created again with the divisor; of others it becomes a fact."""
    atom, space = known.expr.atom, scope.space
    if atom is not None and atom.is_opaque and known.expr.content == 1:
        limits = scope.ctx.range(known.expr)
        names = space.dep_names(atom.own_deps)
        made = space.call(atom.name, atom.args, limits, divisor, names, atom.role, atom.hidden)
        scope.set(result, Integer(made, made, known.is_simple, known.basis))
        return scope
    remainder = scope.ctx.mod(known.expr, divisor)
    return scope.knowing(scope.ctx.compare("=", remainder, 0))
