"""Polynomials of the address analysis as index arithmetic.

Every symbol is a value of the program (``Addresses.value_of``): an argument, a program id, the
counter of a loop around, a scalar. Derived symbols are computed: quotients, least and greatest,
choices. Lanes are the indices that the caller gives.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects.builtin import i1
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, Formula, FormulaKind, Poly, SymbolKind
from tilewright.analysis.pid_address.atoms import Role
from tilewright.analysis.raising.addresses import Addresses
from tilewright.dialects.arith import (
    AndiOp,
    CmpiOp,
    DivsiOp,
    FloordivsiOp,
    MaxsiOp,
    MinsiOp,
    MuliOp,
    OriOp,
    RemsiOp,
    SelectOp,
    ShliOp,
    ShrsiOp,
    SubiOp,
    XoriOp,
)
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.raising.builder import Builder

_BINARY: Mapping[SymbolKind, Callable[[SSAValue, SSAValue], Operation]] = {
    SymbolKind.FDIV: FloordivsiOp,
    SymbolKind.TDIV: DivsiOp,
    SymbolKind.TREM: RemsiOp,
    SymbolKind.MIN: MinsiOp,
    SymbolKind.MAX: MaxsiOp,
    SymbolKind.AND: AndiOp,
    SymbolKind.OR: OriOp,
    SymbolKind.XOR: XoriOp,
    SymbolKind.SHL: ShliOp,
    SymbolKind.SHR: ShrsiOp,
}
_PREDICATES = {"<": "slt", "=": "eq", "!=": "ne"}


@dataclass
class Symbols:
    """Computes polynomials where they are needed."""

    addresses: Addresses
    scalars: Mapping[SSAValue, SSAValue]
    """Values of the old function that exist in the new one."""
    programs: list[SSAValue]
    """The program ids, as indices."""
    grid: list[SSAValue]
    """The grid, as indices."""
    counters: dict[Atom, SSAValue] = field(default_factory=dict[Atom, SSAValue])
    """The iteration of each loop around."""

    def index(self, at: Builder, poly: Poly, lanes: Mapping[int, Mixed] | None = None) -> Mixed:
        """The value of a polynomial."""
        total: Mixed = 0
        constant = 0
        for monomial, coefficient in sorted(poly.terms.items()):
            if not monomial:
                constant = coefficient
                continue
            term: Mixed = 1
            for id in monomial:
                factor, coefficient = self._factor(at, poly.space.atoms[id], coefficient, lanes)
                term = at.times(term, factor)
            total = at.plus(total, at.times(term, coefficient))
        return at.plus(total, constant)

    def _factor(
        self, at: Builder, atom: Atom, coefficient: int, lanes: Mapping[int, Mixed] | None
    ) -> tuple[Mixed, int]:
        """The value of a symbol or an opaque value; one with a divisor stands for the quotient."""
        value = self._atom(at, atom, lanes)
        if atom.divisor == 1:
            return value, coefficient
        if coefficient % atom.divisor == 0:
            return value, coefficient // atom.divisor
        return at.value(DivsiOp(at.index(value), at.index(atom.divisor))), coefficient

    def _atom(self, at: Builder, atom: Atom, lanes: Mapping[int, Mixed] | None) -> Mixed:
        kind = atom.kind
        if atom.is_symbol or kind is SymbolKind.CALL:
            return self._symbol(at, atom, lanes)
        if kind is SymbolKind.WRAP:
            return self.index(at, atom.args[0], lanes)
        if kind in (SymbolKind.INDICATOR, SymbolKind.SELECT):
            assert atom.formula is not None
            holds = self.truth(at, atom.formula, lanes)
            yes = self.index(at, atom.args[0], lanes) if atom.args else 1
            no = self.index(at, atom.args[1], lanes) if atom.args else 0
            return at.value(SelectOp(holds, at.index(yes), at.index(no)))
        args = [at.index(self.index(at, arg, lanes)) for arg in atom.args]
        result = args[0]
        if kind is SymbolKind.MOD:
            whole = at.value(FloordivsiOp(*args))
            return at.value(SubiOp(result, at.value(MuliOp(whole, args[1]))))
        for other in args[1:]:
            result = at.value(_BINARY[kind](result, other))
        return result

    def _symbol(self, at: Builder, atom: Atom, lanes: Mapping[int, Mixed] | None) -> Mixed:
        role = atom.role
        assert isinstance(role, Role)
        match role.kind, role.key:
            case "pid", int(axis):
                return self.programs[axis]
            case "np", int(axis):
                return self.grid[axis]
            case "lane", int(dim):
                assert lanes is not None
                return lanes[dim]
            case "it", _:
                return self.counters[atom]
            case _:
                value = self.addresses.value_of(atom)
                assert value is not None
                return at.to_index(self.scalars[value])

    # Conditions.

    def truth(
        self, at: Builder, formula: Formula, lanes: Mapping[int, Mixed] | None = None
    ) -> SSAValue:
        """The value of a condition."""
        match formula.kind:
            case FormulaKind.CMP:
                assert formula.poly is not None
                left = at.index(self.index(at, formula.poly, lanes))
                return at.value(CmpiOp(_PREDICATES[formula.rel], left, at.index(0)))
            case FormulaKind.AND | FormulaKind.OR:
                join = AndiOp if formula.kind is FormulaKind.AND else OriOp
                result = self.truth(at, formula.parts[0], lanes)
                for part in formula.parts[1:]:
                    result = at.value(join(result, self.truth(at, part, lanes)))
                return result
            case FormulaKind.PREDICATE:
                value = self.scalars[self.addresses.values[formula.name]]
                if formula.negated:
                    return at.value(XoriOp(value, at.constant(True, i1)))
                return value
            case _:
                return at.constant(formula.truth is True, i1)
