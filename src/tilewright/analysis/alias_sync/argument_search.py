"""Arguments that give a loop a trip count, found by trying, where its bounds cannot be solved.

`Assumptions.want` solves one bound, term by term. It gives up on conditions and remainders, and
where both bounds hang on the same argument, as in a persistent kernel::

    rounds = works // programs + (place_of(works // programs) < works)
    blocks = min((tiles - 1 - work % tiles) * 128 - shift + 128, context) / 64

An argument that nobody chooses would be 256, and so would be the number of tiles: nested loops
would multiply to hours. What is tried instead is read off the term: counts up to the one wanted,
multiples of the numbers that are multiplied or divided by, and 0 for what is only added. Smaller
products of all arguments come first, so that other loops over the same ones stay short as well.

Some loops cannot run as often as wanted: at most one block may be passed over, say. Choices with
which those run at all are preferred, so that what is in them is followed together with the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from tilewright.analysis.alias_sync.symbolic_ints import (
    DEFAULTS,
    Assumptions,
    Number,
    Root,
    RootKind,
    Term,
    roots_of,
)

MOST_TRIALS = 1000
"""For one loop: some hundredths of a second."""
_SCALES = frozenset(("mul", "div", "rem", "floordiv", "ceildiv"))
_SUMS = frozenset(("add", "sub"))
Bounds: TypeAlias = tuple[Number, Number, Number]
"""Where a loop starts, where it ends, and its step."""


def trips_of(numbers: Assumptions, bounds: Bounds) -> int | None:
    """How often a loop runs; None while that is open."""
    low, high, step = (numbers.value(each) for each in bounds)
    if low is None or high is None or step is None or step <= 0:
        return None
    return max(-(-(high - low) // step), 0)


def search(
    numbers: Assumptions, bounds: Bounds, wanted: int, others: Sequence[Bounds] = ()
) -> dict[Root, int] | None:
    """Choices, beside those that are made, with which a loop runs `wanted` times; None if none.

    All of `others` run at least once then, if there is a choice for that.
    """
    roots = list(dict.fromkeys(root for bound in bounds for root in roots_of(bound)))
    still_open = [root for root in roots if root not in numbers.known]
    if any(root.kind == "data" for root in still_open):
        return None
    first: dict[Root, int] | None = None
    for values in sorted(product(*_pools(numbers, still_open, bounds, wanted)), key=_size):
        chosen = dict(zip(still_open, values, strict=True))
        trial = Assumptions({**numbers.known, **chosen})
        if trips_of(trial, bounds) != wanted:
            continue
        if all(trips_of(trial, each) for each in others):
            return chosen
        first = first or chosen
    return first


def _size(values: Sequence[int]) -> tuple[int, int]:
    return prod(max(value, 1) for value in values), sum(values)


def _pools(
    numbers: Assumptions, roots: Sequence[Root], bounds: Bounds, wanted: int
) -> list[list[int]]:
    """What to try for each root: `MOST_TRIALS` all together at most.

    It is always the first program, and the only one if programs share the turns of a loop.
    """
    most_programs = 1 if numbers.is_persistent else wanted + 1
    terms = [term for bound in bounds for term in _terms(bound)]
    scales = sorted({arg for term in terms for arg in _constants(term)})
    offsets = _only_added(terms)
    sizes = list(dict.fromkeys(k * unit for k in range(1, wanted + 2) for unit in (1, *scales)))
    of_kind: dict[RootKind, list[int]] = {
        "program": [DEFAULTS["program"]],
        "programs": list(range(1, most_programs + 1)),
        "argument": sizes,
    }
    pools = [[0, *scales] if root in offsets else list(of_kind[root.kind]) for root in roots]
    while prod(map(len, pools)) > MOST_TRIALS:
        max(pools, key=len).pop()
    return pools


def _terms(number: Number) -> Iterator[Term]:
    if isinstance(number, Term):
        yield number
        for arg in number.args:
            yield from _terms(arg)


def _constants(term: Term) -> Iterator[int]:
    if term.op in _SCALES:
        yield from (arg for arg in term.args if isinstance(arg, int) and arg > 1)


def _only_added(terms: Sequence[Term]) -> set[Root]:
    """Roots that are added and subtracted, and nothing else: offsets."""
    added = {arg for term in terms if term.op in _SUMS for arg in term.args}
    others = {arg for term in terms if term.op not in _SUMS for arg in term.args}
    return {arg for arg in added - others if isinstance(arg, Root) and arg.kind == "argument"}
