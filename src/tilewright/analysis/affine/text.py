"""How polynomials and formulas are printed.

Terms by descending degree, then by name, plain symbols first; the coefficient leads:
`2*stride_qz*z + 64`. What is printed is the view, so remainders and selections read as `mod(P, D)`
and `sel(F, P, Q)`. A symbol divisible by d is stored as d times an atom; the printer restores its
name as long as the coefficient carries the d, and `fdiv(name, d)` otherwise.
"""

from __future__ import annotations

from math import gcd, lcm, prod

from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind


def poly_text(poly: Poly) -> str:
    return _terms_text(poly.view())


def _terms_text(view: Poly) -> str:
    texts = [_term(view, monomial, c) for monomial, c in view.terms.items()]
    texts.sort(key=lambda term: (-term[0], [_factor_key(name) for name in term[1]]))
    if not texts:
        return "0"
    parts: list[str] = []
    for _, names, coefficient in texts:
        sign = "-" if coefficient < 0 else "+"
        body = _product(abs(coefficient), names)
        if parts:
            parts.append(f" {sign} {body}")
        else:
            parts.append(f"-{body}" if coefficient < 0 else body)
    return "".join(parts)


def _product(coefficient: int, names: tuple[str, ...]) -> str:
    if not names:
        return str(coefficient)
    factors = names if coefficient == 1 else (str(coefficient), *names)
    return "*".join(factors)


def _term(view: Poly, monomial: Monomial, coefficient: int) -> tuple[int, tuple[str, ...], int]:
    """(degree, sorted factor texts, coefficient) of one term."""
    atoms = sorted(
        (view.space.atoms[id] for id in monomial), key=lambda atom: (atom_text(atom), atom.id)
    )
    names: list[str] = []
    for atom in atoms:
        name = atom_text(atom)
        if atom.divisor > 1:
            if coefficient % atom.divisor:
                name = f"fdiv({name}, {atom.divisor})"
            else:
                coefficient //= atom.divisor
        names.append(name)
    return len(monomial), tuple(sorted(names, key=_factor_key)), coefficient


def _factor_key(name: str) -> tuple[bool, str]:
    """Symbols come before derived atoms."""
    return ("(" in name or "[" in name, name)


def atom_text(atom: Atom) -> str:
    """The atom by itself; for a symbol or call its name, whatever its divisor."""
    if atom.kind is SymbolKind.SYMBOL or atom.kind is SymbolKind.WRAP:
        return atom.name
    if atom.kind is SymbolKind.CALL:
        shown = atom.args[: len(atom.args) - atom.hidden]
        return f"{atom.name}({_list(shown)})" if shown else atom.name
    if atom.kind is SymbolKind.INDICATOR:
        return f"[{atom.formula}]"
    if atom.kind is SymbolKind.SELECT:
        return f"sel({atom.formula}, {_list(atom.args)})"
    if atom.kind is SymbolKind.FDIV or atom.kind is SymbolKind.TDIV:
        factor = lcm(*(_missing_factor(arg) for arg in atom.args))
        return f"{atom.name}({_list(tuple(arg * factor for arg in atom.args))})"
    return f"{atom.name}({_list(atom.args)})"


def _missing_factor(poly: Poly) -> int:
    """What a quotient is expanded by so that its symbols print by name: with n = 16*m the atom
    fdiv(m + 15, 16) is fdiv(n + 240, 256)."""
    factor = 1
    for monomial, coefficient in poly.terms.items():
        divisor = prod(poly.space.atoms[id].divisor for id in monomial)
        factor = lcm(factor, divisor // gcd(divisor, coefficient))
    return factor


def _list(polys: tuple[Poly, ...]) -> str:
    return ", ".join(map(str, polys))


def formula_text(formula: Formula) -> str:
    if formula.kind is FormulaKind.CMP:
        assert formula.poly is not None
        return _comparison(formula.rel, formula.poly.view())
    if formula.kind is FormulaKind.PREDICATE:
        body = f"{formula.name}({_list(formula.args)})" if formula.args else formula.name
        return f"not {body}" if formula.negated else body
    if formula.parts:
        joiner = f" {formula.kind.value} "
        return joiner.join(sorted(_nested(part) for part in formula.parts))
    return formula.kind.value


def _nested(formula: Formula) -> str:
    return f"({formula})" if formula.parts else str(formula)


def _comparison(rel: str, view: Poly) -> str:
    """Terms with a negative coefficient go to the right, the constant where it is positive."""
    constant = view.constant_term
    plus = Poly(view.space, {m: c for m, c in view.terms.items() if m and c > 0})
    minus = Poly(view.space, {m: -c for m, c in view.terms.items() if m and c < 0})
    if rel == "<" and constant == -1:
        rel, constant = "<=", 0
    if not plus.terms:  # 0 < B - k reads B > k
        return f"{_terms_text(minus)} {_MIRRORED[rel]} {constant}"
    if constant > 0 and minus.terms:
        plus += constant
    else:
        minus -= constant
    return f"{_terms_text(plus)} {rel} {_terms_text(minus)}"


_MIRRORED = {"<": ">", "<=": ">=", "=": "=", "!=": "!="}
