"""Congruences of atoms and polynomials in a context.

A polynomial's class is the sum of the classes of its terms; a declared divisor is part of the
coefficient already. Derived atoms have a class where their operation keeps one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from math import gcd
from typing import TYPE_CHECKING

from tilewright.analysis.affine import congruence as cong
from tilewright.analysis.affine.congruence import Congruence
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

# Stands for "divisible by every power of two that matters", as zero is.
_ALL_ZEROS = 1 << 512


def congruence_of(ctx: Context, poly: Poly) -> Congruence:
    """The sum of the classes of the terms; plain integers, as most of it is done for nothing."""
    atoms = ctx.space.atoms
    m = r = 0
    for monomial, coefficient in poly.terms.items():
        term_m, term_r = 0, coefficient
        for id in monomial:
            factor = ctx.atom_congruence(atoms[id])
            term_m = gcd(term_m * factor.m, term_m * factor.r, term_r * factor.m)
            term_r *= factor.r
        m, r = gcd(m, term_m), r + term_r
        if m == 1:
            return cong.ANY
    return Congruence.of(m, r)


def atom_congruence(ctx: Context, atom: Atom) -> Congruence:
    value = ctx.atom_range(atom).constant
    if value is not None:
        return cong.constant(value)
    known = ctx.facts.congruences.get(atom.id, cong.ANY)
    compute = ATOM_CONGRUENCES.get(atom.kind)
    if compute is None:
        return known
    return known.meet(compute(ctx, atom)) or known


def _arg_congruences(ctx: Context, atom: Atom) -> list[Congruence]:
    return [ctx.congruence(arg) for arg in atom.args]


def _fdiv_congruence(ctx: Context, atom: Atom) -> Congruence:
    value, divisor = ctx.congruence(atom.args[0]), atom.args[1].constant
    if not divisor or value.m % divisor or value.m == 0:
        return cong.ANY
    return Congruence.of(value.m // divisor, value.r // divisor)


def _tdiv_congruence(ctx: Context, atom: Atom) -> Congruence:
    value, divisor = ctx.congruence(atom.args[0]), atom.args[1].constant
    if not divisor or value.divisor % divisor or value.m == 0:
        return cong.ANY
    return Congruence.of(value.m // divisor, value.r // divisor)


def _mod_congruence(ctx: Context, atom: Atom) -> Congruence:
    value, divisor = _arg_congruences(ctx, atom)
    return Congruence.of(gcd(value.m, divisor.divisor), value.r)


def _joined_congruence(ctx: Context, atom: Atom) -> Congruence:
    return reduce(Congruence.join, _arg_congruences(ctx, atom))


def _table_congruence(ctx: Context, atom: Atom) -> Congruence:
    return reduce(Congruence.join, map(cong.constant, atom.values))


def _low_zeros(congruence: Congruence) -> int:
    """The power of two that divides every member; of the constant 0 a large one."""
    divisor = congruence.divisor
    return divisor & -divisor if divisor else _ALL_ZEROS


def _and_congruence(ctx: Context, atom: Atom) -> Congruence:
    return Congruence.of(max(map(_low_zeros, _arg_congruences(ctx, atom))))


def _or_congruence(ctx: Context, atom: Atom) -> Congruence:
    return Congruence.of(min(map(_low_zeros, _arg_congruences(ctx, atom))))


def _shl_congruence(ctx: Context, atom: Atom) -> Congruence:
    value, amount = ctx.congruence(atom.args[0]), ctx.range(atom.args[1])
    if amount.lo is None or not 0 <= amount.lo <= _ALL_ZEROS.bit_length():
        return Congruence.of(value.divisor)
    return Congruence.of(value.divisor << amount.lo)


ATOM_CONGRUENCES: dict[SymbolKind, Callable[[Context, Atom], Congruence]] = {
    SymbolKind.FDIV: _fdiv_congruence,
    SymbolKind.TDIV: _tdiv_congruence,
    SymbolKind.MOD: _mod_congruence,
    SymbolKind.MIN: _joined_congruence,
    SymbolKind.MAX: _joined_congruence,
    SymbolKind.SELECT: _joined_congruence,
    SymbolKind.AND: _and_congruence,
    SymbolKind.OR: _or_congruence,
    SymbolKind.XOR: _or_congruence,
    SymbolKind.SHL: _shl_congruence,
    SymbolKind.TABLE: _table_congruence,
}
