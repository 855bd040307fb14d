"""What loops and branches share: variables that are assigned in several places.

`Carried` represents the values that join at one point. Its variables have the form of a list of
packings; `assign` writes an assignment of values to them into the current scope.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from tilewright.targets.numpy.carry import Packing, fit, join, pack, unpack, widened
from tilewright.targets.numpy.emitter import Emitter
from tilewright.targets.numpy.values import Assign, Expr, Phi, Scope, Value

NOTHING = Expr("None", 0, 0, 0)


class Carried:
    """The variables of some values."""

    def __init__(
        self,
        emitter: Emitter,
        types: Sequence[Attribute],
        packings: Sequence[Packing],
        hints: Sequence[str],
        depth: int,
    ) -> None:
        self._emitter = emitter
        self.types = types
        self.packings = packings
        self.phis: list[list[Phi]] = []
        self.exprs: list[list[Expr]] = []
        for type, packing, hint in zip(types, packings, hints, strict=True):
            made = [
                emitter.phi(axes, packing.rank(key, type), _slot_hint(hint, key), depth)
                for key, axes in packing.slots.items()
            ]
            self.phis.append([phi for phi, _ in made])
            self.exprs.append([expr for _, expr in made])

    def values(self, depth: int) -> list[Value]:
        """The values, seen from a scope."""
        return [
            unpack(packing, [_at_depth(expr, depth) for expr in exprs])
            for packing, exprs in zip(self.packings, self.exprs, strict=True)
        ]

    def fitted(self, values: Sequence[Value]) -> list[list[Expr]]:
        """Values in the form of the variables; conversions go into the current scope."""
        return [
            fit(self._emitter, value, type, packing)
            for value, type, packing in zip(values, self.types, self.packings, strict=True)
        ]

    def assign(self, exprs: Sequence[Sequence[Expr]], wrapper: str = "{new}") -> Assign:
        """Write an assignment."""
        pairs: list[tuple[Phi, Expr]] = []
        for phis, news in zip(self.phis, exprs, strict=True):
            for phi, new in zip(phis, news, strict=True):
                pairs.append((phi, new))
                if new.line is not None:
                    phi.sources.append(new.line)
        line = Assign("", location=self._emitter.location, pairs=pairs, wrapper=wrapper)
        self._emitter.scope.lines.append(line)
        return line

    def clear(self) -> None:
        """Write an assignment of nothing, for the case that a way is not taken."""
        nothing = [[NOTHING] * len(phis) for phis in self.phis]
        self.assign(nothing)

    def unify(self, first: Sequence[Sequence[Expr]], last: Sequence[Sequence[Expr]]) -> None:
        """Variables that are only ever assigned to themselves are what they were at first."""
        rows = zip(self.phis, self.exprs, first, last, strict=True)
        for phis, exprs, befores, afters in rows:
            for phi, expr, before, after in zip(phis, exprs, befores, afters, strict=True):
                if after.text == expr.text:
                    phi.alias = before
                    self._emitter.unit.aliases[phi.targets[0]] = before


def _slot_hint(hint: str, key: str) -> str:
    if key in ("x", "ok"):
        return hint if key == "x" else f"{hint}_ok"
    return f"{hint}_bytes" if key[0] == "p" else f"{hint}_{key}"


def _at_depth(expr: Expr, depth: int) -> Expr:
    return Expr(expr.text, expr.axes, expr.rank, depth, expr.line)


def packings_of(
    emitter: Emitter, values: Sequence[Value], *, differ: bool = False
) -> list[Packing]:
    """The packings of values, which may `differ` between programs."""
    found = [pack(emitter, value)[0] for value in values]
    return [widened(packing) for packing in found] if differ else found


def joined_packings(
    emitter: Emitter, ways: Sequence[tuple[Scope, Sequence[Value]]], *, differ: bool
) -> list[Packing]:
    """Variables for the values of all joining branches, each defined in a scope of its own.

    To pack a value may take code, which belongs where the value is.
    """
    found: list[list[Packing]] = []
    for scope, values in ways:
        emitter.scopes.append(scope)
        found.append(packings_of(emitter, values, differ=differ))
        emitter.scopes.pop()
    first, *others = found
    for more in others:
        first = [join(old, new) for old, new in zip(first, more, strict=True)]
    return first


def values_of(emitter: Emitter, operands: Sequence[SSAValue]) -> list[Value]:
    """The emitted values of operands."""
    return [emitter.values[operand] for operand in operands]


def same(one: Sequence[Packing], other: Sequence[Packing]) -> bool:
    """Whether two lists of packings are alike."""
    return [packing.key() for packing in one] == [packing.key() for packing in other]
