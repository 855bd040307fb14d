"""Atoms: the things a polynomial multiplies and adds, each made once.

An atom is a symbol with a name, or an operation on polynomials that no polynomial can express.
Atoms are hash-consed by their space, which gives every atom a small integer `id`; operands of an
atom are older than the atom, so ascending ids are an order of evaluation.

    kind       value                                   printed
    SYMBOL     given from outside, divided by divisor  name
    CALL       unknown function of its operands        name(P, ...)
    WRAP       its operand, which became too large     u(number)
    FDIV       floor(P / D)                            fdiv(P, D)
    TDIV       P / D rounded towards zero              tdiv(P, D)
    MIN MAX    least, greatest operand                 min(P, Q, ...)
    INDICATOR  1 where the formula holds, else 0       [F]
    AND OR XOR bits of two's complement, any length    and(P, Q)
    SHL SHR    P * 2**k, floor(P / 2**k)               shl(P, k)
    TABLE      values[P]                               table(P)

Three kinds exist for reading only (`Poly.view`), because in a polynomial they would have two
spellings: MOD is P - D*FDIV, TREM is P - D*TDIV, SELECT is Q + [F]*(P - Q).

A division by zero has no meaning in the programs analysed here. Evaluation gives it the value 0
so that an expression stays total where it is multiplied by a false indicator.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tilewright.analysis.affine.ranges import Interval

if TYPE_CHECKING:
    from tilewright.analysis.affine.formula import Formula
    from tilewright.analysis.affine.poly import Poly


class SymbolKind(Enum):
    """What an atom is; the value is its printed name."""

    SYMBOL = "symbol"
    CALL = "call"
    WRAP = "u"
    FDIV = "fdiv"
    TDIV = "tdiv"
    MOD = "mod"
    TREM = "trem"
    MIN = "min"
    MAX = "max"
    INDICATOR = "indicator"
    SELECT = "sel"
    AND = "and"
    OR = "or"
    XOR = "xor"
    SHL = "shl"
    SHR = "shr"
    TABLE = "table"


# Known only through their range and divisor; no closed form is claimed.
OPAQUE_KINDS = frozenset({SymbolKind.CALL, SymbolKind.WRAP})


class Atom:
    """One hash-consed atom. Compared by identity; made only by a Space."""

    __slots__ = (
        "args",
        "deps_mask",
        "depth",
        "divisor",
        "formula",
        "hidden",
        "id",
        "kind",
        "name",
        "own_deps",
        "range",
        "role",
        "support",
        "values",
    )

    def __init__(
        self,
        id: int,
        kind: SymbolKind,
        name: str,
        args: tuple[Poly, ...],
        formula: Formula | None,
        values: tuple[int, ...],
        role: object,
        divisor: int,
        own_deps: int,
        deps_mask: int,
        support: int,
        depth: int,
        range: Interval,
        hidden: int,
    ) -> None:
        self.id = id
        self.kind = kind
        self.name = name
        """Of a symbol, call or wrapped value; the kind's name otherwise."""
        self.args = args
        self.formula = formula
        self.values = values
        """Of a table."""
        self.role = role
        """Whatever the maker of a symbol wants to find again, such as ("lane", 0)."""
        self.divisor = divisor
        """Of a symbol: the atom stands for symbol / divisor. Of a call: divides every value."""
        self.own_deps = own_deps
        """Bit set of the dependencies declared for the atom itself."""
        self.deps_mask = deps_mask
        """The same with those of the operands."""
        self.support = support
        """Bit set of the serial numbers of the symbols and calls inside, itself included."""
        self.depth = depth
        """Nesting of derived atoms: 0 for a symbol."""
        self.range = range
        """Of a symbol (over its divisor) or call: as declared. Of a wrapped value: as computed
        when it was made. Else what the kind alone implies; a context computes more."""

        self.hidden = hidden
        """Of a call: how many operands, the last ones, are not printed."""

    @property
    def is_symbol(self) -> bool:
        return self.kind is SymbolKind.SYMBOL

    @property
    def is_opaque(self) -> bool:
        return self.kind in OPAQUE_KINDS

    def __repr__(self) -> str:
        return f"<{self.kind.name} {self.name} #{self.id}>"
