"""Questions to the decision procedures: can a formula hold, and if so, where?

An application states what would be wrong (an address outside, two programs at one byte, a value
that does not fit) as a formula; the procedures look for a solution. *No* proves the application's
claim, a solution refutes it, once it has been confirmed by evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilewright.analysis.affine import Atom, Formula, Poly, Space, holds
from tilewright.analysis.pid_address.atoms import CARRIED, MEMORY, UNSUPPORTED
from tilewright.analysis.pid_address.checks.findings import Method
from tilewright.analysis.pid_address.checks.regions import is_opaque
from tilewright.analysis.pid_address.checks.settings import Effort


@dataclass(frozen=True)
class Question:
    formula: Formula
    order: tuple[Atom, ...]
    """The symbols of a witness, most significant first: the first solution is required."""
    complete: bool
    """Whether every solution is an execution."""
    values: tuple[Poly, ...] = ()
    """What a solution has to determine, even where the formula does not mention it."""

    @property
    def space(self) -> Space:
        return self.formula.space

    @property
    def closed(self) -> bool:
        """Whether a solution refutes: neither it nor where it is depends on what memory holds."""
        return self.complete and not is_opaque(self.space, (self.formula, *self.values))

    def symbols(self) -> list[Atom]:
        """Those of a witness first, then the others."""
        roots = (self.formula, *self.values)
        inside = [atom for atom in self.space.atoms_within(roots) if atom.is_symbol]
        first = [atom for atom in self.order if atom in inside]
        return first + [atom for atom in inside if atom not in first]


@dataclass(frozen=True)
class QueryResult:
    """``possible`` is None if the procedure cannot decide; then there is a reason."""

    possible: bool | None
    method: Method
    values: dict[str, int] | None = None
    reason: str = ""


Procedure = Callable[[Question, Effort], QueryResult]

DATA = "it depends on values loaded from memory"
CARRIED_OVER = "it depends on a loop-carried value without a closed form"
NOT_MODELLED = "it depends on the result of an op that is not modelled"
LENGTH = "it is inside a loop of unknown trip count"


def open_reason(question: Question) -> str:
    """Why a solution need not be an execution."""
    roots = (question.formula, *question.values)
    return opaque_reason(question.space, roots) if is_opaque(question.space, roots) else LENGTH


def opaque_reason(space: Space, roots: Iterable[Poly | Formula]) -> str:
    """Why a value or condition has no formula."""
    causes: set[str] = set()
    for atom in space.atoms_within(roots):
        if atom.is_opaque:
            causes |= space.dep_names(atom.deps_mask)
    if MEMORY in causes or not causes & {CARRIED, UNSUPPORTED}:
        return DATA
    return CARRIED_OVER if CARRIED in causes else NOT_MODELLED


def found(question: Question, method: Method, values: dict[str, int]) -> QueryResult:
    """A solution, if evaluation confirms it."""
    if not holds(question.formula, values):
        return QueryResult(None, method, reason=f"the solution of {method} was not confirmed")
    return QueryResult(True, method, values)


def query(question: Question, effort: Effort, procedures: tuple[Procedure, ...]) -> QueryResult:
    """The first result; otherwise the reason of the last procedure that gave one."""
    last = QueryResult(None, Method.NONE, reason="no procedure applies")
    for procedure in procedures:
        result = procedure(question, effort)
        if result.possible is not None:
            return result
        if result.reason:
            last = result
    return last
