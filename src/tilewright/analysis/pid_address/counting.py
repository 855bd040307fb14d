"""Functions of lanes alone, counted out: every value, every run.

The last resort where no rule shows how lanes stay together (``xor(lane, 4)``), and the first where
several dimensions make one set of addresses. NumPy is loaded only when it comes to that.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tilewright.analysis.affine import Atom, Formula, FormulaKind, Poly
from tilewright.analysis.pid_address.atoms import kind_of

if TYPE_CHECKING:
    from tilewright.analysis.affine.arrays import IntArray

MAX_LANES = 1 << 20
"""More lanes than this are not counted out."""


def extent_of(lane: Atom) -> int:
    last = lane.range.hi
    assert last is not None
    return last + 1


def only_lanes(value: Poly) -> list[Atom] | None:
    """The lanes a value is a function of, ``None`` if it depends on anything else."""
    lanes: list[Atom] = []
    for atom in value.atoms_within():
        if atom.is_symbol and kind_of(atom) == "lane":
            lanes.append(atom)
        elif atom.is_symbol or atom.is_opaque or _is_open(atom.formula):
            return None
    return lanes


def _is_open(formula: Formula | None) -> bool:
    """Whether a condition has a part that may hold or not."""
    if formula is None:
        return False
    return formula.kind is FormulaKind.PREDICATE or any(map(_is_open, formula.parts))


def terms_with(value: Poly, lanes: Sequence[Atom]) -> Poly:
    """The terms of a value in which one of some lanes occurs."""
    own, atoms = 0, value.space.atoms
    for lane in lanes:
        own |= value.space.own_bit(lane)
    terms = {
        monomial: factor
        for monomial, factor in value.terms.items()
        if any(atoms[id].support & own for id in monomial)
    }
    return Poly(value.space, terms)


def lane_count(lanes: Sequence[Atom]) -> int:
    count = 1
    for lane in lanes:
        count *= extent_of(lane)
    return count


def values_of(part: Poly, lanes: Sequence[Atom]) -> IntArray:
    """All values of a function of lanes, one axis per lane."""
    import numpy as np

    from tilewright.analysis.affine.arrays import evaluate_array

    positions: dict[str, IntArray] = {}
    for at, lane in enumerate(lanes):
        shape = [1] * len(lanes)
        shape[at] = extent_of(lane)
        positions[lane.name] = np.arange(extent_of(lane), dtype=np.int64).reshape(shape)
    extents = [extent_of(lane) for lane in lanes]
    return np.broadcast_to(evaluate_array(part, positions), extents)


def longest_group(part: Poly, lane: Atom, unit: int, sizes: Sequence[int]) -> int:
    """The longest aligned groups of lanes on which a function of lanes rises by `unit`."""
    lanes = only_lanes(part)
    if lanes is None or lane_count(lanes) > MAX_LANES:
        return 1
    import numpy as np

    others = [one for one in lanes if one is not lane]
    values = values_of(part, [*others, lane]).reshape(-1, extent_of(lane))
    steps = np.diff(values, axis=1) == unit
    for size in sizes:
        inner = np.arange(1, extent_of(lane)) % size != 0
        if bool(np.all(steps[:, inner])):
            return size
    return 1


def run_lengths(part: Poly, lanes: Sequence[Atom], step: int) -> list[int]:
    """Lengths of the runs of addresses `step` apart, in ascending order of address."""
    if lane_count(lanes) > MAX_LANES:
        return [1]
    import numpy as np

    addresses = np.unique(values_of(part, lanes))
    ends = np.flatnonzero(np.diff(addresses) != step) + 1
    marks = [0, *(int(end) for end in ends), int(addresses.size)]
    return [after - before for before, after in pairwise(marks)]
