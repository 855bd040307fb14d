"""The memory of a launch: loads and stores, on whole batches, checked.

An access goes one of three ways, the first that works:

    windows or elements of one array     no mask, or one that costs nothing to ignore: in bounds
    parts of it                          a mask that crops the block, or spares the first programs
    lane by lane                         the rest: masked lanes may point anywhere, lanes may belong
                                         to different arrays, and something may be wrong

The quick ways never find a fault; they only fail to show that there is none. Then the access is
looked at lane by lane, and the first lane that is wrong is named.

Elements move as unsigned integers of their size (`buffers.BITS`). Watchers (`access_hooks`)
are called for each access before it happens. While a batch may have to be undone, overwritten
elements are saved, and `rollback` restores them, last first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from tilewright.targets.numpy.access_hooks import CellAccess, ProgramIds, Watcher
from tilewright.targets.numpy.access_requests import Picked, Request, SiteInfo
from tilewright.targets.numpy.api import (
    Argument,
    Array,
    Buffer,
    Descriptor,
    Grid,
    RunOptions,
    RunReport,
    Site,
    Terms,
)
from tilewright.targets.numpy.atomics import Typed, compare_and_swap, fetch_update, update
from tilewright.targets.numpy.buffers import (
    AddressSpace,
    MemoryBlock,
    MemoryRegion,
    Slots,
    region_of,
)
from tilewright.targets.numpy.coverage import check_coverage
from tilewright.targets.numpy.descriptors import check_descriptor
from tilewright.targets.numpy.fault_reporter import FaultReporter
from tilewright.targets.numpy.initialised import Initialised
from tilewright.targets.numpy.masks import conjunction, crop, full_programs, inside
from tilewright.targets.numpy.owners import Owners, is_ordered
from tilewright.targets.numpy.races import Ordering, Races
from tilewright.targets.numpy.selections import Elements, Selection, Windows
from tilewright.targets.numpy.support.select import pick
from tilewright.targets.numpy.terms import FEW_LANES, Parts, shape_of

Value: TypeAlias = Array | np.generic
Part: TypeAlias = tuple[Slots, Array | slice, Elements]
"""Some lanes of an access, all in one array: which lanes, and which elements."""
AccessKind: TypeAlias = Literal["read", "write", "update"]

_MAX_CONFLICTS = 3
"""Batches rolled back in a row before a launch continues sequentially."""


@dataclass(frozen=True)
class _Watched:
    """A block, the sites that access it, and its watchers."""

    block: MemoryBlock
    sites: Sequence[Site]
    always: tuple[Watcher, ...]
    owners: tuple[Watcher, ...]
    """Watchers of batches of several programs."""


class LaunchMemory:
    """The memory of one launch. See the module's documentation."""

    def __init__(
        self,
        sites: Sequence[Site],
        arguments: Sequence[Argument],
        grid: Grid,
        options: RunOptions,
        report: RunReport,
    ) -> None:
        self.active: Array | None = None
        self.serial_reason: str | None = None
        self._grid = grid
        self._options = options
        self._report = report
        self._regions = [_argument_region(argument, options) for argument in arguments]
        reachable = [region_of(buffer) for buffer in options.reachable]
        self._space = AddressSpace([*filter(None, self._regions), *reachable])
        self._reporter = FaultReporter(self._space, grid, options.sources, arguments)
        self._accesses = [self._access(site) for site in sites]
        self._programs = np.zeros(1, np.int64)
        self._undo: list[tuple[Array, Selection, Array]] | None = None
        self._has_updated = False
        self._conflicts = 0
        self._watched = self._watch(sites)
        self.is_tracked = any(watched.owners for watched in self._watched)
        if options.check_races and self.is_tracked:
            # What a batch did that is undone later must not count as a race.
            self.serial_reason = "race checks are on and programs may share elements"

    # Setting up.

    def _access(self, site: Site) -> SiteInfo:
        region = None if site.root is None else self._regions[site.root]
        return SiteInfo(site, None if region is None else region.slots(site.dtype.itemsize))

    def _watch(self, sites: Sequence[Site]) -> list[_Watched]:
        """The watchers of each block."""
        watched: list[_Watched] = []
        ordering = Ordering()
        for block in self._space.blocks:
            own_sites = [site for site in sites if self._may_access(site, block.regions)]
            if not own_sites:
                continue
            is_free = is_ordered(own_sites)
            if is_free and not self._options.check_races and block.is_initialised:
                continue
            block.fit({site.dtype.itemsize for site in own_sites})
            always: list[Watcher] = []
            if self._options.check_uninitialised and not block.is_initialised:
                always.append(Initialised(block, self._record, self._reporter.uninitialised))
            if self._options.check_races:
                always.append(Races(block, sites, ordering, self._reporter.race))
            owners = () if is_free else (Owners(block),)
            if always or owners:
                watched.append(_Watched(block, own_sites, tuple(always), owners))
        return watched

    def _may_access(self, site: Site, regions: Sequence[MemoryRegion]) -> bool:
        region = None if site.root is None else self._regions[site.root]
        return region is None or region in regions

    def address_of(self, argument: int) -> np.int64:
        region = self._regions[argument]
        return np.int64(0 if region is None else region.base)

    # Batches.

    def begin(self, programs: Array) -> None:
        self.active = None
        self._programs = programs
        # One program alone is in order.
        is_batch = len(programs) > 1
        self._undo = [] if self.is_tracked and is_batch else None
        self._has_updated = False
        for watched in self._watched:
            watched.block.watchers = watched.always + (watched.owners if is_batch else ())
            for watcher in watched.block.watchers:
                watcher.begin(programs)

    def finish(self) -> str | None:
        if self._undo is not None:
            self._conflicts = 0
        self._undo = None
        return None

    def rollback(self) -> bool:
        if self._undo is None:
            # What is not tracked is either read or written, by one store: it can be done again.
            return not self.is_tracked and not self._has_updated
        for table, selection, before in reversed(self._undo):
            selection.put(table, before)
        self._undo = None
        self._conflicts += 1
        if self._conflicts >= _MAX_CONFLICTS:
            self.serial_reason = "programs share elements in every batch"
        return True

    def close(self) -> None:
        """The launch is over: warn of outputs it did not cover."""
        for watched in self._watched:
            for watcher in watched.always:
                if not isinstance(watcher, Initialised):
                    continue
                for region in watched.block.regions:
                    warning = check_coverage(region, watcher, watched.sites, self._grid)
                    self._report.warnings += [] if warning is None else [warning]

    def _record(self, table: Array, selection: Selection) -> None:
        if self._undo is not None:
            self._undo.append((table, selection, selection.take(table)))

    # Loads.

    def load(self, site: int, address: Terms, mask: Terms, other: Value | None) -> Any:
        access = self._accesses[site]
        address = cast("Parts", address)
        everyone = self.active is not None and not _differs((*address, *cast("Parts", mask)))
        live = self._live(mask, access, everyone=everyone)
        slots = access.slots or self._guess(access, address)
        if slots is not None and not live and not slots.region.block.watchers:
            selection = access.recent.find(slots, address)
            if selection is not None:
                values = access.values(selection.take(slots.bits))
                return _spread(values, address, cast("Parts", mask), other) if mask else values
        request = Request(access, address, live, self._programs, bool(mask))
        background = np.zeros((), access.bits) if other is None else _bits(other, access)
        values = access.values(self._load(request, slots, background))
        return _spread(values, address, cast("Parts", mask), other) if mask else values

    def _load(self, request: Request, slots: Slots | None, other: Array) -> Array:
        if slots is None:
            return self._load_lanes(request, other)
        is_watched = bool(slots.region.block.watchers)
        if not request.live or not is_watched:
            # Lanes that are masked off do no harm where they are in bounds.
            selection = request.access.recent.find(slots, request.address)
            if selection is not None:
                if is_watched:
                    self._notify("read", request, slots, selection)
                return _filled(selection.take(slots.bits), request, other)
        if not request.live:
            return self._load_lanes(request, other)
        if prod(request.shape()) > FEW_LANES:
            return self._load_parts(request, slots, other)
        # Nor do they if they read the first element instead.
        selection = None if is_watched else slots.find_each(request.addresses_or(slots.start))
        if selection is None:
            return self._load_lanes(request, other)
        return _filled(selection.take(slots.bits), request, other)

    def _load_parts(self, request: Request, slots: Slots, other: Array) -> Array:
        result = _background(request.shape(other), other)
        found = crop(request.live, request.access.rank)
        if found is not None:
            box, live = found
            if result[box].size:
                result[box] = self._load(request.cropped(box, live), slots, inside(other, box))
            return result
        full = full_programs(conjunction(request.live))
        if not 0 < full < len(request.programs):
            return self._load_lanes(request, other)
        for programs, masked in (slice(full), False), (slice(full, None), True):
            part = request.part(programs, masked=masked)
            result[programs] = self._load(part, slots, inside(other, request.box(programs)))
        return result

    def _load_lanes(self, request: Request, other: Array) -> Array:
        picked = request.pick(request.shape(other))
        values = np.zeros(len(picked.addresses), request.access.bits)
        for slots, lanes, selection in self._parts(picked):
            if slots.region.block.watchers:
                self._notify_lanes("read", picked, slots, lanes, selection)
            values[lanes] = selection.take(slots.bits)
        return picked.spread(values, _background(picked.shape, other))

    # Stores.

    def store(self, site: int, address: Terms, value: Value, mask: Terms) -> None:
        access = self._accesses[site]
        address = cast("Parts", address)
        live = self._live(mask, access)
        slots = access.slots or self._guess(access, address)
        request = Request(access, address, live, self._programs, bool(mask))
        self._store(request, slots, _bits(value, access))

    def _store(self, request: Request, slots: Slots | None, bits: Array) -> None:
        if slots is None or not slots.region.writeable:
            self._store_lanes(request, bits)
        elif request.live:
            if prod(request.shape(bits)) > FEW_LANES:
                self._store_parts(request, slots, bits)
            else:
                self._store_lanes(request, bits)
        else:
            selection = request.access.recent.find(slots, request.address)
            if selection is None:
                self._store_lanes(request, bits)
                return
            if slots.region.block.watchers:
                self._notify("write", request, slots, selection)
            self._record(slots.bits, selection)
            selection.put(slots.bits, _last(bits, selection.shape))

    def _store_parts(self, request: Request, slots: Slots, bits: Array) -> None:
        found = crop(request.live, request.access.rank)
        if found is not None:
            box, live = found
            inner = request.cropped(box, live)
            if 0 not in inner.shape():
                self._store(inner, slots, inside(bits, box))
            return
        mask = conjunction(request.live)
        # In order of programs: those that need no mask come first.
        full = full_programs(mask)
        if 0 < full < len(request.programs):
            for programs, masked in (slice(full), False), (slice(full, None), True):
                part = request.part(programs, masked=masked)
                self._store(part, slots, inside(bits, request.box(programs)))
            return
        view = self._free_view(request, slots, bits)
        if view is None:
            self._store_lanes(request, bits)
        else:
            np.copyto(view, bits, where=mask)

    def _free_view(self, request: Request, slots: Slots, bits: Array) -> Array | None:
        """The elements as a part of the array, one per lane, if no watcher observes a write."""
        if self._undo is not None or slots.region.block.watchers:
            return None
        selection = request.access.recent.find(slots, request.address)
        if not isinstance(selection, Windows) or not selection.is_injective:
            return None
        return selection.view(slots.bits) if selection.shape == request.shape(bits) else None

    def _store_lanes(self, request: Request, bits: Array) -> None:
        picked = request.pick(request.shape(bits))
        values = picked.of(bits)
        for slots, lanes, selection in self._writable_parts(picked):
            if slots.region.block.watchers:
                self._notify_lanes("write", picked, slots, lanes, selection)
            self._record(slots.bits, selection)
            selection.put(slots.bits, values[lanes])

    # Atomics: every program of the batch carries them out, also where all do the same.

    def atomic_rmw(self, site: int, address: Terms, value: Value, mask: Terms) -> Any:
        access = self._accesses[site]
        picked = self._pick_all(access, address, mask)
        values = picked.of(_bits(value, access))
        kind = access.site.rmw
        assert kind is not None
        old = np.zeros(len(values), access.bits) if access.site.result_used else None
        for slots, lanes, selection in self._updatable_parts(picked):
            elements = Typed(slots.bits, access.site.dtype)
            if old is None:
                update(kind, elements, selection.index, values[lanes])
            else:
                old[lanes] = fetch_update(kind, elements, selection.index, values[lanes])
        return None if old is None else self._old_values(picked, old)

    def atomic_cas(self, site: int, address: Terms, compare: Value, value: Value) -> Any:
        access = self._accesses[site]
        picked = self._pick_all(access, address, ())
        expected, values = picked.of(_bits(compare, access)), picked.of(_bits(value, access))
        old = np.zeros(len(values), access.bits)
        for slots, lanes, selection in self._updatable_parts(picked):
            old[lanes] = compare_and_swap(
                slots.bits, selection.index, expected[lanes], values[lanes]
            )
        return self._old_values(picked, old)

    def _pick_all(self, access: SiteInfo, address: Terms, mask: Terms) -> Picked:
        live = self._live(mask, access)
        request = Request(access, cast("Parts", address), live, self._programs, bool(mask))
        return request.pick((len(self._programs), *access.site.shape))

    def _updatable_parts(self, picked: Picked) -> Iterator[Part]:
        self._has_updated = True
        for slots, lanes, selection in self._writable_parts(picked):
            if slots.region.block.watchers:
                self._notify_lanes("update", picked, slots, lanes, selection)
            self._record(slots.bits, selection)
            yield slots, lanes, selection

    def _old_values(self, picked: Picked, old: Array) -> Any:
        access = picked.request.access
        return access.values(picked.spread(old, np.zeros(picked.shape, access.bits)))

    # Which lanes go where.

    def _live(self, mask: Terms, access: SiteInfo, *, everyone: bool = False) -> Parts:
        """The terms of the mask that are false somewhere, and the active programs.

        What every program would read, those that are active may read for all.
        """
        live = tuple([term for term in cast("Parts", mask) if not term.all()])
        if self.active is None or (everyone and self.active.any()):
            return live
        return (*live, self.active.reshape((-1,) + (1,) * (access.rank - 1)))

    def _guess(self, access: SiteInfo, address: Parts) -> Slots | None:
        """The memory of the first lane, which most often is that of all of them."""
        first = sum(int(term.item(0)) for term in address)
        region = self._space.at(first)
        return None if region is None else region.slots(access.itemsize)

    def _parts(self, picked: Picked) -> list[Part]:
        """The elements of the lanes, by array; raises if a lane has none."""
        access = picked.request.access
        if access.slots is not None:
            return [self._part(picked, access.slots, slice(None))]
        parts: list[Part] = []
        for region, lanes in self._space.split(picked.addresses):
            if region is not None:
                parts.append(self._part(picked, region.slots(access.itemsize), lanes))
            elif self._options.check_bounds:
                self._reporter.bad_address(picked.request)
        return parts

    def _part(self, picked: Picked, slots: Slots, lanes: Array | slice) -> Part:
        selection = slots.find_each(picked.addresses[lanes])
        if selection is not None:
            return slots, lanes, selection
        if self._options.check_bounds:
            self._reporter.bad_address(picked.request)
        # Without the check, such lanes are left out.
        offsets = picked.addresses[lanes] - slots.start
        inside = slots.holds(offsets)
        lanes = np.flatnonzero(inside) if isinstance(lanes, slice) else lanes[inside]
        return slots, lanes, Elements(offsets[inside] >> (slots.itemsize.bit_length() - 1))

    def _writable_parts(self, picked: Picked) -> list[Part]:
        parts = self._parts(picked)
        for slots, lanes, _ in parts:
            if not slots.region.writeable and len(picked.addresses[lanes]):
                self._reporter.read_only(picked.request, slots)
        return parts

    # Watchers.

    def _notify(
        self, how: AccessKind, request: Request, slots: Slots, selection: Selection
    ) -> None:
        """Notify the watchers of an access without masked-off lanes."""
        if not selection.shape:
            index = np.asarray(selection.elements()).reshape((1,) * request.access.rank)
            selection = Elements(index)
        first, last = _programs_of(request.programs, selection.shape)
        self._pass_on(
            how,
            CellAccess(request.access.site, slots.tabled(selection), first, last),
            request,
            slots,
        )

    def _notify_lanes(
        self,
        how: AccessKind,
        picked: Picked,
        slots: Slots,
        lanes: Array | slice,
        selection: Elements,
    ) -> None:
        first, last = _programs_of(picked.request.programs, picked.shape)
        if not isinstance(first, int):
            column = first.reshape((-1,) + (1,) * (len(picked.shape) - 1))
            first = last = picked.of(column)[lanes]
        access = CellAccess(picked.request.access.site, slots.tabled(selection), first, last)
        self._pass_on(how, access, picked.request, slots)

    def _pass_on(self, how: AccessKind, access: CellAccess, request: Request, slots: Slots) -> None:
        self._reporter.attend(request, slots)
        for watcher in slots.region.block.watchers:
            getattr(watcher, how)(access)


