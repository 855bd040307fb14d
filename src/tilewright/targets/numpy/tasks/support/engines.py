"""Asynchronous copies: TMA, cp.async, bulk copies, stores into other CTAs.

What is copied is read and written when the operation finishes; addresses are those of its issue.
TMA loads and bulk copies report bytes to a barrier; cp.async and TMA stores are waited for in
groups.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np

from tilewright.targets.numpy.api import Terms
from tilewright.targets.numpy.machine import Wait
from tilewright.targets.numpy.tasks.recorder import Proxy
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.sync import CtaSync
from tilewright.targets.numpy.tile.support.problems import RuntimeFault

RESPONSE_BYTES = 16
"""Of a cluster-launch-control response."""


class CtaEngines(CtaSync):
    """The asynchronous copies of a CTA."""

    # -- accesses of threads -----------------------------------------------------------------

    def load(self, view: View, place: int) -> Any:
        """A buffer as a tensor."""
        proxy: Proxy = "tensor" if view.arena.is_tensor_memory else "generic"
        return self.reads(view, proxy, place)[None]

    def store(self, view: View, value: Any, place: int, pred: Any = True) -> None:
        """A tensor into a buffer."""
        if pred:
            proxy: Proxy = "tensor" if view.arena.is_tensor_memory else "generic"
            self.writes(view, _unbatched(value), proxy, place)

    def local_gather(self, view: View, indices: Any, axis: int, place: int) -> Any:
        self.cluster.recorder.picks(view, place)
        values = self.reads(view, "generic", place)
        return np.take_along_axis(values, self._within(indices, view, axis, place), axis)[None]

    def local_scatter(self, view: View, indices: Any, value: Any, axis: int, place: int) -> None:
        where = self._within(indices, view, axis, place)
        view.require()
        values, touched = view.read(), np.zeros(view.shape, np.bool_)
        np.put_along_axis(values, where, np.broadcast_to(_unbatched(value), where.shape), axis)
        np.put_along_axis(touched, where, True, axis)
        cells = view.cells(view.arena.filled) if self.cluster.is_checked else None
        before = None if cells is None else cells.copy()
        self.cluster.recorder.picks(view, place)
        self.writes(view, values, "generic", place)
        if cells is not None and before is not None:
            each = before.reshape((*view.shape, -1)) | touched[..., None]
            cells[...] = each.reshape(cells.shape)

    def _within(self, indices: Any, view: View, axis: int, place: int) -> Any:
        where = _unbatched(indices).astype(np.int64)
        extent = view.shape[axis]
        if where.size and (where.min() < 0 or where.max() >= extent):
            wrong = int(where.min() if where.min() < 0 else where.max())
            message = (
                f"index {wrong} is out of bounds: axis {axis} of {view.name} has extent {extent}"
            )
            raise RuntimeFault("out of bounds", message, view.notes(), place)
        return where

    # -- from global memory ------------------------------------------------------------------

    def tma_load(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        fill: Any,
        target: View,
        barrier: View,
        pred: Any,
        place: int,
        multicast: Any = None,
    ) -> None:
        """Copy a block into a buffer, of all CTAs in the bits of `multicast` if given."""
        if not pred:
            return
        views, gates = [target], [self.barrier_for(barrier, place)]
        if multicast is not None:
            ranks = [rank for rank in range(len(target.peers)) if int(multicast) >> rank & 1]
            views = [target.at_rank(rank) for rank in ranks]
            gates = [self.barrier_for(barrier.at_rank(rank), place) for rank in ranks]

        def finish() -> None:
            values = _tile(self.mem.load(site, address, mask, fill), target.shape)
            for view, gate in zip(views, gates, strict=True):
                self.writes(view, values, "async", place)
                self.deliver(gate, view.nbytes, place)

        what = f"the TMA load into {target.name}"
        parts = [(view, True) for view in views]
        self.start(what, "tma", place, finish, parts, gates=gates)

    def copy_async(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        other: Any,
        target: View,
        place: int,
    ) -> None:
        """cp.async: part of the open group of the task."""

        def finish() -> None:
            values = self.mem.load(site, address, mask, other)
            self.writes(target, _tile(values, target.shape), "generic", place)

        what = f"the copy into {target.name}"
        self.groups("cp.async").issue(self.start(what, "cp.async", place, finish, [(target, True)]))

    def copy_bulk(
        self,
        site: int,
        address: Terms,
        target: View,
        barrier: View,
        size_bytes: Any,
        place: int,
        pred: Any = True,
    ) -> None:
        """One bulk copy that reports to a barrier."""
        if not pred:
            return
        gate = self.barrier_for(barrier, place)
        size = target.nbytes if size_bytes is None else int(size_bytes)
        part = target.slice([0], (size // target.dtype.itemsize,))

        def finish() -> None:
            starts = [_first(term, part.shape[0]) for term in address]
            values = self.mem.load(site, tuple(starts), (), None)
            self.writes(part, _tile(values, part.shape), "async", place)
            self.deliver(gate, size, place)

        what = f"the bulk copy into {target.name}"
        self.start(what, "tma", place, finish, [(part, True)], gates=[gate])

    def commit(self, place: int) -> None:
        """Close a group of cp.async."""
        self.groups("cp.async").commit()
        self.cluster.recorder.commit(self.cluster.task, "cp.async", place)

    def arrive_when_copied(self, barrier: View, increments: bool, place: int) -> None:
        """Threads arrive once the copies that the task has issued so far are done."""
        gate = self.barrier_for(barrier, place)
        threads, mine = self.cluster.task.threads, self.groups("cp.async")
        if increments:
            gate.expect_arrivals(threads)
        before = [*mine.older(0), *mine.open]

        def finish() -> None:
            acting = self.cluster.acting
            for operation in before:
                operation.complete()
            self.cluster.acting = self.cluster.last = acting
            self.arrived_at(gate, threads, place)

        what = f"the arrival on {gate.name}"
        self.start(what, "cp.async", place, finish, [], gates=[gate])

    # -- to global memory --------------------------------------------------------------------

    def tma_store(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        source: View,
        shape: tuple[int, ...],
        place: int,
        reduces: bool = False,
    ) -> None:
        """Copy a buffer to a block of a tensor, or combine it with what is there."""

        def finish() -> None:
            values = self.reads(source, "async", place).reshape((1, *shape))
            put = self.mem.atomic_rmw if reduces else self.mem.store
            put(site, address, values, mask)

        what = f"the TMA {'reduction' if reduces else 'store'} of {source.name}"
        operation = self.start(what, "tma stores", place, finish, [(source, False)])
        groups = self.groups("TMA store")
        groups.issue(operation)
        groups.commit()
        self.cluster.recorder.commit(self.cluster.task, "TMA store", place)

    def store_bulk(
        self, site: int, address: Terms, source: View, size_bytes: Any, pred: Any, place: int
    ) -> None:
        """One bulk copy of a buffer to consecutive addresses."""
        if not pred:
            return
        count = int(size_bytes) // source.dtype.itemsize
        lanes = np.arange(count, dtype=np.int64)[None] * source.dtype.itemsize
        part = source.reshaped((source.nbytes // source.dtype.itemsize,)).slice([0], (count,))

        def finish() -> None:
            values = self.reads(part, "async", place)[None]
            self.mem.store(site, (*address, lanes), values, ())

        operation = self.start(
            f"the bulk store of {source.name}", "tma stores", place, finish, [(part, False)]
        )
        groups = self.groups("TMA store")
        groups.issue(operation)
        groups.commit()
        self.cluster.recorder.commit(self.cluster.task, "TMA store", place)

    # -- between CTAs ------------------------------------------------------------------------

    def remote_store(self, value: Any, target: View, rank: Any, place: int) -> None:
        self.writes(target.at_rank(rank), _unbatched(value), "generic", place)

    def remote_store_async(
        self, value: Any, target: View, rank: Any, barrier: View, place: int
    ) -> None:
        """Write a tensor into a buffer of another CTA, whose barrier gets the bytes."""
        there, gate = target.at_rank(rank), self._remote_gate(barrier, rank, place)
        kept = np.array(_unbatched(value))

        def finish() -> None:
            self.writes(there, kept, "async", place)
            self.deliver(gate, there.nbytes, place)

        what = f"the store into {target.name} of CTA {int(rank)}"
        self.start(what, "remote stores", place, finish, [(there, True)], gates=[gate])

    def remote_copy_async(
        self, source: View, target: View, rank: Any, barrier: View, place: int
    ) -> None:
        """Copy a buffer into one of another CTA, whose barrier gets the bytes."""
        there, gate = target.at_rank(rank), self._remote_gate(barrier, rank, place)

        def finish() -> None:
            values = self.reads(source, "async", place)
            self.writes(there, values.reshape(there.shape), "async", place)
            self.deliver(gate, there.nbytes, place)

        what = f"the copy of {source.name} to CTA {int(rank)}"
        parts = [(source, False), (there, True)]
        self.start(what, "remote stores", place, finish, parts, gates=[gate])

    def _remote_gate(self, barrier: View, rank: Any, place: int) -> Barrier:
        is_local = barrier.arena.cta == self.rank
        return self.barrier_for(barrier.at_rank(rank) if is_local else barrier, place)

    # -- cluster launch control --------------------------------------------------------------

    def try_cancel(self, barrier: View, response: View, place: int, for_all: bool = True) -> None:
        """Request the work of a cluster that has not started.

        `for_all` every CTA executes it, the first one issues the request, and all of them get the
        response.
        """
        if for_all and self.rank:
            return
        ranks = range(len(self.cluster.ctas)) if for_all else (self.rank,)
        views = [response.at_rank(rank) for rank in ranks]
        gates = [self.barrier_for(barrier.at_rank(rank), place) for rank in ranks]

        def finish() -> None:
            taken = self.cluster.take()
            words = (0, 0, 0, 0) if taken is None else (*taken, 1)
            answer = np.array(words, np.int32).view(np.uint8).view(response.dtype)
            for view, gate in zip(views, gates, strict=True):
                self.writes(view, answer.reshape(view.shape), "async", place)
                self.deliver(gate, RESPONSE_BYTES, place)

        what = f"the request for work into {response.name}"
        parts = [(view, True) for view in views]
        self.start(what, "launch control", place, finish, parts, gates=gates)

    def cancelled(self, response: View, place: int) -> tuple[Any, Any, Any]:
        """The first program of the cluster that was taken over; -1 if there is none."""
        answer = self.reads(response, "generic", place)
        x, y, z, is_taken = np.frombuffer(answer.tobytes(), np.int32)
        if not is_taken:
            return np.int32(-1), np.int32(-1), np.int32(-1)
        return x, y, z

    # -- waits -------------------------------------------------------------------------------

    def wait_copies(self, leave: int, place: int) -> Generator[Wait, None, None]:
        yield from self.wait_groups("cp.async", leave, place)

    def wait_stores(self, leave: int, place: int) -> Generator[Wait, None, None]:
        yield from self.wait_groups("TMA store", leave, place)


def _unbatched(value: Any) -> Any:
    """A tensor without the axis of programs."""
    return value[0] if np.ndim(value) else value


def _first(term: Any, count: int) -> Any:
    """The first `count` lanes."""
    return term[:, :count] if np.ndim(term) else term


def _tile(values: Any, shape: tuple[int, ...]) -> Any:
    """What memory gave, in the shape of a buffer; a number goes everywhere."""
    return values if np.ndim(values) == 0 else values.reshape(shape)
