"""What the addresses of a raised kernel rest on.

Addresses are computed with indices of 64 bits; those of the kernel with its own integers, which
wrap. Both are equal as long as no integer that enters an address or a mask leaves its type. The
address analysis lists the ops for which it cannot show that; a launch may check them, since it has
the arguments and the grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.analysis.affine import Poly
from tilewright.analysis.raising.plan import RaisePlan


@dataclass(frozen=True)
class Assumption:
    """``low <= value <= high`` for all programs and iterations."""

    name: str
    """Of the value in the kernel."""
    value: Poly = field(compare=False)
    low: int
    high: int | None

    def __str__(self) -> str:
        upper = "" if self.high is None else f" <= {self.high}"
        return f"{self.name}: {self.low} <= {self.value}{upper}"


def assumptions_of(plan: RaisePlan) -> tuple[Assumption, ...]:
    """The assumptions of all accesses whose addresses are polynomials."""
    machine, basis = plan.addresses.machine, 0
    for op, access in plan.accesses.items():
        if access.address is not None:
            site = plan.addresses.sites[op]
            basis |= site.offset.basis | site.mask_basis
    found: list[Assumption] = []
    for premise in sorted(machine.premises.values(), key=lambda each: each.id):
        if basis >> premise.id & 1 and premise.limits.lo is not None:
            name = machine.name(premise.value)
            found.append(Assumption(name, premise.expr, premise.limits.lo, premise.limits.hi))
    return tuple(found)
