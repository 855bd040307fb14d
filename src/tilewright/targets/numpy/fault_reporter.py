"""From an access that could not be carried out to the fault that explains it.

The quick ways of `memory` only know that something is wrong. Here the access is looked at again,
lane by lane, and the first lane in the order of the launch is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from tilewright.ir.diagnostics import SourceManager
from tilewright.targets.numpy.access_hooks import CellAccess, Verdict
from tilewright.targets.numpy.access_requests import Request
from tilewright.targets.numpy.api import Array, Grid
from tilewright.targets.numpy.buffers import AddressSpace, MemoryRegion, Slots
from tilewright.targets.numpy.faults import Scene, bad_address, race, read_only, uninitialised
from tilewright.targets.numpy.lanes import Lanes, name_lanes
from tilewright.targets.numpy.races import Other
from tilewright.targets.numpy.selections import Elements


class FaultReporter:
    """Raises the faults of one launch."""

    def __init__(
        self,
        space: AddressSpace,
        grid: Grid,
        sources: SourceManager | None,
        arguments: Sequence[object],
    ) -> None:
        self._space = space
        self._grid = grid
        self._sources = sources
        self._arguments = arguments
        self._request: Request | None = None
        self._slots: Slots | None = None

    def attend(self, request: Request, slots: Slots) -> None:
        """Watchers check this access now; their reports refer to it."""
        self._request, self._slots = request, slots

    def bad_address(self, request: Request) -> NoReturn:
        """A lane's address is not an element."""
        lanes = _named(request)
        access = request.access
        if access.slots is not None:
            region = access.slots.region
            bad = ~access.slots.holds(lanes.addresses - access.slots.start)
        else:
            bad = self._unmapped(lanes, access.itemsize)
            region = self._space.at(int(lanes.addresses[bad.argmax()]))
        raise bad_address(self._scene(request, region, lanes, bad), self._sources)

    def _unmapped(self, lanes: Lanes, itemsize: int) -> Array:
        bad = np.ones(len(lanes), np.bool_)
        for region, positions in self._space.split(lanes.addresses):
            if region is not None:
                slots = region.slots(itemsize)
                bad[positions] = ~slots.holds(lanes.addresses[positions] - slots.start)
        return bad

    def read_only(self, request: Request, slots: Slots) -> NoReturn:
        """Lanes write to an array that must not be written."""
        lanes = _named(request)
        bad = slots.holds(lanes.addresses - slots.start)
        raise read_only(self._scene(request, slots.region, lanes, bad), self._sources)

    def uninitialised(self, verdict: Verdict) -> NoReturn:
        raise uninitialised(self._judged(verdict), self._sources)

    def race(self, verdict: Verdict, other: Other) -> NoReturn:
        raise race(self._judged(verdict), other, self._sources)

    def _judged(self, verdict: Verdict) -> Scene:
        """The access that watchers check, with the bad lanes that one of them found."""
        request, slots = self._request, self._slots
        assert request is not None and slots is not None
        lanes = _named(request)
        own = lanes.only(slots.holds(lanes.addresses - slots.start))
        index = (own.addresses - slots.start) >> (slots.itemsize.bit_length() - 1)
        ids = own.programs + 1
        selection = slots.tabled(Elements(index))
        bad = verdict(CellAccess(request.access.site, selection, ids, ids))
        if bad.ndim > 1:
            bad = np.logical_or.reduce(bad, axis=-1)
        return self._scene(request, slots.region, own, bad)

    def _scene(
        self, request: Request, region: MemoryRegion | None, lanes: Lanes, bad: Array
    ) -> Scene:
        return Scene(
            site=request.access.site,
            region=region,
            lanes=lanes,
            bad=lanes.only(bad),
            grid=self._grid,
            masked=request.masked,
            space=self._space,
            arguments=self._arguments,
        )


def _named(request: Request) -> Lanes:
    site = request.access.site
    return name_lanes(site, request.address, request.live, request.programs, request.window)
