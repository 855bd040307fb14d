"""Tensor memory of one block: what orders the accesses of threads and of the tensor core.

Accesses are recorded by cell: 16 lanes of one column, which every instruction covers wholly. Three
kinds of accesses are ordered in three ways (PTX ISA, "Memory Consistency Model" of ``tcgen05``):

============================  ==================================================================
earlier access                is ordered before a later one by
============================  ==================================================================
`ld`, `st` of the same warp   `wait_ld`, `wait_st`
`ld`, `st` of another warp    that wait, `fence before`, a barrier, `fence after`
MMA, `cp`                     `commit`, a wait for its barrier, `fence after`; nothing for an MMA
                              or `cp` that the same thread issues
============================  ==================================================================

`fence before` advances agents of the block's vector clocks (`clocks.TENSOR_KINDS`), which
barriers forward with all others; what a warp had observed at its last `fence after` is `effective`.

Used by the static check and by the execution with data (`targets/numpy/simt`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol, TypeAlias

import numpy as np
from xdsl.ir import Operation

from tilewright.layouts.hardware.tcgen05 import COLUMNS, HALF_QUARTER, LANES

TensorFaultKind: TypeAlias = Literal["uninitialised", "race", "fence", "in flight"]
TensorNotes: TypeAlias = Sequence[tuple[Operation | None, str]]
GROUPS = LANES // HALF_QUARTER
_UNWRITTEN = -1
_FAR = 1 << 20
"""Issuers of other blocks: no warp has such a number."""


class TensorClocks(Protocol):
    """Vector clocks of a block, those of the check or those of the execution."""

    observed: Any
    warps: int

    def tensor_agents(self, kind: str) -> slice:
        """Of all warps, by kind of access to tensor memory."""
        ...

    def forwarded_row(self, row: Any, sender: int, receiver: int) -> Any:
        """The times of the agents of a block, in the order of another one."""
        ...


@dataclass(frozen=True)
class Cells:
    """Some columns of some groups of 16 lanes."""

    groups: Any
    first: int
    columns: int

    @staticmethod
    def of_lanes(lanes: Any, first: int, columns: int) -> Cells:
        return Cells(np.unique(np.asarray(lanes) // HALF_QUARTER), first, columns)

    @property
    def index(self) -> tuple[Any, Any]:
        return self.groups[:, None], np.arange(self.first, self.first + self.columns)

    def name(self, where: tuple[int, int]) -> str:
        """The cell at a position of an array over these cells."""
        lane = int(self.groups[where[0]]) * HALF_QUARTER
        return (
            f"column {self.first + where[1]}, lanes {lane} to {lane + HALF_QUARTER - 1} "
            "of tensor memory"
        )


@dataclass(frozen=True)
class Accessor:
    """What an access observes: clocks in the order of the memory's block."""

    op: Operation
    effective: Any
    observed: Any
    warp: int
    """Of the issuing thread, in its own block."""
    is_local: bool = True
    """Whether it belongs to the memory's block."""

    def forwarded(self, clocks: TensorClocks, sender: int, receiver: int) -> Accessor:
        """The same access, in the memory of another block of the cluster."""
        if sender == receiver:
            return self
        effective = clocks.forwarded_row(self.effective, sender, receiver)
        observed = clocks.forwarded_row(self.observed, sender, receiver)
        return Accessor(self.op, effective, observed, self.warp, is_local=False)


@dataclass(eq=False)
class _Warps:
    """How far each warp's loads or stores have come."""

    issued: Any
    done: Any


