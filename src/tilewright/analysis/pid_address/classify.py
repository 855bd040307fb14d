"""How an offset depends on the program ids.

An axis is affine if its program id occurs only as ``c*pid`` with c free of program ids, lanes and
loop counters. The class of an access is the worst of what its axes show; whatever depends on a
program id through an opaque value is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tilewright.analysis.affine import Atom, Poly, SymbolKind
from tilewright.analysis.pid_address.atoms import AXES, Atoms, kind_of
from tilewright.analysis.pid_address.report import Pattern, Reason, Virtual
from tilewright.analysis.pid_address.values import CHOSEN_AXES, Base, Integer

_KIND_REASONS: tuple[tuple[frozenset[SymbolKind], Reason], ...] = (
    (
        frozenset(
            {SymbolKind.FDIV, SymbolKind.TDIV, SymbolKind.MOD, SymbolKind.TREM, SymbolKind.SHR}
        ),
        Reason.DIV_MOD,
    ),
    (
        frozenset({SymbolKind.MIN, SymbolKind.MAX, SymbolKind.INDICATOR, SymbolKind.SELECT}),
        Reason.PIECEWISE,
    ),
    (frozenset({SymbolKind.AND, SymbolKind.OR, SymbolKind.XOR, SymbolKind.SHL}), Reason.BITWISE),
)
"""Why an offset is not affine, by the atom that contains a program id; the first that applies."""


@dataclass(frozen=True)
class Classification:
    pattern: Pattern
    reason: Reason | None
    axes: tuple[int, ...]
    strides: Mapping[int, Poly | None]


def stride_of(expr: Poly, symbol: Atom, varying: int) -> Poly | None:
    """The factor of a symbol, if the value is affine in it; `varying`: what it must be free of."""
    factor = expr.coefficient_of(symbol)
    return None if factor is None or factor.deps_mask & varying else factor


def pid_strides(atoms: Atoms, expr: Poly, basis: int) -> dict[int, Poly | None]:
    """The stride of each axis that a value depends on; none of an axis chosen between."""
    varying = atoms.any_pid | atoms.any_lane | atoms.any_counter
    return {
        axis: None if basis >> axis & 1 else stride_of(expr, atoms.pid_atom(axis), varying)
        for axis in atoms.axes(expr.deps_mask)
    }


def classify(atoms: Atoms, value: Integer, base: Base) -> Classification:
    offset = value.expr
    mask = offset.deps_mask | base.deps
    axes = atoms.axes(mask)
    strides: dict[int, Poly | None] = dict.fromkeys(axes)
    strides.update(pid_strides(atoms, offset, value.basis))
    strides.update(dict.fromkeys(atoms.axes(base.deps)))
    unknown = _why_unknown(atoms, offset, base)
    if unknown is not None:
        return Classification(Pattern.UNKNOWN, unknown, axes, strides)
    if not axes:
        return Classification(Pattern.INDEPENDENT, None, axes, strides)
    if None not in strides.values():
        pattern = Pattern.AFFINE if len(axes) == 1 else Pattern.MULTI_AXIS
        return Classification(pattern, None, axes, strides)
    return Classification(Pattern.NONLINEAR, _why_nonlinear(atoms, value), axes, strides)


def _why_unknown(atoms: Atoms, offset: Poly, base: Base) -> Reason | None:
    masks: list[int] = []
    if base.is_top or base.deps & atoms.any_pid:
        masks.append(base.deps)
    if offset.deps_mask & atoms.any_pid:
        opaque = [atom for atom in offset.atoms_within() if atom.is_opaque]
        masks += [atom.deps_mask for atom in opaque if atom.deps_mask & atoms.any_pid]
    if not masks:
        return None
    together = 0
    for mask in masks:
        together |= mask
    if together & atoms.memory:
        return Reason.DATA_DEPENDENT
    return Reason.LOOP_CARRIED if together & atoms.carried else Reason.UNSUPPORTED


def _why_nonlinear(atoms: Atoms, value: Integer) -> Reason:
    offset = value.expr
    kinds = {atom.kind for atom in offset.atoms_within() if atom.deps_mask & atoms.any_pid}
    for among, reason in _KIND_REASONS:
        if kinds & among or (reason is Reason.PIECEWISE and value.basis & CHOSEN_AXES):
            return reason
    pids = [atoms.pid_atom(axis).id for axis in range(AXES)]
    varying = atoms.any_pid | atoms.any_lane | atoms.any_counter
    for monomial in offset.terms:
        if any(id in pids for id in monomial) and _others_vary(offset, monomial, pids, varying):
            return Reason.BILINEAR
    return Reason.OTHER


def _others_vary(offset: Poly, monomial: Iterable[int], pids: list[int], varying: int) -> bool:
    rest = list(monomial)
    rest.remove(next(id for id in rest if id in pids))
    return any(offset.space.atoms[id].deps_mask & varying for id in rest)


def virtual_of(atoms: Atoms, virtual: Poly | None) -> Virtual | None:
    """The pattern over coordinates, where the offset is affine in them."""
    if virtual is None or not virtual.deps_mask & atoms.any_coordinate:
        return None
    varying = atoms.any_pid | atoms.any_lane | atoms.any_counter | atoms.any_coordinate
    strides: dict[str, Poly] = {}
    coordinates: dict[str, Poly] = {}
    for axis, stride in pid_strides(atoms, virtual, 0).items():
        if stride is None or stride.deps_mask & varying:
            return None
        strides[str(axis)] = stride
    for atom in virtual.atoms_within():
        if kind_of(atom) != "coordinate":
            continue
        stride = stride_of(virtual, atom, varying)
        if stride is None:
            return None
        strides[atom.name] = stride
        coordinates[atom.name] = atoms.coordinates[atom]
    pattern = Pattern.AFFINE if len(strides) == 1 else Pattern.MULTI_AXIS
    return Virtual(pattern, strides, coordinates)
