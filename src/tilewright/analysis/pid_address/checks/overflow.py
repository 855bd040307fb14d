"""Do integers stay inside their types?

The analysis computes with unbounded integers and records, as assumptions, where that could differ
from the machine. With arguments and grid given each assumption is decided; with some left open, the
witness has values for which it fails and, if there is one, the condition under which it does not.

Only assumptions of an address, a mask or a guard are checked. A hash or a random number
generator wraps around on purpose, and where its results are mere data nothing else depends on it.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf

from tilewright.analysis.affine import Formula, conjunction, evaluate
from tilewright.analysis.pid_address.atoms import Atoms, kind_of
from tilewright.analysis.pid_address.checks import presburger
from tilewright.analysis.pid_address.checks.enumeration import Enumeration, NotEnumerable
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    CheckResult,
    Counterexample,
    Finding,
    Method,
    Point,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.procedures import SYMBOLIC
from tilewright.analysis.pid_address.checks.questions import QueryResult, Question, query
from tilewright.analysis.pid_address.checks.regions import VARYING, Executions, bounds_of
from tilewright.analysis.pid_address.report import Assumption


def check(launch: Launch) -> list[Finding]:
    indices = sorted({index for a in launch.report.accesses for index in a.assumptions})
    return [found(launch, index) for index in indices]


def found(launch: Launch, index: int) -> Finding:
    """The findings about one assumption, computed once."""
    if index not in launch.overflows:
        launch.overflows[index] = _finding(launch, index)
    return launch.overflows[index]


def leaves_type(assumption: Assumption) -> Question:
    """The value is below or above what its type holds."""
    value, root = assumption.expr, assumption.expr.space.root
    wrong = root.compare("<", value, assumption.lower)
    if assumption.upper is not None:
        wrong |= root.compare(">", value, assumption.upper)
    varying = tuple(b.symbol for b in assumption.domain.bounds if kind_of(b.symbol) in VARYING)
    return Question(_where(assumption) & wrong, varying, _is_bounded(assumption), (value,))


def _where(assumption: Assumption) -> Formula:
    space = assumption.expr.space
    known = conjunction(space, assumption.facts)
    return assumption.guard & known & bounds_of(space, assumption.domain)


def _is_bounded(assumption: Assumption) -> bool:
    bounds = assumption.domain.bounds
    return all(b.upper is not None for b in bounds if kind_of(b.symbol) in VARYING)


def enumerated(launch: Launch, assumption: Assumption, before: QueryResult) -> QueryResult:
    """By visiting all executions of the op or, if they are too many, some of them."""
    bounds = assumption.domain.bounds
    executions = Executions(
        assumption.expr,
        _where(assumption),
        tuple(Atoms(assumption.expr.space, launch.grid).pids),
        tuple(b.symbol for b in bounds if kind_of(b.symbol) in VARYING),
        tuple(
            (b.symbol, None if b.upper is None else b.upper + 1)
            for b in bounds
            if kind_of(b.symbol) == "it"
        ),
        _is_bounded(assumption),
    )
    low, high = assumption.lower, assumption.upper
    try:
        points = Enumeration(
            executions,
            launch.grid,
            launch.settings,
            launch.contents,
            may_sample=True,
            effort=launch.effort,
        )
        values = points.first_where(
            lambda chunk: (chunk.offset < low) | (chunk.offset > (inf if high is None else high))
        )
    except NotEnumerable as error:
        return replace(before, reason=before.reason or str(error))
    if values is None and points.step > 1:
        reason = f"one in {points.step} of its {points.points} points was checked"
        return QueryResult(None, Method.ENUMERATION, reason=reason)
    return QueryResult(values is not None, Method.ENUMERATION, values)


def _finding(launch: Launch, index: int) -> Finding:
    assumption = launch.report.assumptions[index]
    accesses = tuple(a.index for a in launch.report.accesses if index in a.assumptions)
    question = leaves_type(assumption)
    result = query(question, launch.effort, SYMBOLIC)
    if result.possible is None:
        result = enumerated(launch, assumption, result)
    text = f"{assumption.value} = {assumption.expr}"
    if result.possible is False:
        message = f"{text} fits {_limits(assumption)}"
        return _made(CheckResult.PROVED, accesses, None, result.method, message, None, index)
    if result.values is None:
        message = f"{text} may leave {_limits(assumption)}: {result.reason}"
        return _made(CheckResult.UNKNOWN, accesses, None, result.method, message, None, index)
    value = evaluate(assumption.expr, {**launch.contents.scalars(), **result.values})
    given = launch.given(question, result.values)
    point = _point(assumption, result.values)
    message = f"{text} leaves {_limits(assumption)}: it is {value} in {point}"
    condition = presburger.condition(question, launch.effort) if given else None
    if given:
        message += f" for {', '.join(f'{k}={v}' for k, v in given.items())}"
    if condition is not None:
        message += f"; it fits if {condition}"
    witness = Counterexample((point,), None, value, given)
    return _made(CheckResult.REFUTED, accesses, witness, result.method, message, condition, index)


def _made(
    verdict: CheckResult,
    accesses: tuple[int, ...],
    witness: Counterexample | None,
    method: Method,
    message: str,
    condition: str | None,
    index: int,
) -> Finding:
    return Finding(
        Check.OVERFLOW,
        verdict,
        accesses,
        witness,
        method,
        message,
        condition,
        assumption=index,
    )


def _limits(assumption: Assumption) -> str:
    if assumption.upper is None:
        return f"values from {assumption.lower}"
    return assumption.type


def _point(assumption: Assumption, values: dict[str, int]) -> Point:
    symbols = [bound.symbol for bound in assumption.domain.bounds]
    lanes = [atom for atom in symbols if kind_of(atom) == "lane"]
    counters = [atom for atom in symbols if kind_of(atom) == "it"]
    return Point(
        None,
        (values.get("pid0", 0), values.get("pid1", 0), values.get("pid2", 0)),
        tuple((_loop(atom.name), values.get(atom.name, 0)) for atom in counters),
        tuple(values.get(lane.name, 0) for lane in lanes),
    )


def _loop(counter: str) -> str:
    """``it(%k)`` counts the loop over ``%k``."""
    return counter.removeprefix("it(").removesuffix(")")