class TensorOrder:
    """The last accesses of every cell, and how far each warp's loads and stores have come."""

    def __init__(self, clocks: TensorClocks, *, checks_values: bool) -> None:
        warps = clocks.warps
        cells = GROUPS, COLUMNS
        self.clocks = clocks
        self.checks_values = checks_values
        """Whether reads of cells without a value are reported."""
        self.is_written = np.zeros(cells, np.bool_)
        self.effective = np.zeros_like(clocks.observed)
        self.agent = warps
        """Of the tensor core: kernels with tensor memory have no wgmma."""
        self.loads = _Warps(np.zeros(warps, np.int32), np.zeros(warps, np.int32))
        self.stores = _Warps(np.zeros(warps, np.int32), np.zeros(warps, np.int32))
        self.issues = np.zeros(warps, np.int32)
        self._last_issue: dict[int, int] = {}
        """Of each thread, the time of its last MMA or copy; `~thread` is one of another block."""
        self.store_warp = np.full(cells, _UNWRITTEN, np.int32)
        self.store_time = np.zeros(cells, np.int32)
        self.store_op = np.zeros(cells, np.int32)
        self.load_time = np.zeros((warps, *cells), np.int32)
        self.load_op = np.zeros((warps, *cells), np.int32)
        self.core_write = np.zeros(cells, np.int32)
        self.core_read = np.zeros(cells, np.int32)
        self.core_op = np.zeros(cells, np.int32)
        self.core_issuer = np.full(cells, _UNWRITTEN, np.int32)
        self.core_issue = np.zeros(cells, np.int32)
        self._ops: list[Operation] = []
        self._indices: dict[Operation, int] = {}

    def fail(
        self, kind: TensorFaultKind, message: str, op: Operation, notes: TensorNotes = ()
    ) -> NoReturn:
        """Report an error."""
        raise NotImplementedError

    # -- what warps observe ----------------------------------------------------------------------

    def accessor(self, op: Operation, warp: int) -> Accessor:
        """An access by a warp of this block."""
        return Accessor(op, self.effective[warp], self.clocks.observed[warp], warp)

    def mark_time(self, thread: int, time: int, *, is_local: bool) -> None:
        """A thread, of this block or of another one, issued an MMA or a copy."""
        self._last_issue[thread if is_local else ~thread] = time

    def issued(self, thread: int, *, is_local: bool) -> tuple[int, int]:
        """The tensor core's agent, and when it was last given work by this thread."""
        return self.agent, self._last_issue.get(thread if is_local else ~thread, 0)

    def fence_before(self, warps: Any) -> None:
        """What these warps have completed is released by their next arrival."""
        observed, agents = self.clocks.observed, self.clocks.tensor_agents
        for warp in warps:
            observed[warp, agents("load").start + warp] = self.loads.done[warp]
            observed[warp, agents("store").start + warp] = self.stores.done[warp]
            observed[warp, agents("issue").start + warp] = self.issues[warp]

    def fence_after(self, warps: Any) -> None:
        self.effective[warps] = self.clocks.observed[warps]

    def waited(self, kind: str, warp: int) -> None:
        """A warp has waited for its loads or stores."""
        held = self.loads if kind == "load" else self.stores
        held.done[warp] = held.issued[warp]
        agents = self.clocks.tensor_agents(f"done {kind}")
        self.clocks.observed[warp, agents.start + warp] = held.done[warp]

    # -- accesses ------------------------------------------------------------------------------

    def load(self, by: Accessor, cells: Cells) -> None:
        """A warp starts to read."""
        if self.checks_values and not self.is_written[cells.index].any(axis=0).all():
            missing = ~self.is_written[cells.index].any(axis=0)
            where = 0, int(np.argmax(missing))
            self._raise_unwritten(by.op, cells, where, "tcgen05.ld reads")
        self._after_stores(by, cells, "reads")
        self._after_core(by, cells, self.core_write, "reads")
        self.loads.issued[by.warp] += 1
        groups, columns = cells.index
        self.load_time[by.warp, groups, columns] = self.loads.issued[by.warp]
        self.load_op[by.warp, groups, columns] = self._op_index(by.op)

    def store(self, by: Accessor, cells: Cells) -> None:
        """A warp starts to write."""
        self._after_stores(by, cells, "writes")
        self._after_loads(by, cells, "writes")
        self._after_core(by, cells, np.maximum(self.core_write, self.core_read), "writes")
        self.stores.issued[by.warp] += 1
        at = cells.index
        self.store_warp[at], self.store_time[at] = by.warp, self.stores.issued[by.warp]
        self.store_op[at] = self._op_index(by.op)
        self.is_written[at] = True

    def core_reads(self, by: Accessor, cells: Cells, time: int, what: str) -> None:
        """The tensor core reads, from now until it has finished."""
        if self.checks_values and not self.is_written[cells.index].all():
            missing = ~self.is_written[cells.index]
            first = np.argwhere(missing)[0]
            self._raise_unwritten(by.op, cells, (int(first[0]), int(first[1])), what)
        self._after_stores(by, cells, "reads")
        self._after_core_of_others(by, cells, self.core_write, "reads")
        self.core_read[cells.index] = time
        self._mark_core(by, cells)

    def core_writes(self, by: Accessor, cells: Cells, time: int) -> None:
        self._after_stores(by, cells, "writes")
        self._after_loads(by, cells, "writes")
        latest = np.maximum(self.core_write, self.core_read)
        self._after_core_of_others(by, cells, latest, "writes")
        self.core_write[cells.index] = time
        self.is_written[cells.index] = True
        self._mark_core(by, cells)

    def mark_issue(self, by: Accessor) -> None:
        """A thread of this block issues an MMA or a copy."""
        self.issues[by.warp] += 1

    def check_dealloc(self, by: Accessor, cells: Cells) -> None:
        """All earlier accesses are complete: that takes barriers, but no fences."""
        clocks = self.clocks
        known = by.observed
        for kind, held in (("load", self.loads), ("store", self.stores)):
            agents = clocks.tensor_agents(f"done {kind}")
            times = known[agents].copy()
            times[by.warp] = held.done[by.warp]
            if kind == "load":
                late = self.load_time[(slice(None), *cells.index)] > times[:, None, None]
                if late.any():
                    warp, row, column = (int(each) for each in np.argwhere(late)[0])
                    other = self._op(self.load_op[warp], cells, (row, column))
                    self._raise_moving(by, cells, (row, column), "frees", "load", warp, other)
            else:
                owner = self.store_warp[cells.index]
                late = (owner >= 0) & (times[owner] < self.store_time[cells.index])
                if late.any():
                    at = _first(late)
                    other = self._op(self.store_op, cells, at)
                    self._raise_moving(by, cells, at, "frees", "store", int(owner[at]), other)
        latest = np.maximum(self.core_write, self.core_read)[cells.index]
        late = latest > known[self.agent]
        if late.any():
            self._raise_in_flight(by, cells, _first(late), "frees")

    # -- order ---------------------------------------------------------------------------------

    def _times(self, by: Accessor, kind: str, held: _Warps) -> Any:
        """Up to when the accesses of each warp are ordered before this one."""
        times = by.effective[self.clocks.tensor_agents(kind)]
        if by.is_local:
            times = times.copy()
            times[by.warp] = held.done[by.warp]
        return times

    def _after_stores(self, by: Accessor, cells: Cells, verb: str) -> None:
        owner = self.store_warp[cells.index]
        times = self._times(by, "store", self.stores)
        late = (owner >= 0) & (times[owner] < self.store_time[cells.index])
        if late.any():
            at = _first(late)
            other = self._op(self.store_op, cells, at)
            time = int(self.store_time[cells.index][at])
            self._raise_late(by, cells, at, verb, "store", int(owner[at]), time, other)

    def _after_loads(self, by: Accessor, cells: Cells, verb: str) -> None:
        times = self._times(by, "load", self.loads)
        read = self.load_time[(slice(None), *cells.index)]
        late = read > times[:, None, None]
        if late.any():
            warp, row, column = (int(each) for each in np.argwhere(late)[0])
            other = self._op(self.load_op[warp], cells, (row, column))
            time = int(read[warp, row, column])
            self._raise_late(by, cells, (row, column), verb, "load", warp, time, other)

    def _after_core(self, by: Accessor, cells: Cells, times: Any, verb: str) -> None:
        late = times[cells.index] > by.effective[self.agent]
        if not late.any():
            return
        at = _first(late)
        if int(times[cells.index][at]) > int(by.observed[self.agent]):
            self._raise_in_flight(by, cells, at, verb)
        self._raise_unfenced(by, cells, at, verb, self._op(self.core_op, cells, at), "after")

    def _after_core_of_others(self, by: Accessor, cells: Cells, times: Any, verb: str) -> None:
        """One thread's MMAs and copies execute in order; those of others need a barrier."""
        issuer = self.core_issuer[cells.index]
        late = (issuer != _issuer(by)) & (times[cells.index] > by.effective[self.agent])
        local = (issuer >= 0) & (issuer < _FAR)
        if by.is_local and late.any() and local.any():
            known = by.effective[self.clocks.tensor_agents("issue")]
            ordered = known[np.where(local, issuer, 0)] >= self.core_issue[cells.index]
            late &= ~(local & ordered)
        if late.any():
            at = _first(late)
            if int(times[cells.index][at]) > int(by.observed[self.agent]):
                self._raise_in_flight(by, cells, at, verb)
            self._raise_unfenced(by, cells, at, verb, self._op(self.core_op, cells, at), "after")

    def _mark_core(self, by: Accessor, cells: Cells) -> None:
        at = cells.index
        self.core_op[at] = self._op_index(by.op)
        self.core_issuer[at] = _issuer(by)
        self.core_issue[at] = self.issues[by.warp] if by.is_local else 0

    # -- reports -------------------------------------------------------------------------------

    def _op_index(self, op: Operation) -> int:
        found = self._indices.get(op)
        if found is None:
            found = self._indices[op] = len(self._ops)
            self._ops.append(op)
        return found

    def _op(self, table: Any, cells: Cells, at: tuple[int, int]) -> Operation:
        return self._ops[int(table[cells.index][at])]

    def _raise_unwritten(self, op: Operation, cells: Cells, at: tuple[int, int], what: str) -> None:
        self.fail(
            "uninitialised",
            f"uninitialised read: {what} {cells.name(at)}, which has not been written",
            op,
        )

    def _raise_late(
        self,
        by: Accessor,
        cells: Cells,
        at: tuple[int, int],
        verb: str,
        kind: str,
        warp: int,
        time: int,
        other: Operation,
    ) -> None:
        """A load or store of a warp is not ordered before this access: what is missing."""
        held = self.loads if kind == "load" else self.stores
        agents = self.clocks.tensor_agents(kind)
        if held.done[warp] < time:
            self._raise_moving(by, cells, at, verb, kind, warp, other)
        if self.clocks.observed[warp, agents.start + warp] < time:
            self._raise_unfenced(by, cells, at, verb, other, "before")
        if by.observed[agents.start + warp] < time:
            self.fail(
                "race",
                f"data race: {_subject(by)} {verb} {cells.name(at)}, and nothing orders it after "
                f"the {kind} of warp {warp}",
                by.op,
                [
                    (other, _did(kind, warp)),
                    (None, "a barrier is missing between the two accesses"),
                ],
            )
        self._raise_unfenced(by, cells, at, verb, other, "after")

    def _raise_moving(
        self,
        by: Accessor,
        cells: Cells,
        at: tuple[int, int],
        verb: str,
        kind: str,
        warp: int,
        other: Operation,
    ) -> None:
        wait = "nv.tcgen05.wait_ld" if kind == "load" else "nv.tcgen05.wait_st"
        self.fail(
            "in flight",
            f"{_subject(by)} {verb} {cells.name(at)} while a {kind} of warp {warp} may be in "
            f"flight; {wait} is missing, or a barrier after it",
            by.op,
            [(other, _did(kind, warp))],
        )

    def _raise_in_flight(self, by: Accessor, cells: Cells, at: tuple[int, int], verb: str) -> None:
        other = self._op(self.core_op, cells, at)
        self.fail(
            "in flight",
            f"{_subject(by)} {verb} {cells.name(at)} while {_name(other)} may be in flight; "
            "nv.tcgen05.commit and a wait for its barrier are missing before the access",
            by.op,
            [(other, "issued here")],
        )

    def _raise_unfenced(
        self,
        by: Accessor,
        cells: Cells,
        at: tuple[int, int],
        verb: str,
        other: Operation,
        side: str,
    ) -> None:
        location = (
            "after the barrier, before this access"
            if side == "after"
            else "after the earlier access, before the barrier"
        )
        self.fail(
            "fence",
            f"missing fence: {_subject(by)} {verb} {cells.name(at)}, accessed by {_name(other)}",
            by.op,
            [
                (other, "accessed here"),
                (None, f"nv.tcgen05.fence {side} is missing {location}"),
            ],
        )


def _issuer(by: Accessor) -> int:
    return by.warp if by.is_local else _FAR + by.warp


def _first(late: Any) -> tuple[int, int]:
    row, column = np.argwhere(late)[0]
    return int(row), int(column)


def _name(op: Operation) -> str:
    return op.name.removeprefix("nv.")


def _subject(by: Accessor) -> str:
    return f"{_name(by.op)} of warp {by.warp}{'' if by.is_local else ' of the other CTA'}"


def _did(kind: str, warp: int) -> str:
    return f"{'read' if kind == 'load' else 'written'} here by warp {warp}"
