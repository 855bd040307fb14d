"""Asynchronous copies: TMA, cp.async, bulk copies, stores into other CTAs.

What is copied is read and written when the operation finishes; addresses are those of its issue.
TMA loads and bulk copies report bytes to a barrier; cp.async and TMA stores are waited for in
groups.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.analysis.concurrency import Proxy, Steps
from tilewright.targets.numpy.api import Terms
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.sync import CtaSync
from tilewright.targets.numpy.tile.support.problems import RuntimeFault

_TENSOR_MOVER = "cp.async of the tensor data mover"
"""Accesses memory as threads do, so that no fence is needed between the two."""
RESPONSE_BYTES = 16
"""Of a cluster-launch-control response."""


class CtaEngines(CtaSync):
    """The asynchronous copies of a CTA."""

    # -- accesses of threads -----------------------------------------------------------------

    def load(self, view: View, source_id: int) -> Any:
        """A buffer as a tensor."""
        proxy: Proxy = "tensor" if view.arena.is_tensor_memory else "generic"
        return self.reads(view, proxy, source_id)[None]

    def store(self, view: View, value: Any, source_id: int, pred: Any = True) -> None:
        """A tensor into a buffer."""
        if pred:
            proxy: Proxy = "tensor" if view.arena.is_tensor_memory else "generic"
            self.writes(view, _unbatched(value), proxy, source_id)

    def local_gather(self, view: View, indices: Any, axis: int, source_id: int) -> Any:
        self.cluster.recorder.picks(view, source_id)
        values = self.reads(view, "generic", source_id)
        return np.take_along_axis(values, self._within(indices, view, axis, source_id), axis)[None]

    def local_scatter(
        self, view: View, indices: Any, value: Any, axis: int, source_id: int
    ) -> None:
        where = self._within(indices, view, axis, source_id)
        view.require()
        values, selected = view.read(), np.zeros(view.shape, np.bool_)
        np.put_along_axis(values, where, np.broadcast_to(_unbatched(value), where.shape), axis)
        np.put_along_axis(selected, where, True, axis)
        cells = view.filled if self.cluster.is_checked else None
        before = None if cells is None else cells.copy()
        self.cluster.recorder.picks(view, source_id)
        self.writes(view, values, "generic", source_id)
        if cells is not None and before is not None:
            each = before.reshape((*view.shape, -1)) | selected[..., None]
            cells[...] = each.reshape(cells.shape)

    def _within(self, indices: Any, view: View, axis: int, source_id: int) -> Any:
        where = _unbatched(indices).astype(np.int64)
        extent = view.shape[axis]
        if where.size and (where.min() < 0 or where.max() >= extent):
            wrong = int(where.min() if where.min() < 0 else where.max())
            message = (
                f"index {wrong} is out of bounds: axis {axis} of {view.name} has extent {extent}"
            )
            raise RuntimeFault("out of bounds", message, view.notes(), source_id)
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
        source_id: int,
        multicast: Any = None,
    ) -> None:
        """Copy a block into a buffer, of all CTAs in the bits of `multicast` if given."""
        if not pred:
            return
        views, barriers = [target], [self.barrier_for(barrier, source_id)]
        if multicast is not None:
            ranks = [rank for rank in range(len(target.peers)) if int(multicast) >> rank & 1]
            views = [target.at_rank(rank) for rank in ranks]
            barriers = [self.barrier_for(barrier.at_rank(rank), source_id) for rank in ranks]

        def finish() -> None:
            values = _tile(self.mem.load(site, address, mask, fill), target.shape)
            for view, mbarrier in zip(views, barriers, strict=True):
                self.writes(view, values, "async", source_id)
                self.deliver(mbarrier, view.nbytes, source_id)

        what = f"the TMA load into {target.name}"
        parts = [(view, True) for view in views]
        self.start(what, "tma", source_id, finish, parts, barriers=barriers)

    def copy_async(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        other: Any,
        target: View,
        source_id: int,
    ) -> None:
        """cp.async: part of the open group of the task."""

        def finish() -> None:
            values = self.mem.load(site, address, mask, other)
            self.writes(target, _tile(values, target.shape), "generic", source_id)

        what = f"the copy into {target.name}"
        self.groups("cp.async").issue(
            self.start(what, "cp.async", source_id, finish, [(target, True)])
        )

    def copy_bulk(
        self,
        site: int,
        address: Terms,
        target: View,
        barrier: View,
        size_bytes: Any,
        source_id: int,
        pred: Any = True,
    ) -> None:
        """One bulk copy that reports to a barrier."""
        if not pred:
            return
        mbarrier = self.barrier_for(barrier, source_id)
        size = target.nbytes if size_bytes is None else int(size_bytes)
        part = target.slice([0], (size // target.dtype.itemsize,))

        def finish() -> None:
            starts = [_first(term, part.shape[0]) for term in address]
            values = self.mem.load(site, tuple(starts), (), None)
            self.writes(part, _tile(values, part.shape), "async", source_id)
            self.deliver(mbarrier, size, source_id)

        what = f"the bulk copy into {target.name}"
        self.start(what, "tma", source_id, finish, [(part, True)], barriers=[mbarrier])

    def commit(self, source_id: int) -> None:
        """Close a group of cp.async."""
        self.cluster.actions.commit(self.cluster.task, "cp.async", source_id)

    def arrive_when_copied(self, barrier: View, increments: bool, source_id: int) -> None:
        """Threads arrive once the copies that the task has issued so far are done."""
        mbarrier = self.barrier_for(barrier, source_id)
        threads, groups = self.cluster.task.threads, self.groups("cp.async")
        if increments:
            mbarrier.expect_arrivals(threads)
        before = groups.all()

        def finish() -> None:
            acting = self.cluster.acting
            for operation in before:
                operation.complete()
            self.cluster.acting = self.cluster.last = acting
            self.arrived_at(mbarrier, threads, source_id)

        what = f"the arrival on {mbarrier.name}"
        self.start(what, "cp.async", source_id, finish, [], barriers=[mbarrier])

    # -- to global memory --------------------------------------------------------------------

    def tma_store(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        source: View,
        shape: tuple[int, ...],
        source_id: int,
        reduces: bool = False,
    ) -> None:
        """Copy a buffer to a block of a tensor, or combine it with what is there."""

        def finish() -> None:
            values = self.reads(source, "async", source_id).reshape((1, *shape))
            put = self.mem.atomic_rmw if reduces else self.mem.store
            put(site, address, values, mask)

        what = f"the TMA {'reduction' if reduces else 'store'} of {source.name}"
        operation = self.start(what, "tma stores", source_id, finish, [(source, False)])
        self.commit_alone("TMA store", operation, source_id)

    def store_bulk(
        self, site: int, address: Terms, source: View, size_bytes: Any, pred: Any, source_id: int
    ) -> None:
        """One bulk copy of a buffer to consecutive addresses."""
        if not pred:
            return
        count = int(size_bytes) // source.dtype.itemsize
        lanes = np.arange(count, dtype=np.int64)[None] * source.dtype.itemsize
        part = source.reshaped((source.nbytes // source.dtype.itemsize,)).slice([0], (count,))

        def finish() -> None:
            values = self.reads(part, "async", source_id)[None]
            self.mem.store(site, (*address, lanes), values, ())

        operation = self.start(
            f"the bulk store of {source.name}", "tma stores", source_id, finish, [(part, False)]
        )
        self.commit_alone("TMA store", operation, source_id)

    # -- between CTAs ------------------------------------------------------------------------

    def remote_store(self, value: Any, target: View, rank: Any, source_id: int) -> None:
        self.writes(target.at_rank(rank), _unbatched(value), "generic", source_id)

    def remote_store_async(
        self, value: Any, target: View, rank: Any, barrier: View, source_id: int
    ) -> None:
        """Write a tensor into a buffer of another CTA, whose barrier gets the bytes."""
        there, mbarrier = target.at_rank(rank), self._remote_barrier(barrier, rank, source_id)
        values = np.array(_unbatched(value))

        def finish() -> None:
            self.writes(there, values, "async", source_id)
            self.deliver(mbarrier, there.nbytes, source_id)

        what = f"the store into {target.name} of CTA {int(rank)}"
        self.start(what, "remote stores", source_id, finish, [(there, True)], barriers=[mbarrier])

    def remote_copy_async(
        self, source: View, target: View, rank: Any, barrier: View, source_id: int
    ) -> None:
        """Copy a buffer into one of another CTA, whose barrier gets the bytes."""
        there, mbarrier = target.at_rank(rank), self._remote_barrier(barrier, rank, source_id)

        def finish() -> None:
            values = self.reads(source, "async", source_id)
            self.writes(there, values.reshape(there.shape), "async", source_id)
            self.deliver(mbarrier, there.nbytes, source_id)

        what = f"the copy of {source.name} to CTA {int(rank)}"
        parts = [(source, False), (there, True)]
        self.start(what, "remote stores", source_id, finish, parts, barriers=[mbarrier])

    def _remote_barrier(self, barrier: View, rank: Any, source_id: int) -> Barrier:
        is_local = barrier.arena.cta == self.rank
        return self.barrier_for(barrier.at_rank(rank) if is_local else barrier, source_id)

    # -- cluster launch control --------------------------------------------------------------

    def try_cancel(
        self, barrier: View, response: View, source_id: int, for_all: bool = True
    ) -> None:
        """Request the work of a cluster that has not started.

        `for_all` every CTA executes it, the first one issues the request, and all of them get the
        response.
        """
        if for_all and self.rank:
            return
        ranks = range(len(self.cluster.ctas)) if for_all else (self.rank,)
        views = [response.at_rank(rank) for rank in ranks]
        barriers = [self.barrier_for(barrier.at_rank(rank), source_id) for rank in ranks]

        def finish() -> None:
            taken = self.cluster.take()
            fields = (0, 0, 0, 0) if taken is None else (*taken, 1)
            data = np.array(fields, np.int32).view(np.uint8).view(response.dtype)
            for view, mbarrier in zip(views, barriers, strict=True):
                self.writes(view, data.reshape(view.shape), "async", source_id)
                self.deliver(mbarrier, RESPONSE_BYTES, source_id)

        what = f"the request for work into {response.name}"
        parts = [(view, True) for view in views]
        self.start(what, "launch control", source_id, finish, parts, barriers=barriers)

    def cancelled(self, response: View, source_id: int) -> tuple[Any, Any, Any]:
        """The first program of the cluster that was taken over; -1 if there is none."""
        data = self.reads(response, "generic", source_id)
        x, y, z, is_taken = np.frombuffer(data.tobytes(), np.int32)
        if not is_taken:
            return np.int32(-1), np.int32(-1), np.int32(-1)
        return x, y, z

    # -- waits -------------------------------------------------------------------------------

    def wait_copies(self, leave: int, source_id: int) -> Steps:
        yield from self.wait_groups("cp.async", leave, source_id)

    def tensor_load(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        fill: Any,
        target: View,
        pred: Any,
        source_id: int,
    ) -> None:
        """AMD's tensor data mover: one copy, waited for by counting copies in order."""

        def finish() -> None:
            if pred:
                values = self.mem.load(site, address, mask, fill)
                self.writes(target, _tile(values, target.shape), "generic", source_id)

        what = f"the tensor copy into {target.name}"
        self._count_tensor(what, finish, [(target, True)] if pred else [], source_id)

    def tensor_store(
        self,
        site: int,
        address: Terms,
        mask: Terms,
        source: View,
        shape: tuple[int, ...],
        pred: Any,
        source_id: int,
    ) -> None:
        """The other direction."""

        def finish() -> None:
            if pred:
                values = self.reads(source, "generic", source_id).reshape((1, *shape))
                self.mem.store(site, address, values, mask)

        what = f"the tensor copy of {source.name}"
        self._count_tensor(what, finish, [(source, False)] if pred else [], source_id)

    def _count_tensor(
        self, what: str, finish: Callable[[], None], parts: list[tuple[View, bool]], source_id: int
    ) -> None:
        operation = self.start(what, _TENSOR_MOVER, source_id, finish, parts)
        self.commit_alone("tensor copy", operation, source_id)

    def wait_tensors(self, leave: int, source_id: int) -> Steps:
        yield from self.wait_groups("tensor copy", leave, source_id)

    def wait_stores(self, leave: int, source_id: int) -> Steps:
        yield from self.wait_groups("TMA store", leave, source_id)


def _unbatched(value: Any) -> Any:
    """A tensor without the axis of programs."""
    return value[0] if np.ndim(value) else value


def _first(term: Any, count: int) -> Any:
    """The first `count` lanes."""
    return term[:, :count] if np.ndim(term) else term


def _tile(values: Any, shape: tuple[int, ...]) -> Any:
    """What memory gave, in the shape of a buffer; a number goes everywhere."""
    return values if np.ndim(values) == 0 else values.reshape(shape)