def _argument_region(argument: Argument, options: RunOptions) -> MemoryRegion | None:
    if isinstance(argument, Descriptor):
        region = region_of(argument.buffer)
        check_descriptor(argument, region, options.sources)
        return region
    return region_of(argument) if isinstance(argument, Buffer) else None


def _bits(value: Value, access: SiteInfo) -> Array:
    """Values of the site's type as the bits that memory holds."""
    return cast("Array", value).view(access.bits)


def _programs_of(programs: Array, shape: tuple[int, ...]) -> tuple[ProgramIds, ProgramIds]:
    """The first and last program that lanes of an access with this shape stand for."""
    if not shape or shape[0] == 1:
        return int(programs[0]) + 1, int(programs[-1]) + 1
    ids = programs + 1
    return ids, ids


def _background(shape: tuple[int, ...], other: Array) -> Array:
    result = np.empty(shape, other.dtype)
    result[...] = other
    return result


def _differs(terms: Parts) -> bool:
    """Whether terms are not the same for all programs."""
    return any(term.ndim and term.shape[0] > 1 for term in terms)


def _filled(bits: Array, request: Request, other: Array) -> Array:
    """`bits`, with `other` where the mask is false."""
    if not request.live:
        return bits
    return pick(conjunction(request.live), bits, other)


