"""Formulas and polynomials as integer sets and maps of isl.

    to_set(F, dims)            { [dims] : F }               all other symbols are parameters
    to_map(values, dims, F)    { [dims] -> [values] : F }

What is declared about a symbol (range, divisor) is part of the set. An opaque value without
operands is a parameter; one with operands is some integer of its range, whatever the operands: the
set is then too large (`exact` is False), still good to prove that nothing is in it, no good to find
a witness. `presburger` defines what can be described at all and raises NotPresburger otherwise.

isl is loaded on first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.analysis.affine.formula import Formula
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.presburger import Encoder, NotPresburger
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    import islpy

    from tilewright.analysis.affine.context import Context

__all__ = ["IntegerMap", "IntegerSet", "NotPresburger", "to_map", "to_set"]


@dataclass(frozen=True)
class IntegerSet:
    """A set of isl, and how it relates to the program."""

    set: islpy.Set
    exact: bool
    """False if the set may hold points that the program cannot reach."""
    names: dict[str, str]
    """Symbol -> dimension or parameter."""


@dataclass(frozen=True)
class IntegerMap:
    """A map of isl, and how it relates to the program."""

    map: islpy.Map
    exact: bool
    names: dict[str, str]


def to_set(formula: Formula, dims: Sequence[Poly] = (), ctx: Context | None = None) -> IntegerSet:
    """The points where a formula holds, over the given symbols."""
    import islpy

    encoder = Encoder(ctx or formula.space.root)
    header = _tuple(_dimensions(encoder, dims))
    text = _text(encoder, header, len(dims), [encoder.formula(formula)])
    return IntegerSet(islpy.Set(text), encoder.exact, dict(encoder.variables))


def to_map(
    values: Sequence[Poly],
    dims: Sequence[Poly],
    where: Formula | None = None,
    ctx: Context | None = None,
) -> IntegerMap:
    """The values at every point of the given symbols where a formula holds."""
    import islpy

    space = values[0].space
    encoder = Encoder(ctx or space.root)
    inputs = _dimensions(encoder, dims)
    outputs = [encoder.fresh(f"out{i}") for i in range(len(values))]
    conditions = [f"{name} = {encoder.linear(v)}" for name, v in zip(outputs, values, strict=True)]
    conditions.append(encoder.formula(space.true if where is None else where))
    header = f"{_tuple(inputs)} -> {_tuple(outputs)}"
    text = _text(encoder, header, len(dims), conditions)
    return IntegerMap(islpy.Map(text), encoder.exact, dict(encoder.variables))


def _dimensions(encoder: Encoder, dims: Sequence[Poly]) -> list[str]:
    return [encoder.declare(_symbol(dim)) for dim in dims]


def _symbol(poly: Poly) -> Atom:
    atom = poly.atom
    if atom is None or atom.kind is not SymbolKind.SYMBOL:
        raise ValueError(f"a dimension is a symbol, not {poly}")
    return atom


def _tuple(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


def _text(encoder: Encoder, header: str, dims: int, conditions: list[str]) -> str:
    """isl's notation; the variables made first are dimensions, the others parameters."""
    parameters = list(encoder.variables.values())[dims:]
    body = " and ".join(f"({part})" for part in (*encoder.constraints, *conditions))
    if encoder.existentials:
        body = f"exists ({', '.join(encoder.existentials)} : {body})"
    return f"{_tuple(parameters)} -> {{ {header} : {body} }}"
