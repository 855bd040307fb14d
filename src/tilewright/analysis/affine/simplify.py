"""Operations that no polynomial expresses: the table of rules S1 to S8, and the engine.

The engine tries the rules of an operation in order and takes the first proposal that the context
proves; with none, the operation becomes an atom.

    rule  where      rewriting
    S1    fdiv       fdiv(D*P + Q, D) = P + fdiv(Q, D);  0 where 0 <= Q < D
    S2    mod        mod is P - D*fdiv(P, D), so S1 takes multiples of D out of it
    S3    sums       likewise: D*fdiv(P, D) + mod(P, D) cancels to P in the ring
    S4    fdiv       fdiv(fdiv(P, a), b) = fdiv(P, a*b) for positive a, b
    S5    mod        mod(mod(P, a), b) = mod(P, b) if b divides a: S1 on P - a*fdiv(P, a)
    S6    min max    operands that another one bounds go; sel with a decided condition
    S7    tdiv       fdiv for P >= 0 and D > 0
    S8    and ...    masks are remainders, disjoint bits are sums, a low part changes alone

A divisor is never zero where a division is executed; the rules use that.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tilewright.analysis.affine.arithmetic import OPERATIONS
from tilewright.analysis.affine.bit_rules import (
    AND_RULES,
    OR_RULES,
    SHL_RULES,
    SHR_RULES,
    XOR_RULES,
)
from tilewright.analysis.affine.choice_rules import MAX_RULES, MIN_RULES
from tilewright.analysis.affine.division_rules import FLOOR_RULES, TRUNC_RULES
from tilewright.analysis.affine.formula import Formula, with_polarity
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.rule import Operands, Rule
from tilewright.analysis.affine.symbols import SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

RULES: dict[SymbolKind, tuple[Rule, ...]] = {
    SymbolKind.FDIV: FLOOR_RULES,
    SymbolKind.TDIV: TRUNC_RULES,
    SymbolKind.MIN: MIN_RULES,
    SymbolKind.MAX: MAX_RULES,
    SymbolKind.AND: AND_RULES,
    SymbolKind.OR: OR_RULES,
    SymbolKind.XOR: XOR_RULES,
    SymbolKind.SHL: SHL_RULES,
    SymbolKind.SHR: SHR_RULES,
}

# Operands of these are sorted; those of MIN and MAX are by a rule that also flattens them.
_COMMUTATIVE = frozenset({SymbolKind.AND, SymbolKind.OR, SymbolKind.XOR})


def simplified(ctx: Context, kind: SymbolKind, operands: Operands) -> Poly:
    """The operation on the operands, by rules or as an atom."""
    constants = [operand.constant for operand in operands]
    known = [constant for constant in constants if constant is not None]
    if len(known) == len(operands):
        return ctx.space.const(OPERATIONS[kind](*known))
    if kind in _COMMUTATIVE:
        operands = tuple(sorted(operands, key=Poly.key))
    for rule in RULES[kind]:
        result = rule.apply(ctx, operands)
        if result is not None:
            return result
    return ctx.space.of_atom(ctx.space.derived(kind, operands))


def select(ctx: Context, formula: Formula, yes: Poly, no: Poly) -> Poly:
    """S6: the side of a decided condition; otherwise no + [F]*(yes - no)."""
    truth = ctx.decide(formula)
    if truth is not None:
        return yes if truth else no
    if yes == no:
        return yes
    formula, flipped = with_polarity(formula)
    if flipped:
        yes, no = no, yes
    return no + ctx.space.of_atom(ctx.space.indicator(formula)) * (yes - no)


def table(ctx: Context, values: tuple[int, ...], index: Poly) -> Poly:
    """An entry; entries that rise by equal steps are a linear function of the index."""
    at = index.constant
    if at is not None:
        return ctx.space.const(values[at] if 0 <= at < len(values) else 0)
    steps = {later - earlier for earlier, later in pairwise(values)}
    if len(steps) <= 1:
        step = next(iter(steps), 0)
        return index * step + values[0]
    return ctx.space.of_atom(ctx.space.table(values, index))