def _last(values: Array, shape: tuple[int, ...]) -> Array:
    """`values` for elements of `shape`: where several lanes share one, the last of them."""
    if not values.shape or values.shape == shape:
        return values
    if not shape:
        return values.reshape(-1)[-1]
    shared = tuple(
        [
            slice(-1, None) if extent == 1 < own else slice(None)
            for own, extent in zip(values.shape, shape, strict=True)
        ]
    )
    return np.asarray(values)[shared]


@cache
def _keep_freed_memory() -> None:
    """Freeing one large array makes the C library keep what is freed from then on, up to its size.

    Before, an array of more than 128 KiB is returned to the system immediately and costs a page
    fault for every 4 KiB when the next one is made: an order of magnitude for most operations.
    """
    np.empty(31 << 20, np.uint8)


def open_memory(
    sites: Sequence[Site],
    arguments: Sequence[Argument],
    grid: Grid,
    options: RunOptions,
    report: RunReport,
) -> LaunchMemory:
    """The memory of a launch of a kernel with these accesses."""
    _keep_freed_memory()
    return LaunchMemory(sites, arguments, grid, options, report)


def _spread(values: Array, address: Parts, mask: Parts, other: Value | None) -> Array:
    """`values` along every axis that addresses, mask or `other` have.

    A mask that is true everywhere, or false everywhere, is not examined again, but the code after
    the load was written for lanes along its axes.
    """
    filling = () if other is None else (np.asarray(other),)
    expected = shape_of((*address, *mask, *filling))
    if len(values.shape) > len(expected) or values.shape == expected:
        return values
    return np.broadcast_to(values, np.broadcast_shapes(values.shape, expected))
