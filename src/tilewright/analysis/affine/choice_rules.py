"""Rules for least and greatest operands and for selections: S6."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.rule import Operands, Proposal, Rule
from tilewright.analysis.affine.symbols import SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context


def sorted_operands(operands: Operands) -> Operands:
    return tuple(sorted(set(operands), key=Poly.key))


def _flat(kind: SymbolKind, operands: Operands) -> Operands:
    """Operands with those of nested atoms of the same kind, each once, in order."""
    found: list[Poly] = []
    for operand in operands:
        atom = operand.atom
        whole = atom is not None and atom.kind is kind and operand.content == 1
        if atom is not None and whole and operand.terms[(atom.id,)] == 1:
            found.extend(atom.args)
        else:
            found.append(operand)
    return sorted_operands(tuple(found))


def _min_flat(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    flat = _flat(SymbolKind.MIN, operands)
    if flat != operands:
        yield Proposal(lambda: ctx.minimum(*flat))


def _max_flat(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    flat = _flat(SymbolKind.MAX, operands)
    if flat != operands:
        yield Proposal(lambda: ctx.maximum(*flat))


def _single(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    if len(operands) == 1:
        yield Proposal(lambda: operands[0])


def _pairs(operands: Operands) -> Iterator[tuple[Poly, Poly, Operands]]:
    """(dropped, retained, operands without the dropped one)."""
    for i, dropped in enumerate(operands):
        for j, retained in enumerate(operands):
            if i != j:
                yield dropped, retained, operands[:i] + operands[i + 1 :]


def _min_dominated(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S6: an operand that is never below another one goes."""
    for dropped, retained, rest in _pairs(operands):
        yield Proposal(lambda rest=rest: ctx.minimum(*rest), (dropped - retained,))


def _max_dominated(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S6: an operand that is never above another one goes."""
    for dropped, retained, rest in _pairs(operands):
        yield Proposal(lambda rest=rest: ctx.maximum(*rest), (retained - dropped,))


MIN_RULES = (
    Rule("min flat", _min_flat),
    Rule("min of one", _single),
    Rule("S6 min", _min_dominated),
)

MAX_RULES = (
    Rule("max flat", _max_flat),
    Rule("max of one", _single),
    Rule("S6 max", _max_dominated),
)
