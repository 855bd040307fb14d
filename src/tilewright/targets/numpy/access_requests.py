"""A requested memory access: the operation, its programs and its lanes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.targets.numpy.api import Array, Site
from tilewright.targets.numpy.buffers import BITS, Slots
from tilewright.targets.numpy.masks import Box, conjunction, inside
from tilewright.targets.numpy.recent import Recent
from tilewright.targets.numpy.terms import Parts, byte_offsets, shape_of


class SiteInfo:
    """What is known of a site before it runs."""

    def __init__(self, site: Site, slots: Slots | None) -> None:
        self.site = site
        self.slots = slots
        """The memory of the argument its addresses derive from; None if that is not known."""
        self.rank = len(site.shape) + 1
        self.itemsize = site.dtype.itemsize
        self.bits: np.dtype[Any] = BITS[self.itemsize]
        self._is_truth = site.dtype.kind == "b"
        self.recent = Recent()

    def values(self, bits: Array) -> Array:
        """Elements as the kernel's type; any byte but zero is true."""
        return bits != 0 if self._is_truth else bits.view(self.site.dtype)


@dataclass(frozen=True, slots=True)
class Request:
    """One access of a batch, or of a part of it."""

    access: SiteInfo
    address: Parts
    live: Parts
    """The terms of the mask that are not true everywhere, and the active programs."""
    programs: Array
    masked: bool
    """Whether the op has a mask, for reports."""
    window: Box = ()
    """Which part of each program's block it is; nothing for all of it."""

    def shape(self, *others: Array) -> tuple[int, ...]:
        """What addresses, masks and `others` broadcast to."""
        return shape_of((*self.address, *self.live, *others))

    def cropped(self, box: Box, live: Parts) -> Request:
        address = tuple([inside(term, box) for term in self.address])
        return replace(self, address=address, live=live, window=_within(self.window, box[1:]))

    def part(self, programs: slice, *, masked: bool) -> Request:
        """Some of the programs; without the mask where that is true for all their lanes."""
        box = self.box(programs)
        live = tuple([inside(term, box) for term in self.live]) if masked else ()
        return replace(self.cropped(box, live), programs=self.programs[programs])

    def box(self, programs: slice) -> Box:
        """All lanes of some programs."""
        return (programs,) + (slice(None),) * (self.access.rank - 1)

    def addresses_or(self, safe: int) -> Array:
        """The address of each lane, `safe` where it is masked off."""
        return np.where(conjunction(self.live), byte_offsets(self.address, 0), safe)

    def pick(self, shape: tuple[int, ...]) -> Picked:
        """The participating lanes, individually."""
        addresses = np.broadcast_to(np.asarray(byte_offsets(self.address, 0)), shape)
        if not self.live:
            return Picked(self, shape, addresses.reshape(-1), None)
        mask = np.broadcast_to(np.asarray(conjunction(self.live)), shape)
        return Picked(self, shape, addresses[mask], mask)


def _within(outer: Box, inner: Box) -> Box:
    """A part of a part."""
    if not outer:
        return inner
    return tuple([_slice_within(a, b) for a, b in zip(outer, inner, strict=True)])


def _slice_within(outer: slice, inner: slice) -> slice:
    if outer == slice(None) or inner == slice(None):
        return inner if outer == slice(None) else outer
    return slice(outer.start + inner.start, outer.start + inner.stop)


@dataclass(frozen=True, slots=True)
class Picked:
    """The lanes of a request that take part, in the order of the launch."""

    request: Request
    shape: tuple[int, ...]
    addresses: Array
    """One per lane."""
    mask: Array | None
    """Which lanes of `shape` these are; None for all."""

    def of(self, values: Array) -> Array:
        """`values` of the lanes."""
        full = np.broadcast_to(np.asarray(values), self.shape)
        return full.reshape(-1) if self.mask is None else full[self.mask]

    def spread(self, values: Array, background: Array) -> Array:
        """`background` overwritten by the values of the lanes."""
        if self.mask is None:
            return values.reshape(self.shape)
        background[self.mask] = values
        return background
