"""Do integers stay inside their types?

The analysis computes with unbounded integers and records, as assumptions, where that could differ
from the machine. With arguments and grid given each assumption is decided; with some left open, the
witness says for which values it fails and, if it can be put in words, when it does not.
"""

from __future__ import annotations

from tilewright.analysis.affine import evaluate
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks import presburger
from tilewright.analysis.pid_address.checks.findings import (
    Check,
    Finding,
    Method,
    Point,
    Verdict,
    Witness,
)
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.checks.procedures import SYMBOLIC
from tilewright.analysis.pid_address.checks.questions import Question, ask
from tilewright.analysis.pid_address.checks.regions import VARYING, bounds_of
from tilewright.analysis.pid_address.report import Assumption


def check(launch: Launch) -> list[Finding]:
    return [_finding(launch, number) for number in range(len(launch.report.assumptions))]


def leaves_type(assumption: Assumption) -> Question:
    """The value is below or above what its type holds."""
    value, root = assumption.expr, assumption.expr.space.root
    wrong = root.compare("<", value, assumption.lower)
    if assumption.upper is not None:
        wrong |= root.compare(">", value, assumption.upper)
    formula = assumption.guard & bounds_of(value.space, assumption.domain) & wrong
    varying = [b.symbol for b in assumption.domain.bounds if kind_of(b.symbol) in VARYING]
    bounded = all(b.upper is not None for b in assumption.domain.bounds if b.symbol in varying)
    return Question(formula, tuple(varying), bounded, (value,))


def _finding(launch: Launch, number: int) -> Finding:
    assumption = launch.report.assumptions[number]
    accesses = tuple(a.index for a in launch.report.accesses if number in a.assumptions)
    question = leaves_type(assumption)
    answer = ask(question, launch.effort, SYMBOLIC)
    text = f"{assumption.value} = {assumption.expr}"
    if answer.possible is False:
        message = f"{text} fits {_limits(assumption)}"
        return _made(Verdict.PROVED, accesses, None, answer.method, message, None, number)
    if answer.values is None:
        message = f"{text} may leave {_limits(assumption)}: {answer.reason}"
        return _made(Verdict.UNKNOWN, accesses, None, answer.method, message, None, number)
    value = evaluate(assumption.expr, answer.values)
    given = launch.given(question, answer.values)
    point = _point(assumption, answer.values)
    message = f"{text} leaves {_limits(assumption)}: it is {value} in {point}"
    condition = presburger.condition(question, launch.effort) if given else None
    if given:
        message += f" for {', '.join(f'{k}={v}' for k, v in given.items())}"
    if condition is not None:
        message += f"; it fits if {condition}"
    witness = Witness((point,), None, value, given)
    return _made(Verdict.REFUTED, accesses, witness, answer.method, message, condition, number)


def _made(
    verdict: Verdict,
    accesses: tuple[int, ...],
    witness: Witness | None,
    method: Method,
    message: str,
    condition: str | None,
    number: int,
) -> Finding:
    return Finding(
        Check.OVERFLOW,
        verdict,
        accesses,
        witness,
        method,
        message,
        condition,
        assumption=number,
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
