"""Tensor cores of a CTA, and the runtime as generated code sees it.

wgmma works on registers: its result is an array that is filled in when the MMA completes, and may
not be used before the wait for its group. tcgen05 works on tensor memory; MMAs, copies into tensor
memory and commits of a CTA complete in issue order.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from tilewright.analysis.concurrency import Proxy, Steps, Wait
from tilewright.targets.numpy.support.dot import dot, dot_scaled
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.engines import CtaEngines
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault

_TENSOR = "tcgen05"


class CtaRuntime(CtaEngines):
    """What generated code calls `rt`."""

    # -- wgmma -------------------------------------------------------------------------------

    def wgmma(self, a: Any, b: View, c: Any, use_c: Any, source_id: int) -> Any:
        """Issue `a @ b + c`; the array that will hold the result."""
        shape = (1, a.shape[-2], b.shape[-1])
        result = np.empty(shape, c.dtype)

        def finish() -> None:
            left = self.reads(a, "async", source_id)[None] if isinstance(a, View) else a
            right = self.reads(b, "async", source_id)[None]
            start = c if use_c else c.dtype.type(0)
            result[...] = dot(left, right, start)
            self.landing.pop(id(result), None)

        parts = [(each, False) for each in (a, b) if isinstance(each, View)]
        names = " @ ".join(each.name for each, _ in parts)
        engine = f"wgmma of {self.cluster.task.name}"
        operation = self.start(
            f"the wgmma with {names}", engine, source_id, finish, parts, in_order=True
        )
        self.landing[id(result)] = (result, operation)
        self.commit_alone("wgmma", operation, source_id)
        return result

    def wgmma_now(
        self, a: Any, b: View, c: Any, use_c: Any, source_id: int
    ) -> Generator[Wait | None, None, Any]:
        """A wgmma that is waited for."""
        result = self.wgmma(a, b, c, use_c, source_id)
        yield from self.wait_groups("wgmma", 0, source_id)
        return result

    def wgmma_wait(
        self, leave: int, source_id: int, *values: Any
    ) -> Generator[Wait | None, None, tuple[Any, ...]]:
        """Wait until at most `leave` wgmmas are in flight; returns `values`."""
        yield from self.wait_groups("wgmma", leave, source_id)
        return values

    def landed(self, source_id: int, value: Any) -> None:
        """Raise if a result is used before the wait for its wgmma."""
        found = self.landing.get(id(value))
        if found is None:
            return
        operation = found[1]
        issued = operation.site if isinstance(operation.site, int) else None
        message = f"the result of {operation.what} is used before the wait for it"
        notes = [
            Note("it was issued here", issued),
            "use the result of async_dot_wait instead",
        ]
        raise RuntimeFault("not arrived", message, notes, source_id)

    # -- tcgen05 -----------------------------------------------------------------------------

    def mma(
        self,
        a: View,
        b: View,
        d: View,
        use_d: Any,
        pred: Any,
        barriers: Sequence[tuple[View, Any]],
        source_id: int,
        pair: bool = False,
        scales: tuple[View, str, bool, View, str, bool] | None = None,
    ) -> AsyncOperation | None:
        """Issue `d = a @ b (+ d)`; of both CTAs of a pair, each with half of the columns of b.

        For a pair the even CTA issues it, whichever CTA executes the op.
        """
        if not pred or (pair and self.rank % 2):
            return None
        ranks = _pair(self.rank) if pair else (self.rank,)
        lefts, rights, results = ([each.at_rank(rank) for rank in ranks] for each in (a, b, d))
        mbarriers = [
            self.barrier_for(view.at_rank(rank) if pair else view, source_id)
            for view, active in barriers
            if active
            for rank in ranks
        ]
        keeps = bool(use_d)

        def finish() -> None:
            columns = [self._operand(right, source_id) for right in rights]
            right = np.concatenate(columns, axis=1) if pair else columns[0]
            for left, result in zip(lefts, results, strict=True):
                zero = result.dtype.type(0)
                start = self.reads(result, "tensor", source_id)[None] if keeps else zero
                rows = self._operand(left, source_id)[None]
                result_tile = self._multiply(rows, right[None], start, scales, source_id)
                self.writes(result, result_tile[0], "tensor", source_id)
            for mbarrier in mbarriers:
                self.arrived_at(mbarrier, 1, source_id)

        parts = [(each, False) for each in (*lefts, *rights)]
        if scales is not None:
            parts += [(scales[0], False), (scales[3], False)]
        parts += [(each, True) for each in results]
        what = f"the MMA {a.name} @ {b.name} -> {d.name}"
        return self.start(
            what, _TENSOR, source_id, finish, parts, in_order=True, barriers=mbarriers
        )

    def mma_now(self, *args: Any, **kwargs: Any) -> Steps:
        """An MMA that is waited for."""
        operation = self.mma(*args, **kwargs)
        if operation is not None:
            yield Wait(operation.what, lambda: operation.is_done, site=operation.site)
            self.cluster.events.waited_group(self.cluster.task, "wgmma", [operation], 0)

    def _operand(self, view: View, source_id: int) -> Any:
        proxy: Proxy = "tensor" if view.arena.is_tensor_memory else "async"
        return self.reads(view, proxy, source_id)

    def _multiply(
        self,
        left: Any,
        right: Any,
        start: Any,
        scales: tuple[View, str, bool, View, str, bool] | None,
        source_id: int,
    ) -> Any:
        if scales is None:
            return dot(left, right, start)
        a_scale, a_format, a_along_k, b_scale, b_format, b_along_k = scales
        rows = left.shape[-2] * (1 if a_along_k or a_format != "e2m1" else 2)
        columns = right.shape[-1] * (1 if b_along_k or b_format != "e2m1" else 2)
        one = unpacked_scales(self._operand(a_scale, source_id), rows)[None]
        other = unpacked_scales(self._operand(b_scale, source_id), columns)[None]
        return dot_scaled(left, one, a_format, a_along_k, right, other, b_format, b_along_k, start)

    def mma_commit(self, barrier: View, pred: Any, source_id: int, pair: bool = False) -> None:
        """Arrive when everything that was issued so far is done; at both CTAs of a pair.

        For a pair the even CTA issues it, whichever CTA executes the op.
        """
        if not pred or (pair and self.rank % 2):
            return
        ranks = _pair(self.rank) if pair else (barrier.arena.cta,)
        mbarriers = [self.barrier_for(barrier.at_rank(rank), source_id) for rank in ranks]

        def finish() -> None:
            for mbarrier in mbarriers:
                self.arrived_at(mbarrier, 1, source_id)

        what = f"the commit to {barrier.name}"
        self.start(what, _TENSOR, source_id, finish, [], in_order=True, barriers=mbarriers)

    def tmem_copy(
        self, source: View, target: View, barrier: View | None, source_id: int, packs: bool
    ) -> None:
        """Copy shared memory to tensor memory; `packs` for scale factors in blocks."""
        mbarrier = None if barrier is None else self.barrier_for(barrier, source_id)

        def finish() -> None:
            values = self.reads(source, "async", source_id)
            if packs:
                values = unpacked_scales(values, target.shape[-2])
            self.writes(target, values.reshape(target.shape), "tensor", source_id)
            if mbarrier is not None:
                self.arrived_at(mbarrier, 1, source_id)

        what = f"the copy {source.name} -> {target.name}"
        parts = [(source, False), (target, True)]
        mbarriers = [] if mbarrier is None else [mbarrier]
        self.start(what, _TENSOR, source_id, finish, parts, in_order=True, barriers=mbarriers)

    def tmem_reduced(self, values: Any, kind: str, absolute: bool) -> Any:
        """The least or greatest of each row."""
        seen = np.abs(values) if absolute else values
        return (np.fmin if kind == "min" else np.fmax).reduce(seen, axis=-1)

    # -- descriptors in memory ---------------------------------------------------------------

    def scratch(self, size_bytes: int) -> Any:
        """A fresh address range."""
        array = np.zeros(size_bytes, np.uint8)
        self.scratches.append(array)
        return np.int64(array.__array_interface__["data"][0])

    def put_descriptor(self, address: Any, *parts: Any) -> None:
        self.descriptors[int(address)] = parts

    def get_descriptor(self, address: Any, count: int, source_id: int) -> tuple[Any, ...]:
        found = self.descriptors.get(int(address))
        if found is None or len(found) != count:
            message = "no tensor descriptor of this rank at this address"
            note = "create it first with tlx.make_tensor_descriptor(desc_ptr=...)"
            raise RuntimeFault("uninitialised", message, [note], source_id)
        return found


def _pair(rank: int) -> tuple[int, int]:
    """The CTAs of a pair, the even one first."""
    return rank & ~1, rank | 1


_BLOCK_ROWS, _BLOCK_COLUMNS, _CHUNK_ROWS = 128, 4, 32


def unpacked_scales(values: Any, rows: int) -> Any:
    """Scale factors as a matrix of `rows`; those in blocks of 128 x 4 are put in order.

    Row r, column s of a block is at ``(r mod 32) * 16 + (r div 32) * 4 + s`` (cuBLAS, "1D block
    scaling factors layout"). Two dimensions are in order already.
    """
    if values.ndim == 2:
        return values
    columns = values.size // rows
    shape = (
        rows // _BLOCK_ROWS,
        columns // _BLOCK_COLUMNS,
        _CHUNK_ROWS,
        _BLOCK_ROWS // _CHUNK_ROWS,
        _BLOCK_COLUMNS,
    )
    blocks = values.reshape(shape).transpose(0, 3, 2, 1, 4)
    return blocks.reshape(rows, columns)
