"""Search for arguments that give a loop a trip count, where its bounds cannot be solved.

`Assumptions.require` solves one bound, term by term. It gives up on conditions and remainders, and
where both bounds depend on the same argument, as in a persistent kernel::

    rounds = works // programs + (place_of(works // programs) < works)
    blocks = min((tiles - 1 - work % tiles) * 128 - shift + 128, context) / 64

A free argument would be 256, and so would be the number of tiles: nested loops would take hours.
The candidates come from the term instead: counts up to the required one, multiples of the factors
and divisors, and 0 for what is only added. Choices with a smaller size of all arguments together
come first, so that other loops over the same ones stay short as well.

Some loops cannot reach the required trip count: at most one block may be skipped, for example.
Choices with which those run at all are preferred, so that their bodies are analysed together with
the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from tilewright.analysis.alias_sync.symbolic_ints import (
    DEFAULTS,
    Assumptions,
    Root,
    RootKind,
    SymbolicInt,
    Term,
    roots_of,
)

MAX_TRIALS = 1000
"""For one loop: some hundredths of a second."""
_SCALES = frozenset(("mul", "div", "rem", "floordiv", "ceildiv"))
_ADDITIVE = frozenset(("add", "sub"))
Bounds: TypeAlias = tuple[SymbolicInt, SymbolicInt, SymbolicInt]
"""Lower bound, upper bound and step of a loop."""


def trips_of(assumptions: Assumptions, bounds: Bounds) -> int | None:
    """The trip count of a loop; None while it is undetermined."""
    low, high, step = (assumptions.value(each) for each in bounds)
    if low is None or high is None or step is None or step <= 0:
        return None
    return max(-(-(high - low) // step), 0)


def search(
    assumptions: Assumptions, bounds: Bounds, required: int, others: Sequence[Bounds] = ()
) -> dict[Root, int] | None:
    """Choices, in addition to those made, that give a loop the trip count `required`; None if none.

    All of `others` run at least once then, if there is a choice for that.
    """
    roots = list(dict.fromkeys(root for bound in bounds for root in roots_of(bound)))
    still_open = [root for root in roots if root not in assumptions.known]
    if any(root.kind == "data" for root in still_open):
        return None
    first: dict[Root, int] | None = None
    for values in sorted(product(*_pools(assumptions, still_open, bounds, required)), key=_size):
        chosen = dict(zip(still_open, values, strict=True))
        trial = Assumptions({**assumptions.known, **chosen})
        if trips_of(trial, bounds) != required:
            continue
        if all(trips_of(trial, each) for each in others):
            return chosen
        first = first or chosen
    return first


def _size(values: Sequence[int]) -> tuple[int, int]:
    return prod(max(value, 1) for value in values), sum(values)


def _pools(
    assumptions: Assumptions, roots: Sequence[Root], bounds: Bounds, required: int
) -> list[list[int]]:
    """The candidates for each root: `MAX_TRIALS` all together at most.

    The program is always the first one, and the only one if programs share the iterations of a
    loop.
    """
    max_programs = 1 if assumptions.is_persistent else required + 1
    terms = [term for bound in bounds for term in _terms(bound)]
    scales = sorted({arg for term in terms for arg in _constants(term)})
    offsets = _only_added(terms)
    sizes = list(dict.fromkeys(k * unit for k in range(1, required + 2) for unit in (1, *scales)))
    of_kind: dict[RootKind, list[int]] = {
        "program": [DEFAULTS["program"]],
        "programs": list(range(1, max_programs + 1)),
        "argument": sizes,
    }
    pools = [[0, *scales] if root in offsets else list(of_kind[root.kind]) for root in roots]
    while prod(map(len, pools)) > MAX_TRIALS:
        max(pools, key=len).pop()
    return pools


def _terms(integer: SymbolicInt) -> Iterator[Term]:
    if isinstance(integer, Term):
        yield integer
        for arg in integer.args:
            yield from _terms(arg)


def _constants(term: Term) -> Iterator[int]:
    if term.op in _SCALES:
        yield from (arg for arg in term.args if isinstance(arg, int) and arg > 1)


def _only_added(terms: Sequence[Term]) -> set[Root]:
    """Roots that are added and subtracted, and nothing else: offsets."""
    added = {arg for term in terms if term.op in _ADDITIVE for arg in term.args}
    others = {arg for term in terms if term.op not in _ADDITIVE for arg in term.args}
    return {arg for arg in added - others if isinstance(arg, Root) and arg.kind == "argument"}
