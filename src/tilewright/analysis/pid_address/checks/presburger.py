"""P2: exact integer sets with isl, for linear formulas with divisions by constants.

A question becomes a set over all its symbols; an empty set is a proof, the lexicographically
least point a witness. Effort is bounded by isl's own count of operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import islpy

from tilewright.analysis.affine import Atom, Poly, conjunction
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.affine.isl import NotPresburger, to_set
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.findings import Method
from tilewright.analysis.pid_address.checks.questions import (
    QueryResult,
    Question,
    found,
    open_reason,
)
from tilewright.analysis.pid_address.checks.regions import conjuncts
from tilewright.analysis.pid_address.checks.settings import Effort

LONGEST_CONDITION = 120
"""Characters of a condition that a person can still read."""

_NOWHERE = 1 << 70
"""No symbol has this value."""

_T = TypeVar("_T")


def decide(question: Question, effort: Effort) -> QueryResult:
    """Whether the formula has an integer solution, and its first one."""
    return _bounded(lambda: _decide(question, effort), effort)


def _decide(question: Question, effort: Effort) -> QueryResult:
    space = question.space
    symbols = question.symbols()
    dims = [space.of_atom(atom) for atom in symbols]
    try:
        described = to_set(question.formula, dims)
    except NotPresburger as error:
        return _relaxed(question, dims, str(error))
    if described.set.is_empty():
        return QueryResult(False, Method.PRESBURGER)
    if not described.exact or not question.closed:
        return QueryResult(None, Method.PRESBURGER, reason=open_reason(question))
    # Arguments of real launches are not negative: such a witness is easier to believe.
    free = [dim for atom, dim in zip(symbols, dims, strict=True) if _is_free(atom)]
    natural = conjunction(space, (compare(">=", dim, 0) for dim in free))
    preferred = described.set.intersect(to_set(natural, dims).set)
    chosen = described.set if preferred.is_empty() else preferred
    point = _first_point(chosen, effort)
    # Reading a coordinate counts as an operation too, and has no result beyond the limit.
    islpy.DEFAULT_CONTEXT.reset_operations()
    values = {
        atom.name: point.get_coordinate_val(islpy.dim_type.set, at).to_python()
        for at, atom in enumerate(symbols)
    }
    return found(question, Method.PRESBURGER, values)


def _first_point(points: islpy.Set, effort: Effort) -> islpy.Point:
    """The lexicographically least point, or else any: with many divisions, the search for the
    least one takes isl far longer for an operation than to find out that there is one."""
    context = islpy.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(effort.settings.first_point_operations)
    try:
        return points.lexmin().sample_point()
    except islpy.Error:
        context.reset_operations()
        context.set_max_operations(effort.settings.operations)
        return points.sample_point()


def _relaxed(question: Question, dims: list[Poly], reason: str) -> QueryResult:
    """What can be described of a conjunction: if that has no solution, the whole has none."""
    whole: islpy.Set | None = None
    for part in conjuncts(question.formula):
        try:
            described = to_set(part, dims).set
        except NotPresburger:
            continue
        whole = described if whole is None else whole.intersect(described)
    if whole is not None and whole.is_empty():
        return QueryResult(False, Method.PRESBURGER)
    return QueryResult(None, Method.PRESBURGER, reason=f"not linear: {reason}")


def _is_free(atom: Atom) -> bool:
    return kind_of(atom) in ("arg", "np")


def condition(question: Question, effort: Effort) -> str | None:
    """The weakest condition on arguments and grid under which there is no solution."""
    if not question.closed:
        return None
    try:
        return _limited(lambda: _condition(question), effort)
    except (NotPresburger, islpy.Error):
        return None


def _condition(question: Question) -> str | None:
    space, symbols = question.space, question.symbols()
    bad = to_set(question.formula, [space.of_atom(a) for a in symbols if not _is_free(a)])
    free = [space.of_atom(atom) for atom in symbols if _is_free(atom)]
    # The comparisons only serve to mention the symbols: isl learns what is declared about them.
    mentioned = conjunction(space, (compare("!=", dim, _NOWHERE) for dim in free))
    declared = to_set(mentioned).set.params()
    good = declared.subtract(bad.set.params()).coalesce()
    return None if good.is_empty() else _readable(str(good.gist(declared)))


def _readable(text: str) -> str | None:
    """The constraints of isl's notation, without the frame."""
    body = text.split(":", 1)
    if len(body) < 2:
        return None
    inner = body[1].rsplit("}", 1)[0].strip()
    return inner if inner and len(inner) <= LONGEST_CONDITION else None


def _bounded(work: Callable[[], QueryResult], effort: Effort) -> QueryResult:
    try:
        return _limited(work, effort)
    except islpy.Error:
        return QueryResult(None, Method.PRESBURGER, reason="isl reached its limit of operations")


def _limited(work: Callable[[], _T], effort: Effort) -> _T:
    """isl counts its operations per context, and fails beyond the limit."""
    context = islpy.DEFAULT_CONTEXT
    context.reset_operations()
    context.set_max_operations(effort.settings.operations)
    try:
        return work()
    finally:
        context.set_max_operations(0)
        context.reset_operations()
