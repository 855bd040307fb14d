"""Masks as boxes: bounds of single lanes, and conditions that are the same for all lanes.

    lane + r < 0         an upper bound
    l - lane < 1         a lower bound: lane >= l
    free of lanes        a guard

A mask with any other part is no box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tilewright.analysis.affine import Atom, Formula, FormulaKind, Poly
from tilewright.analysis.pid_address.atoms import kind_of


@dataclass
class Bounds:
    """What a mask demands of each lane."""

    above: dict[int, list[Poly]] = field(default_factory=dict[int, list[Poly]])
    """By dimension: polynomials r with ``lane + r < 0``."""
    below: dict[int, list[Poly]] = field(default_factory=dict[int, list[Poly]])
    """By dimension: polynomials l with ``lane + l >= 0``."""
    guards: list[Formula] = field(default_factory=list[Formula])


def conjuncts(formula: Formula | None) -> Iterator[Formula]:
    """The parts that all have to hold."""
    if formula is None or formula.kind is FormulaKind.TRUE:
        return
    if formula.kind is FormulaKind.AND:
        for part in formula.parts:
            yield from conjuncts(part)
    else:
        yield formula


def bounds_of(formula: Formula | None, lanes: Sequence[Atom | None]) -> Bounds | None:
    """The mask as bounds; None if it is no box."""
    found = Bounds()
    for part in conjuncts(formula):
        if not _has_lanes(part):
            found.guards.append(part)
            continue
        if part.kind is not FormulaKind.CMP or part.rel != "<" or part.poly is None:
            return None
        mentioned = [dim for dim, lane in enumerate(lanes) if lane and part.poly.mentions(lane)]
        if len(mentioned) != 1:
            return None
        (dim,) = mentioned
        lane = lanes[dim]
        assert lane is not None
        factor = part.poly.coefficient_of(lane)
        rest = part.poly.split(lane)[1]
        if factor == 1:
            found.above.setdefault(dim, []).append(rest)
        elif factor == -1:
            found.below.setdefault(dim, []).append(-rest - 1)
        else:
            return None
    return found


def _has_lanes(formula: Formula) -> bool:
    atoms = formula.space.atoms_within((formula,))
    return any(kind_of(atom) == "lane" for atom in atoms)
