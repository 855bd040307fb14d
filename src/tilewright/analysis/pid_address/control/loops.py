"""Loops: the body is evaluated once to find what it yields, and again with the solved values.

``scf.for`` counts its iterations from 0: the induction variable is ``lower + step*it``, and there
are ``max(0, ceil((upper - lower)/step))`` of them. ``scf.while`` counts without an end; its second
region runs under the condition of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Poly
from tilewright.analysis.pid_address.control.recurrences import (
    Carried,
    Solver,
    carried,
    placeholder_value,
    record_yield,
)
from tilewright.analysis.pid_address.control.regions import run_region
from tilewright.analysis.pid_address.report import Loop
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.integers import times, total
from tilewright.analysis.pid_address.values import Integer, Value, basis_of, deps_of
from tilewright.dialects.scf import ForOp, WhileOp

MAX_SOLVED_NESTING = 4
"""In loops nested deeper than this, what is carried is opaque at once."""

WHILE = "while"

Iteration: TypeAlias = Callable[[Sequence[Value]], Sequence[Value]]
"""One evaluation of a body: from the loop-carried values to those it yields."""


def _solved(
    scope: Scope,
    loop: Loop,
    targets: Sequence[SSAValue],
    firsts: Sequence[Value],
    iterate: Iteration,
) -> tuple[Solver, list[Carried]]:
    """Evaluate the body until what it carries is known; `scope` is that of the body."""
    same_base = [True] * len(targets)
    while True:
        values = [
            carried(scope, target, first, same_base=same)
            for target, first, same in zip(targets, firsts, same_base, strict=True)
        ]
        following = iterate([placeholder_value(value) for value in values])
        retained = [record_yield(value, one) for value, one in zip(values, following, strict=True)]
        if all(retained):
            break
        same_base = [same and keep for same, keep in zip(same_base, retained, strict=True)]
    solver = Solver(scope, loop, values)
    solver.solve()
    return solver, values


def _is_too_deep(scope: Scope) -> bool:
    return len(scope.loops) > MAX_SOLVED_NESTING


def _opaque_carries(
    scope: Scope, targets: Sequence[SSAValue], firsts: Sequence[Value]
) -> list[Value]:
    """Carried values that may be anything."""
    atoms = scope.atoms
    mask = atoms.any_pid | atoms.memory | atoms.carried | scope.loop_mask() | atoms.any_lane
    return [
        scope.unknown(target, mask | deps_of(first), basis_of(first))
        for target, first in zip(targets, firsts, strict=True)
    ]


def _after(scope: Scope, results: Sequence[SSAValue]) -> None:
    """Results of a loop that was not solved."""
    atoms = scope.atoms
    mask = atoms.any_pid | atoms.memory | atoms.carried | scope.loop_mask() | atoms.any_lane
    for result in results:
        scope.set(result, scope.unknown(result, mask))


# for


def run_for(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, ForOp)
    lower, upper, step = map(scope.integer, op.operands[:3])
    trips = _trip_count(scope, op, lower.expr, upper.expr, step.expr)
    basis = lower.basis | upper.basis | step.basis
    loop, body = enter_loop(scope, scope.machine.name(op.induction_variable), trips, basis)
    counter = scope.space.of_atom(loop.counter)
    progress = times(body, step, Integer(counter, counter))
    scope.set(op.induction_variable, total(body, op.induction_variable, lower, progress))
    firsts = [scope.get(init) for init in op.init_args]
    if not firsts:
        run_region(body, op.body, [scope.get(op.induction_variable)])
        return scope

    def iterate(values: Sequence[Value]) -> Sequence[Value]:
        [exit] = run_region(body, op.body, [scope.get(op.induction_variable), *values])
        return exit.values

    if _is_too_deep(body):
        iterate(_opaque_carries(body, op.iter_args, firsts))
        _after(scope, op.results)
        return scope
    solver, values = _solved(body, loop, op.iter_args, firsts, iterate)
    iterate([solver.value(value) for value in values])
    mask = lower.expr.deps_mask | upper.expr.deps_mask | step.expr.deps_mask
    for result, value in zip(op.results, values, strict=True):
        scope.set(result, solver.after(scope, result, value, trips, mask))
    return scope


def enter_loop(scope: Scope, name: str, trips: Poly | None, basis: int = 0) -> tuple[Loop, Scope]:
    """A loop and the scope of its body."""
    last = None
    if trips is not None:
        max_trips = scope.ctx.range(trips).hi
        last = None if max_trips is None else max_trips - 1
    enclosing = [loop.counter.name for loop in scope.loops]
    counter = scope.atoms.counter(name, last, enclosing)
    atom = counter.atom
    assert atom is not None
    loop = Loop(name, atom, trips)
    bound = scope.space.true if trips is None else scope.ctx.compare("<", counter, trips)
    return loop, scope.inside(loop, bound, basis)


def _trip_count(scope: Scope, op: ForOp, lower: Poly, upper: Poly, step: Poly) -> Poly | None:
    """The trip count; None if the sign of the step or of unsigned bounds is open."""
    ctx = scope.ctx
    if op.unsigned is not None and not (ctx.is_nonneg(lower) and ctx.is_nonneg(upper)):
        return None
    if ctx.is_positive(step):
        return ctx.maximum(0, ctx.ceil_div(upper - lower, step))
    return None


# while


def run_while(scope: Scope, op: Operation) -> Scope:
    assert isinstance(op, WhileOp)
    loop, body = enter_loop(scope, WHILE, None)
    firsts = [scope.get(init) for init in op.operands]
    before, after = op.before_region, op.after_region
    forwarded: list[Value] = []
    condition = 0

    def iterate(values: Sequence[Value]) -> Sequence[Value]:
        nonlocal forwarded, condition
        [exit] = run_region(body, before, values)
        last = before.block.last_op
        assert last is not None
        holds = exit.scope.formula(last.operands[0])
        forwarded = list(exit.values[1:])
        condition = holds.formula.deps_mask
        inner = exit.scope.under(exit.scope.ctx.known(holds.formula), holds.basis)
        [end] = run_region(inner, after, forwarded)
        return end.values

    if _is_too_deep(body):
        iterate(_opaque_carries(body, before.block.args, firsts))
        _after(scope, op.results)
        return scope
    solver, values = _solved(body, loop, before.block.args, firsts, iterate)
    iterate([solver.value(value) for value in values])
    for result, value in zip(op.results, forwarded, strict=True):
        scope.set(result, solver.last_value(result, value, solver.closed(condition)))
    return scope
