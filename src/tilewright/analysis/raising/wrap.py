"""Rows past the end that read others: the plain index instead, and zero outside.

    rows = (pid_m * 64 + tl.arange(0, 64)) % M
    rows = tl.where(rows < M, rows, 0)

keep the loads of a GEMM inside the tensor without a mask. What the lanes past the extent read is
never seen: lane i of everything computed from the load depends on lane i only, and every store is
masked by ``start + lane < extent``. Then it does not matter what they read.

Followed are elementwise ops, broadcasts, transpositions, loops, and the rows and columns of a GEMM;
a reduction or contraction over the lane, a branch or any other use shows the lanes, and the access
stays as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, FormulaKind, Poly, SymbolKind
from tilewright.analysis.affine.division import divide
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.scope import Site
from tilewright.analysis.raising.addresses import Addresses
from tilewright.analysis.raising.kinds import is_elementwise
from tilewright.analysis.raising.masks import conjuncts
from tilewright.dialects.scf import ForOp, YieldOp
from tilewright.dialects.tt import (
    BroadcastOp,
    DescriptorStoreOp,
    DotOp,
    ExpandDimsOp,
    LoadOp,
    ReduceOp,
    StoreOp,
    TransOp,
)

_CHOICES = (SymbolKind.SELECT, SymbolKind.INDICATOR)
_QUOTIENTS = (SymbolKind.FDIV, SymbolKind.TDIV)


@dataclass(frozen=True)
class Wrapped:
    """An offset without wrap-around, and the bounds that replace it."""

    offset: Poly
    bounds: dict[int, Poly] = field(default_factory=dict[int, Poly])
    """By lane: r with ``lane + r < 0``."""


def unwrap(
    addresses: Addresses,
    op: Operation,
    site: Site,
    offset: Poly,
    lanes: Sequence[Atom | None],
) -> Wrapped | None:
    """The offset without remainders and choices of lanes; None if they cannot be left out."""
    bounds: dict[int, Poly] = {}
    for choice in [atom for atom in offset.atoms() if atom.kind in _CHOICES and _mentions(atom)]:
        found = _single_choice(choice, lanes)
        if found is None or not isinstance(op, LoadOp):
            return None
        dim, bound, inside = found
        factor, rest, higher = offset.split(choice)
        zero = rest.space.zero
        is_known = dim in bounds and bounds[dim] != bound
        if is_known or higher.terms or not _is_unseen(addresses, op, dim, bound, zero):
            return None
        offset = rest + factor * inside
        bounds[dim] = bound
    quotients = [atom for atom in offset.atoms() if atom.kind in _QUOTIENTS and _mentions(atom)]
    for quotient in quotients:
        found = _single_lane(quotient, lanes)
        if found is None or not isinstance(op, LoadOp):
            return None
        dim, lane = found
        value, extent = quotient.args
        factor, rest, higher = offset.split(quotient)
        stride, remainder = divide(-factor, extent)
        is_plain = not remainder.terms and not higher.terms
        if not is_plain or rest.coefficient_of(lane) != stride or dim in bounds:
            return None
        start = value.split(lane)[1]
        if not _is_unseen(addresses, op, dim, start, extent):
            return None
        offset = rest
        bounds[dim] = start - extent
    return Wrapped(offset, bounds)


def _mentions(atom: Atom) -> bool:
    """Whether a derived symbol depends on a lane."""
    polys = (*atom.args, *(() if atom.formula is None else atom.formula.polys))
    return any(kind_of(each) == "lane" for poly in polys for each in poly.atoms_within())


def _single_choice(choice: Atom, lanes: Sequence[Atom | None]) -> tuple[int, Poly, Poly] | None:
    """Of ``lane + r < 0 ? inside : any``: the lane, `r` and what it is inside; so negated."""
    formula = choice.formula
    if formula is None or formula.kind is not FormulaKind.CMP or formula.poly is None:
        return None
    poly = formula.poly
    mentioned = [(dim, lane) for dim, lane in enumerate(lanes) if lane and poly.mentions(lane)]
    if len(mentioned) != 1 or formula.rel != "<":
        return None
    dim, lane = mentioned[0]
    sign, rest = poly.coefficient_of(lane), poly.split(lane)[1]
    zero = poly.space.zero
    yes = choice.args[0] if choice.args else zero + 1
    no = choice.args[1] if choice.args else zero
    if sign == 1:
        return dim, rest, yes
    return (dim, -rest - 1, no) if sign == -1 else None


def _single_lane(quotient: Atom, lanes: Sequence[Atom | None]) -> tuple[int, Atom] | None:
    """The lane of ``(start + lane) / extent``."""
    value, extent = quotient.args
    mentioned = [(dim, lane) for dim, lane in enumerate(lanes) if lane and value.mentions(lane)]
    if len(mentioned) != 1:
        return None
    dim, lane = mentioned[0]
    if value.coefficient_of(lane) != 1 or extent.mentions(lane):
        return None
    return dim, lane


def _is_unseen(addresses: Addresses, load: LoadOp, dim: int, start: Poly, extent: Poly) -> bool:
    """Whether no effect of the kernel depends on lanes past the extent."""
    work: list[tuple[SSAValue, int]] = [(load.result, dim)]
    seen: set[tuple[SSAValue, int]] = set()
    while work:
        item = work.pop()
        if item in seen:
            continue
        seen.add(item)
        value, at = item
        for use in value.uses:
            reached = _reached(addresses, use.operation, use.index, at, start, extent)
            if reached is None:
                return False
            work += reached
    return True


def _reached(
    addresses: Addresses, user: Operation, index: int, dim: int, start: Poly, extent: Poly
) -> list[tuple[SSAValue, int]] | None:
    """What a use makes of a lane: values and the dimension of the lane there; None if seen."""
    if is_elementwise(user):
        return [(result, dim) for result in user.results]
    match user:
        case BroadcastOp():
            return [(user.result, dim)]
        case ExpandDimsOp():
            return [(user.result, dim + (dim >= user.axis.value.data))]
        case TransOp():
            return [(user.result, list(user.order.get_values()).index(dim))]
        case DotOp():
            free = {0: 0, 1: 1}.get(index, dim)
            return [(user.d, dim)] if dim == free else None
        case ReduceOp() if len(user.operands) == 1 and user.axis_index != dim:
            return [(user.results[0], dim - (dim > user.axis_index))]
        case ForOp() if index >= 3:
            return [(user.iter_args[index - 3], dim), (user.results[index - 3], dim)]
        case YieldOp():
            loop = user.parent_op()
            if not isinstance(loop, ForOp):
                return None
            return [(loop.iter_args[index], dim), (loop.results[index], dim)]
        case StoreOp() | DescriptorStoreOp():
            return [] if _is_masked(addresses, user, dim, start, extent) else None
        case _:
            return None


def _is_masked(addresses: Addresses, store: Operation, dim: int, start: Poly, extent: Poly) -> bool:
    """Whether a store writes only where ``start + lane < extent``."""
    site = addresses.sites.get(store)
    if site is None:
        return False
    lane = addresses.machine.atoms.lane(dim, site.shape[dim])
    required = compare("<", start + lane, extent)
    return any(part is required for part in conjuncts(site.mask))
