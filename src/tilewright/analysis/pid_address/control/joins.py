"""Values and conditions at control-flow joins.

Of several paths that reach a join exactly one was taken, so a value is a selection by the
conditions of the paths, and no precision is lost. The condition of the join is their disjunction,
in which ``G and c`` and ``G and not c`` become ``G`` again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue

from tilewright.analysis.affine import Formula, FormulaKind, conjunction, disjunction
from tilewright.analysis.pid_address.control.blocks import Exit
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.logic import chosen
from tilewright.analysis.pid_address.values import POISON, Boolean, Value

Way: TypeAlias = tuple[Formula, int, Value]
"""A condition, what it rests on, and the value that arrives where it holds."""


def joined(scope: Scope, target: SSAValue, ways: Sequence[Way]) -> Value:
    """The value that arrives at `target` by one of several ways, each with its condition."""
    if not ways:
        return POISON
    *others, (_, _, value) = ways
    for condition, basis, other in reversed(others):
        known = scope.ctx.known(condition)
        value = chosen(scope, target, Boolean(known, basis & ~scope.basis), other, value)
    return value


def joined_exits(
    scope: Scope, targets: Sequence[SSAValue], exits: Sequence[Exit], skipped: int = 0
) -> list[Value]:
    """What arrives at `targets` from the exits of a region; the first values are `skipped`."""
    return [
        joined(
            scope,
            target,
            [(exit.scope.guard, exit.scope.basis, exit.values[skipped + index]) for exit in exits],
        )
        for index, target in enumerate(targets)
    ]


def merged_guard(scope: Scope, guards: Sequence[Formula]) -> Formula:
    """The disjunction of conditions, with complementary ones taken together."""
    sets = [frozenset(_conjuncts(guard)) for guard in guards]
    progress = True
    while progress and len(sets) > 1:
        progress = False
        for i in range(len(sets)):
            for j in range(i + 1, len(sets)):
                shorter = _merged(sets[i], sets[j])
                if shorter is not None:
                    sets[j:] = sets[j + 1 :]
                    sets[i] = shorter
                    progress = True
                    break
            if progress:
                break
    parts = [conjunction(scope.space, sorted(one, key=lambda part: part.id)) for one in sets]
    return disjunction(scope.space, parts)


def _conjuncts(guard: Formula) -> tuple[Formula, ...]:
    if guard.truth is True:
        return ()
    return guard.parts if guard.kind is FormulaKind.AND else (guard,)


def _merged(left: frozenset[Formula], right: frozenset[Formula]) -> frozenset[Formula] | None:
    """One set for two, if one implies the other or they differ in a condition and its negation."""
    if left <= right:
        return left
    if right <= left:
        return right
    only_left, only_right = left - right, right - left
    if len(only_left) == 1 and len(only_right) == 1:
        [a], [b] = only_left, only_right
        if ~a is b:
            return left & right
    return None
