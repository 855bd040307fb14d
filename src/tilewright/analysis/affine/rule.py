"""What a rewriting rule is: a proposal to write an operation differently, and what must be proved.

Making a proposal costs little; proving its conditions is left to the context. A rule that makes
proposals without conditions is an identity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tilewright.analysis.affine.poly import Poly

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

Operands = tuple[Poly, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """An equal value, provided that the conditions hold."""

    result: Callable[[], Poly]
    nonneg: tuple[Poly, ...] = ()
    """Values that must be at least 0."""
    given: bool = True
    """A condition of another kind, already decided."""

    def is_proved(self, ctx: Context) -> bool:
        return self.given and all(map(ctx.is_nonneg, self.nonneg))


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to simplify an operation."""

    name: str
    propose: Callable[[Context, Operands], Iterator[Proposal]]
    holds: Callable[[Proposal, Context], bool] = Proposal.is_proved

    def apply(self, ctx: Context, operands: Operands) -> Poly | None:
        for proposal in self.propose(ctx, operands):
            if self.holds(proposal, ctx):
                return proposal.result()
        return None
