"""Lane facts of an access: strides, runs, sectors, alignment, vector width.

All of them describe one execution of the access: program and iteration are fixed, lanes vary, masks
are ignored unless noted. None depends on a layout.

* A *run* is a maximal set of consecutive addresses. Dimensions whose lanes enter with integer
  factors only are enumerated together, so adjacent rows make one run; other dimensions repeat those
  runs at unknown addresses.
* An access is *coalesced* if it needs no more 32-byte sectors than its bytes fill, runs assumed to
  start on a sector.
* A *vector* is an aligned group of lanes of the fast dimension that one instruction can move: the
  lanes must be contiguous, the address of the first divisible by the size, the mask constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

from tilewright.analysis.affine import Atom, Context, Formula, Interval, Poly, Substitution
from tilewright.analysis.axis_info import AxisInfo
from tilewright.analysis.pid_address.counting import (
    extent_of,
    only_lanes,
    run_lengths,
    terms_with,
)
from tilewright.analysis.pid_address.report import VectorLimits
from tilewright.analysis.pid_address.runs import constancy, longest_run, power_of_two_in

SECTOR_BYTES = 32
"""What a GPU fetches at least, and what coalescing counts."""
MAX_VECTOR_BYTES = 16
"""The widest load or store of one thread."""
MAX_ALIGNMENT = 1 << 62


@dataclass(frozen=True)
class LaneAddress:
    """The input of lane facts: an address as a function of lanes."""

    ctx: Context
    offset: Poly
    elem_bytes: int
    shape: tuple[int, ...]
    lanes: tuple[Atom | None, ...]
    base_divisibility: int | None
    base_varies: int
    """Dependencies of the base: one that was loaded may differ from lane to lane."""
    hints: AxisInfo | None = None
    """Hints about the address, and what follows from them."""


@dataclass(frozen=True)
class LaneFacts:
    strides: tuple[Poly | None, ...]
    contiguity: tuple[int, ...]
    order: tuple[int, ...]
    block_size: int
    coalesced: bool | None
    assumes_signs: bool
    first: Poly
    """The offset at the first lane of every contiguous group of the fast dimension."""

    @property
    def fast(self) -> int | None:
        return self.order[0] if self.order else None


def lane_facts(address: LaneAddress) -> LaneFacts:
    strides = tuple(_stride(address, dim) for dim in range(len(address.shape)))
    runs = [_contiguity(address, dim) for dim in range(len(address.shape))]
    contiguity = tuple(length for length, _ in runs)
    order = tuple(sorted(range(len(contiguity)), key=lambda dim: (-contiguity[dim], -dim)))
    counted = _counted_dimensions(address)
    lengths = _run_lengths(address, counted)
    others = [contiguity[dim] for dim in range(len(contiguity)) if dim not in counted]
    shortest = min(lengths) if lengths else 1
    return LaneFacts(
        strides,
        contiguity,
        order,
        max((shortest, *others)),
        _is_coalesced(address, lengths, others),
        any(assumed for _, assumed in runs),
        _first_of_groups(address, order[0], contiguity[order[0]]) if order else address.offset,
    )


# Single dimensions.


def _lane_mask(address: LaneAddress) -> int:
    mask = 0
    for lane in address.lanes:
        mask |= 0 if lane is None else lane.deps_mask
    return mask


def _stride(address: LaneAddress, dim: int) -> Poly | None:
    lane = address.lanes[dim]
    if lane is None:
        return address.offset.space.zero
    if address.base_varies & lane.deps_mask:
        return None
    factor = address.offset.coefficient_of(lane)
    return None if factor is None or factor.deps_mask & _lane_mask(address) else factor


def _contiguity(address: LaneAddress, dim: int) -> tuple[int, bool]:
    """(length of aligned groups that rise by one element, whether signs are assumed)."""
    lane = address.lanes[dim]
    if lane is None or address.base_varies & lane.deps_mask:
        return _hinted(address, dim, 1), False
    run = longest_run(address.ctx, address.offset, lane, address.elem_bytes)
    hinted = _hinted(address, dim, run.length)
    if hinted == run.length:
        return hinted, run.assumes_signs
    return hinted, address.hints is not None and bool(address.hints.assumes)


def _hinted(address: LaneAddress, dim: int, found: int) -> int:
    if address.hints is None or dim >= address.hints.rank:
        return found
    return max(found, min(address.hints.contiguity[dim], address.shape[dim]))


# Sets of addresses.


def _counted_dimensions(address: LaneAddress) -> frozenset[int]:
    """Dimensions whose lanes stand only in terms that are functions of lanes alone."""
    dims = {lane: dim for dim, lane in enumerate(address.lanes) if lane is not None}
    counted = {dim for lane, dim in dims.items() if not address.base_varies & lane.deps_mask}
    terms: list[tuple[bool, set[int]]] = []
    space = address.offset.space
    for monomial, factor in address.offset.terms.items():
        term = Poly(space, {monomial: factor})
        inside = {dim for lane, dim in dims.items() if term.support & space.own_bit(lane)}
        if inside:
            terms.append((only_lanes(term) is not None, inside))
    changed = True
    while changed:
        changed = False
        for pure, inside in terms:
            if inside & counted and (not pure or not inside <= counted):
                counted -= inside
                changed = True
    return frozenset(counted)


def _run_lengths(address: LaneAddress, counted: frozenset[int]) -> list[int]:
    """Lengths in elements of the runs that the counted dimensions make."""
    lanes = [address.lanes[dim] for dim in sorted(counted)]
    moving = [lane for lane in lanes if lane is not None and address.offset.mentions(lane)]
    if not moving:
        return [1]
    if len(moving) == 1:
        stride = address.offset.coefficient_of(moving[0])
        step = None if stride is None else stride.constant
        if step is not None:
            extent = extent_of(moving[0])
            return [extent] if abs(step) == address.elem_bytes else [1] * extent
    return run_lengths(terms_with(address.offset, moving), moving, address.elem_bytes)


def _is_coalesced(
    address: LaneAddress, lengths: Sequence[int], others: Sequence[int]
) -> bool | None:
    moving = [
        lane
        for lane in address.lanes
        if lane is not None
        and (address.offset.mentions(lane) or address.base_varies & lane.deps_mask)
    ]
    size = address.elem_bytes
    everything_counted = not others or all(lane is None for lane in address.lanes)
    if not moving:
        return True
    if everything_counted:
        sectors = sum(-(-length * size // SECTOR_BYTES) for length in lengths)
        return sectors == -(-sum(lengths) * size // SECTOR_BYTES)
    if all(length * size % SECTOR_BYTES == 0 for length in lengths):
        return True
    if any(length * size % SECTOR_BYTES == 0 for length in others):
        return True
    return None


# Alignment and vectors.


def _first_of_groups(address: LaneAddress, dim: int, size: int) -> Poly:
    """The offset at the first lane of every aligned group of `size` lanes along a dimension."""
    lane = address.lanes[dim]
    if lane is None or not address.offset.mentions(lane):
        return address.offset
    groups = max(address.shape[dim] // size, 1)
    space = address.offset.space
    if groups == 1:
        start = space.zero
    else:
        start = space.symbol(f"{lane.name}.hi", Interval(0, groups - 1)) * size
    return Substitution(address.ctx, {lane: start}).poly(address.offset)


def _divisor(address: LaneAddress, value: Poly) -> int:
    return power_of_two_in(address.ctx.congruence(value).divisor, MAX_ALIGNMENT)


def _base_divisor(address: LaneAddress) -> int:
    hinted = address.base_divisibility
    return address.elem_bytes if hinted is None else power_of_two_in(hinted, MAX_ALIGNMENT)


def alignment(address: LaneAddress, facts: LaneFacts) -> int:
    """The power of two that divides the address of every group of contiguous lanes."""
    fast = facts.fast
    size = 1 if fast is None else facts.contiguity[fast]
    found = gcd(_divisor(address, facts.first), _base_divisor(address))
    hints = address.hints
    if hints is None or fast is None or fast >= hints.rank or size % hints.contiguity[fast]:
        return found
    return max(found, min(hints.divisibility[fast], _base_limit(address)))


def _base_limit(address: LaneAddress) -> int:
    """Hints about an address count up to what is known of any base."""
    return MAX_ALIGNMENT if address.base_divisibility is None else _base_divisor(address)


def mask_constancy(address: LaneAddress, facts: LaneFacts, mask: Formula | None) -> int:
    """Lanes of the fast dimension in a group on which the mask does not change."""
    fast = facts.fast
    if fast is None:
        return 1
    lane = address.lanes[fast]
    if mask is None or lane is None:
        return address.shape[fast]
    return constancy(address.ctx, mask, lane)


def vector_limits(address: LaneAddress, facts: LaneFacts, mask_lanes: int) -> VectorLimits:
    """How many elements one instruction may move, and what each constraint would allow."""
    widest = max(1, MAX_VECTOR_BYTES // address.elem_bytes)
    fast = facts.fast
    length = 1 if fast is None else facts.contiguity[fast]
    base = min(widest, max(1, _base_divisor(address) // address.elem_bytes))
    elements = 1
    while 2 * elements <= min(widest, length, base, mask_lanes):
        if not _is_aligned(address, facts, 2 * elements):
            break
        elements *= 2
    return VectorLimits(length, base, _term_limits(address, facts, widest), mask_lanes, elements)


def _is_aligned(address: LaneAddress, facts: LaneFacts, elements: int) -> bool:
    """Whether groups of so many lanes start at multiples of their size.

    They are parts of a contiguous group, so they do if the contiguous groups do.
    """
    size = elements * address.elem_bytes
    if _divisor(address, facts.first) % size == 0:
        return True
    fast, hints = facts.fast, address.hints
    if hints is None or fast is None or hints.rank <= fast:
        return False
    return hints.contiguity[fast] >= elements and hints.divisibility[fast] % size == 0


def _term_limits(
    address: LaneAddress, facts: LaneFacts, widest: int
) -> tuple[tuple[Poly, int], ...]:
    first = facts.first
    own = None if facts.fast is None else address.lanes[facts.fast]
    limits: list[tuple[Poly, int]] = []
    for monomial, factor in first.view().terms.items():
        term = Poly(first.space, {monomial: factor})
        if own is not None and any(
            first.space.atoms[id].name == f"{own.name}.hi" for id in monomial
        ):
            continue
        limit = min(widest, max(1, _divisor(address, term) // address.elem_bytes))
        limits.append((term, limit))
    return tuple(limits)
