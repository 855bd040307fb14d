"""Polynomials with integer coefficients over atoms: the normal form of an integer value.

    Poly.terms:  monomial -> coefficient,  monomial = ascending tuple of atom ids

    2*x*x + 3*y - 1   {(0, 0): 2, (1,): 3, (): -1}

No coefficient is zero, so two polynomials are the same map exactly when they are equal in the ring,
in whatever order they were built. What else makes the form canonical is decided here once:

* mod and truncating remainder are not atoms but `P - D*fdiv(P, D)` and `P - D*tdiv(P, D)`, so a
  quotient and its remainder collapse by ordinary arithmetic;
* a selection is `Q + [F]*(P - Q)` with a 0/1 indicator, and `[F]*[F]` is `[F]`;
* a symbol known to be divisible by d is `d` times an atom, so divisibility is a coefficient.

`view()` turns the result back into the `mod` and `sel` a reader expects; `str` prints that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import gcd
from typing import TYPE_CHECKING

from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.space import Space

Monomial = tuple[int, ...]


class Poly:
    """An integer polynomial over the atoms of one space. Immutable, hashable."""

    __slots__ = ("_hash", "_support", "_view", "space", "terms")

    def __init__(self, space: Space, terms: dict[Monomial, int]) -> None:
        self.space = space
        self.terms = terms
        """Read only; free of zero coefficients."""
        self._hash: int | None = None
        self._support: int | None = None
        self._view: Poly | None = None

    # Ring operations

    def __add__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return self._plus_constant(other)
        if len(other.terms) > len(self.terms):
            self, other = other, self
        if not other.terms:
            return self
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + coefficient
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Poly(self.space, terms)

    __radd__ = __add__

    def _plus_constant(self, value: int) -> Poly:
        if not value:
            return self
        terms = self.terms.copy()
        total = terms.get((), 0) + value
        if total:
            terms[()] = total
        else:
            del terms[()]
        return Poly(self.space, terms)

    def __neg__(self) -> Poly:
        return Poly(self.space, {monomial: -c for monomial, c in self.terms.items()})

    def __sub__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return self._plus_constant(-other)
        if not other.terms:
            return self
        terms = self.terms.copy()
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) - coefficient
            if total:
                terms[monomial] = total
            else:
                del terms[monomial]
        return Poly(self.space, terms)

    def __rsub__(self, other: int) -> Poly:
        return -self + other

    def __mul__(self, other: Poly | int) -> Poly:
        if isinstance(other, int):
            return self._scaled(other)
        if other.constant is not None:
            return self._scaled(other.constant)
        if self.constant is not None:
            return other._scaled(self.constant)
        merge = self.space.merge
        terms: dict[Monomial, int] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                monomial = merge(left, right)
                total = terms.get(monomial, 0) + a * b
                if total:
                    terms[monomial] = total
                else:
                    del terms[monomial]
        return Poly(self.space, terms)

    __rmul__ = __mul__

    def _scaled(self, factor: int) -> Poly:
        if factor == 1:
            return self
        if factor == 0:
            return Poly(self.space, {})
        return Poly(self.space, {monomial: c * factor for monomial, c in self.terms.items()})

    def exact_quotient(self, factor: int) -> Poly:
        """Every coefficient divided by an integer that divides them all."""
        if any(c % factor for c in self.terms.values()):
            raise ValueError(f"{factor} does not divide every coefficient of {self}")
        return Poly(self.space, {monomial: c // factor for monomial, c in self.terms.items()})

    # Identity

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Poly):
            return self.space is other.space and self.terms == other.terms
        if isinstance(other, int):
            return self.constant == other
        return NotImplemented

    def __hash__(self) -> int:
        if self._hash is None:
            constant = self.constant
            if constant is None:
                self._hash = hash(frozenset(self.terms.items()))
            else:  # equal to the plain integer, so it hashes like it
                self._hash = hash(constant)
        return self._hash

    def key(self) -> tuple[tuple[Monomial, int], ...]:
        """A sort key: the same for equal polynomials, different for different ones."""
        return tuple(sorted(self.terms.items()))

    # Parts

    @property
    def constant(self) -> int | None:
        """The value, if it is an integer."""
        terms = self.terms
        if not terms:
            return 0
        return terms.get(()) if len(terms) == 1 else None

    @property
    def constant_term(self) -> int:
        return self.terms.get((), 0)

    @property
    def content(self) -> int:
        """The greatest common divisor of all coefficients; 0 for the zero polynomial."""
        return gcd(*self.terms.values())

    @property
    def sign(self) -> int:
        """The sign of the coefficient that decides between P and -P: that of the least monomial
        other than 1, which holds the oldest atom. 1 for a constant."""
        lead = min((monomial for monomial in self.terms if monomial), default=None)
        return -1 if lead is not None and self.terms[lead] < 0 else 1

    @property
    def degree(self) -> int:
        return max(map(len, self.terms), default=0)

    @property
    def depth(self) -> int:
        """Nesting of derived atoms."""
        atoms = self.space.atoms
        return max((atoms[id].depth for monomial in self.terms for id in monomial), default=0)

    @property
    def atom(self) -> Atom | None:
        """The atom, if the polynomial is one atom times an integer (a symbol's own polynomial
        carries its divisor as that integer)."""
        if len(self.terms) != 1:
            return None
        (monomial,) = self.terms
        return self.space.atoms[monomial[0]] if len(monomial) == 1 else None

    def atom_ids(self) -> set[int]:
        return {id for monomial in self.terms for id in monomial}

    def atoms(self) -> list[Atom]:
        """The atoms of the polynomial itself, not those inside derived atoms; oldest first."""
        atoms = self.space.atoms
        return [atoms[id] for id in sorted(self.atom_ids())]

    def atoms_within(self) -> list[Atom]:
        """All atoms, those inside derived atoms and formulas included; oldest first."""
        return self.space.atoms_within((self,))

    def __iter__(self) -> Iterator[tuple[Monomial, int]]:
        return iter(self.terms.items())

    def __len__(self) -> int:
        return len(self.terms)

    def __bool__(self) -> bool:
        raise TypeError("a polynomial has no truth value: compare it, or query a context")

    def split(self, atom: Atom) -> tuple[Poly, Poly, Poly]:
        """(A, B, C) with self = A*atom + B + C, where B does not have the atom as a factor and
        C holds the terms with a higher power of it. The atom may still occur inside derived
        atoms of any of them; see `mentions`."""
        linear: dict[Monomial, int] = {}
        rest: dict[Monomial, int] = {}
        higher: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            count = monomial.count(atom.id)
            if not count:
                rest[monomial] = coefficient
            elif count == 1:
                at = monomial.index(atom.id)
                linear[monomial[:at] + monomial[at + 1 :]] = coefficient
            else:
                higher[monomial] = coefficient
        space = self.space
        return Poly(space, linear), Poly(space, rest), Poly(space, higher)

    def coefficient_of(self, atom: Atom) -> Poly | None:
        """The polynomial c if self = c*atom + rest with c and rest free of the atom, however
        deep; None if the value is not affine in the atom. The atom of a symbol with a divisor is
        the symbol over its divisor."""
        linear, rest, higher = self.split(atom)
        if higher.terms or linear.mentions(atom) or rest.mentions(atom):
            return None
        return linear

    # Dependence

    @property
    def support(self) -> int:
        """Bit set of the symbols and calls inside, however deep."""
        if self._support is None:
            atoms, mask = self.space.atoms, 0
            for id in self.atom_ids():
                mask |= atoms[id].support
            self._support = mask
        return self._support

    def mentions(self, atom: Atom) -> bool:
        """Does the value contain this symbol or call, however deep?"""
        if atom.kind is SymbolKind.SYMBOL or atom.kind is SymbolKind.CALL:
            return bool(self.support & self.space.own_bit(atom))
        return any(inner is atom for inner in self.atoms_within())

    @property
    def deps_mask(self) -> int:
        atoms, mask = self.space.atoms, 0
        for id in self.atom_ids():
            mask |= atoms[id].deps_mask
        return mask

    @property
    def deps(self) -> frozenset[str]:
        """Names of everything the value may depend on."""
        return self.space.dep_names(self.deps_mask)

    def depends_on(self, dep: str) -> bool:
        return bool(self.deps_mask & self.space.dep_bit(dep))

    # Reading

    def view(self) -> Poly:
        """The same value with remainders and selections as atoms, for reading only."""
        if self._view is None:
            from tilewright.analysis.affine.view import view_of

            self._view = view_of(self)
        return self._view

    def __str__(self) -> str:
        from tilewright.analysis.affine.text import poly_text

        return poly_text(self)

    def __repr__(self) -> str:
        return f"Poly({self})"


def total(space: Space, polys: Iterable[Poly]) -> Poly:
    """The sum of many polynomials, without the intermediate copies."""
    terms: dict[Monomial, int] = {}
    for poly in polys:
        for monomial, coefficient in poly.terms.items():
            terms[monomial] = terms.get(monomial, 0) + coefficient
    return Poly(space, {monomial: c for monomial, c in terms.items() if c})
